/** sql.ts -- prepared statements and transactions: what the files with SQL need of a database. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AnchoredAgent } from "./sqlite/anchor.ts";

type SqlValue = string | number | null | Uint8Array;

/** A prepared statement whose rows have the shape `Row`. */
export interface PreparedQuery<Row = never> {
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  /** Returns how many rows changed. */
  run(...values: SqlValue[]): number;
}

/** Write `LIMIT 0 + ?`: SQLite compiles a statement with a bare `LIMIT ?` again at each call. */
export function prepare<Row = never>(database: DatabaseSync, sql: string): PreparedQuery<Row> {
  const statement: StatementSync = database.prepare(sql);
  return {
    get: (...values) => statement.get(...values) as Row | undefined,
    all: (...values) => statement.all(...values) as Row[],
    run: (...values) => Number(statement.run(...values).changes),
  };
}

/** Runs `work` between BEGIN IMMEDIATE and COMMIT. Rolls back when anything throws. */
export function openTransactions(database: DatabaseSync): <T>(work: () => T) => T {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return (work) => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // SQLite has often rolled back by itself when the disk is full.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}

/** The ends of logs that the current transaction has written. */
export type NoteHead = (agent: AnchoredAgent) => void;
