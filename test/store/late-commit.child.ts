/**
 * late-commit.child.ts -- loaded by `node --import`: the mistake that tests of lost commits must notice. In the writer thread a
 * COMMIT is put off until some time after the next transaction begins, so that writes are acknowledged before they are durable,
 * and a kill at any moment but few finds one that is owed.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

const { prepare } = DatabaseSync.prototype;
/** Longer than all the rest of a transaction takes. */
const OWED_MS = 50;
let owed = (): unknown => undefined;

if (!isMainThread)
  DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
    const statement = prepare.call(this, sql, ...options);
    const run = statement.run.bind(statement);
    const commitLater = () => {
      owed = run;
      return { changes: 0, lastInsertRowid: 0 };
    };
    const begin = () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OWED_MS);
      owed();
      owed = () => undefined;
      return run();
    };
    if (sql === "COMMIT") return Object.assign(statement, { run: commitLater });
    return sql === "BEGIN IMMEDIATE" ? Object.assign(statement, { run: begin }) : statement;
  };
