/**
 * kill-at.child.ts -- loaded by `node --import`: kills goald with SIGKILL before or after something that it does.
 *
 * KILL_AT_COMMIT=12:before or 12:after names the twelfth COMMIT of the process, which prints the number of its commits
 * on standard error when it exits; 0 names none.
 * KILL_AT_EVENT=2:7:before names the COMMIT of event 7 of the store's second agent, in any thread.
 * KILL_AT_RENAME=3:before names the third synchronous rename of the process, a.md:before the first to a file a.md.
 * COMMIT_LOG names a file that gets a line per COMMIT with events: number and last event of each agent, as `1:8 2:1`.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { wrapCommits } from "./wrap-commits.ts";

const { KILL_AT_COMMIT, KILL_AT_EVENT, KILL_AT_RENAME, COMMIT_LOG } = process.env;
const [commitNo, commitWhen] = (KILL_AT_COMMIT ?? "").split(":");
const [agentNo, seq, eventWhen] = (KILL_AT_EVENT ?? "").split(":");
const [renameAt, renameWhen] = (KILL_AT_RENAME ?? "").split(":");
let commits = 0;
let renames = 0;
/** The open transaction: the newest event's number by agent number. */
const written = new Map<number, number>();
let hasEvent = false;

function killAround<T>(isMeant: boolean, when: string | undefined, act: () => T): T {
  if (isMeant && when === "before") killSelf();
  const result = act();
  if (isMeant && when === "after") killSelf();
  return result;
}

function killSelf(): never {
  process.kill(process.pid, "SIGKILL");
  // Wait, because the signal may reach another thread first.
  for (;;);
}

wrapCommits((commit) => {
  commits++;
  const isNumber = commits === Number(commitNo);
  const result = killAround(isNumber, commitWhen, () => killAround(hasEvent, eventWhen, commit));
  const line = [...written].map(([no, last]) => `${no}:${last}`).join(" ");
  if (COMMIT_LOG !== undefined && line !== "") fs.appendFileSync(COMMIT_LOG, `${line}\n`);
  written.clear();
  return result;
});

function noteEvent(no: unknown, number: unknown): void {
  written.set(Number(no), Number(number));
  hasEvent ||= KILL_AT_EVENT !== undefined && Number(no) === Number(agentNo) && Number(number) === Number(seq);
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

const rename = fs.renameSync;
fs.renameSync = (from, to) => {
  renames++;
  const isMeant = renames === Number(renameAt) || basename(String(to)) === renameAt;
  killAround(isMeant, renameWhen, () => rename(from, to));
};
syncBuiltinESMExports();

if (KILL_AT_COMMIT !== undefined) process.on("exit", () => process.stderr.write(`${commits} commits\n`));
