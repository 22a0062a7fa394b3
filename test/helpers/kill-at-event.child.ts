/**
 * kill-at-event.child.ts -- loaded by `node --import`: kills goald with SIGKILL at the COMMIT of an event.
 *
 * KILL_AT_EVENT=2:7:before or 2:7:after names event 7 of the store's second agent, in any thread.
 * COMMIT_LOG names a file that gets a line per COMMIT with events: agent number and last event of each, such as `1:8 2:1`.
 */
import { appendFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { killSelf, wrapCommits } from "./wrap-commits.ts";

const { KILL_AT_EVENT = "", COMMIT_LOG } = process.env;
const [agentNo, seq, when] = KILL_AT_EVENT.split(":");
/** The open transaction: the newest event's number by agent number. */
const written = new Map<number, number>();
let hasEvent = false;

wrapCommits((commit) => {
  if (hasEvent && when === "before") killSelf();
  const result = commit();
  if (hasEvent && when === "after") killSelf();
  const line = [...written].map(([no, last]) => `${no}:${last}`).join(" ");
  if (COMMIT_LOG !== undefined && line !== "") appendFileSync(COMMIT_LOG, `${line}\n`);
  written.clear();
  return result;
});

function noteEvent(no: unknown, number: unknown): void {
  written.set(Number(no), Number(number));
  hasEvent ||= Number(no) === Number(agentNo) && Number(number) === Number(seq) && KILL_AT_EVENT !== "";
}

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
  const statement = prepare.call(this, sql, ...options);
  if (!/^\s*INSERT INTO event \(/i.test(sql)) return statement;
  const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => ReturnType<StatementSync["run"]>;
  const noteAndRun = (...values: SQLInputValue[]): ReturnType<StatementSync["run"]> => {
    noteEvent(values[0], values[1]);
    return run(...values);
  };
  return Object.assign(statement, { run: noteAndRun });
};
