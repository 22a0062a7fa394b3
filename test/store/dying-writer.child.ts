/**
 * dying-writer.child.ts -- loaded by `node --import`. The first writer thread dies `before` or `after` its COMMIT number
 * WRITER_DIES_AT. WRITER_DIES_BY is the cause: `exit`, an uncaught `error`, or `memory` that is used up. With `start` the
 * thread dies before its first line.
 */
import { existsSync, writeFileSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { isMainThread, parentPort } from "node:worker_threads";

const { WRITER_DIES_AT = "", WRITER_DIES_BY, WRITER_DIED = "" } = process.env;
const [at, when] = WRITER_DIES_AT.split(":");
const { prepare } = DatabaseSync.prototype;
let commits = 0;

if (!isMainThread && !existsSync(WRITER_DIED)) {
  if (WRITER_DIES_BY === "start") die();
  DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
    const statement = prepare.call(this, sql, ...options);
    if (sql !== "COMMIT") return statement;
    const run = statement.run.bind(statement);
    return Object.assign(statement, { run: () => commit(run) });
  };
}

function commit<T>(run: () => T): T {
  commits++;
  if (commits === Number(at) && when === "before") die();
  const result = run();
  if (commits === Number(at) && when === "after") die();
  return result;
}

function die(): void {
  writeFileSync(WRITER_DIED, "");
  if (WRITER_DIES_BY === "memory") for (const hoard: unknown[] = []; ; ) hoard.push(new Array(100_000).fill({}));
  if (WRITER_DIES_BY !== "error") process.exit(3);
  const boom = () => {
    throw new Error("boom");
  };
  // Only what fails outside of a write is not caught.
  Object.assign(parentPort ?? boom(), { postMessage: boom });
}
