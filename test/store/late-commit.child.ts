/**
 * late-commit.child.ts -- loaded by `node --import`. A defect that tests of lost commits must detect: the writer thread runs a
 * COMMIT only after the next transaction begins, so it acknowledges writes before they are durable. A kill at almost any
 * moment loses an acknowledged write.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

const { prepare } = DatabaseSync.prototype;
/** Longer than the rest of a transaction. */
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
