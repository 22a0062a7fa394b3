/**
 * connection.ts -- one connection to a database file, opened the careful way.
 *
 * WAL with synchronous=FULL: a commit returns when it is on the disk, and readers of other
 * processes never wait for it. No mmap: a bad sector is then an error, not a signal that
 * ends the process. Statements are prepared once and stay referenced for as long as the connection.
 */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";

type Value = string | number | null | Uint8Array;

/** A prepared statement whose rows have the shape `Row`. */
export interface Query<Row = never> {
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
  /** How many rows changed. */
  run(...values: Value[]): number;
}

/** Before 3.51.3, two connections that write and checkpoint at once can damage a database (sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = [3, 51, 3] as const;
const BUSY_TIMEOUT_MS = 5_000;
/** A WAL that has grown past this is cut back at the next checkpoint. */
const MAX_IDLE_WAL_BYTES = 16 * 1024 * 1024;

export function openForWriting(path: string, busyTimeoutMs: number = BUSY_TIMEOUT_MS): DatabaseSync {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, defensive: true });
  return configured(database, () => {
    // auto_vacuum holds only when it is set before the first page is written.
    database.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = ${MAX_IDLE_WAL_BYTES};`);
    // Bits that a copy or a restored backup may have loosened; -wal and -shm are created with those of the file.
    for (const suffix of ["", "-wal", "-shm"]) tightenMode(path + suffix);
  });
}

export function openForReading(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS, defensive: true });
  return configured(database, () => database.exec("PRAGMA query_only = ON;"));
}

/** A database that is in no file: what a reader sees where there is none yet. */
export const openEmpty = (): DatabaseSync => new DatabaseSync(":memory:", { defensive: true });

function configured(database: DatabaseSync, configure: () => void): DatabaseSync {
  try {
    const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
    requireSqlite(version);
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;");
    configure();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Throws unless this SQLite is new enough to be trusted with a WAL. */
export function requireSqlite(version: string): void {
  const parts = version.split(".").map(Number);
  const differing = OLDEST_SQLITE.findIndex((oldest, place) => oldest !== (parts[place] ?? 0));
  if (differing === -1 || (parts[differing] ?? 0) > (OLDEST_SQLITE[differing] ?? 0)) return;
  throw new GoaldError("GOALD_CONFIG", `Expected SQLite ${OLDEST_SQLITE.join(".")} or newer, got ${version}.`, {
    hint: "It is built into Node: use Node 24.15 or newer. Older ones can damage a database.",
  });
}

/** A bare `LIMIT ?` has SQLite compile the statement anew whenever it is bound; `LIMIT 0 + ?` says the same and does not. */
export function prepare<Row = never>(database: DatabaseSync, sql: string): Query<Row> {
  const statement: StatementSync = database.prepare(sql);
  return {
    get: (...values) => statement.get(...values) as Row | undefined,
    all: (...values) => statement.all(...values) as Row[],
    run: (...values) => Number(statement.run(...values).changes),
  };
}

export type Transact = <T>(work: () => T) => T;

/** All that `work` writes, durably, or nothing: BEGIN IMMEDIATE … COMMIT, undone when anything throws. */
export function transactions(database: DatabaseSync): Transact {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return (work) => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // After a full disk SQLite has often rolled back by itself.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}

/**
 * An empty file that only its owner reads, entered in its folder durably. A file that is there is
 * never opened here: closing it would drop the locks that SQLite holds on it in this process.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "EEXIST") return;
    throw error;
  }
  if (process.platform === "win32") return;
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** As far as the owner may: a file of somebody else is left as it is. */
function tightenMode(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    if (Error.isError(error) && "code" in error && (error.code === "ENOENT" || error.code === "EPERM")) return;
    throw error;
  }
}
