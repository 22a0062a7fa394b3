/**
 * kill-at-commit.child.ts -- loaded by `node --import`: kills goald with SIGKILL at a COMMIT.
 *
 * KILL_AT_COMMIT=12:before or 12:after names the twelfth COMMIT of the process. Without it the process
 * prints the number of its commits on standard error when it exits.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";

const [at, when] = (process.env.KILL_AT_COMMIT ?? "").split(":");
let commits = 0;

function counted<T>(commit: () => T): T {
  commits++;
  if (commits === Number(at) && when === "before") die();
  const result = commit();
  if (commits === Number(at) && when === "after") die();
  return result;
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}

const { exec, prepare } = DatabaseSync.prototype;
const isCommit = (sql: string): boolean => /^\s*COMMIT\b/i.test(sql);
DatabaseSync.prototype.exec = function (sql) {
  return isCommit(sql) ? counted(() => exec.call(this, sql)) : exec.call(this, sql);
};
DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
  const statement = prepare.call(this, sql, ...options);
  if (!isCommit(sql)) return statement;
  const run = statement.run.bind(statement);
  return Object.assign(statement, { run: () => counted(() => run()) });
};

process.on("exit", () => {
  process.stderr.write(`${commits} commits\n`);
});
