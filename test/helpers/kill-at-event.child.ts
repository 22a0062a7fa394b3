/**
 * kill-at-event.child.ts -- loaded by `node --import`: kills goald with SIGKILL at the COMMIT of an event.
 *
 * KILL_AT_EVENT=2:7:before or 2:7:after names event 7 of the store's second agent, in any thread.
 * COMMIT_LOG names a file that gets a line per COMMIT with events: agent number and last event of each, such as `1:8 2:1`.
 */
import { appendFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

const { KILL_AT_EVENT = "", COMMIT_LOG } = process.env;
const [agentNo, seq, when] = KILL_AT_EVENT.split(":");
/** The open transaction: the newest event's number by agent number. */
const written = new Map<number, number>();
let isMeant = false;

function commit<T>(act: () => T): T {
  if (isMeant && when === "before") die();
  const result = act();
  if (isMeant && when === "after") die();
  const line = [...written].map(([no, last]) => `${no}:${last}`).join(" ");
  if (COMMIT_LOG !== undefined && line !== "") appendFileSync(COMMIT_LOG, `${line}\n`);
  written.clear();
  return result;
}

function note(no: unknown, number: unknown): void {
  written.set(Number(no), Number(number));
  isMeant ||= Number(no) === Number(agentNo) && Number(number) === Number(seq) && KILL_AT_EVENT !== "";
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // Wait, because the signal may reach another thread first.
  for (;;);
}

const { exec, prepare } = DatabaseSync.prototype;
const isCommit = (sql: string): boolean => /^\s*COMMIT\b/i.test(sql);
DatabaseSync.prototype.exec = function (sql) {
  return isCommit(sql) ? commit(() => exec.call(this, sql)) : exec.call(this, sql);
};
DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
  const statement = prepare.call(this, sql, ...options);
  const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => ReturnType<StatementSync["run"]>;
  if (isCommit(sql)) return Object.assign(statement, { run: () => commit(() => run()) });
  if (!/^\s*INSERT INTO event \(/i.test(sql)) return statement;
  const noting = (...values: SQLInputValue[]): ReturnType<StatementSync["run"]> => {
    note(values[0], values[1]);
    return run(...values);
  };
  return Object.assign(statement, { run: noting });
};
