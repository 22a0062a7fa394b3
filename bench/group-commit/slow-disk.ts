/**
 * slow-disk.ts -- loaded by `node --import` in every thread: each COMMIT waits longer, as on a disk with a slow fsync.
 * The disk of a virtual machine often answers before data is safe, which would hide the cost of commits.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";

const FSYNC_MS = 4;
const never = new Int32Array(new SharedArrayBuffer(4));

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
  const statement = prepare.call(this, sql, ...options);
  if (sql !== "COMMIT") return statement;
  const run = statement.run.bind(statement);
  const slow = () => {
    Atomics.wait(never, 0, 0, FSYNC_MS);
    return run();
  };
  return Object.assign(statement, { run: slow });
};
