/**
 * connection.ts -- opens connections to a database file, with the settings that durability needs.
 *
 * WAL with synchronous=FULL: a commit returns when it is on the disk, and readers in other processes never wait for it.
 * No mmap: a bad sector then raises an error instead of a signal that ends the process. Statements are prepared once
 * and stay referenced as long as the connection.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { codeOf, GoaldError } from "#core/errors.ts";
import { prepare } from "../sql.ts";

/** Before 3.51.3, two connections that write and checkpoint at once can damage a database (sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = [3, 51, 3] as const;
const BUSY_TIMEOUT_MS = 5_000;
/** The next checkpoint truncates a larger WAL to this size. */
const MAX_IDLE_WAL_BYTES = 16 * 1024 * 1024;

export function openForWriting(path: string, busyTimeoutMs: number = BUSY_TIMEOUT_MS): DatabaseSync {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, defensive: true });
  return configure(database, () => {
    // SQLite applies auto_vacuum only when it is set before the first page is written. It overwrites what it frees at each write, also
    // when it moves rows to another page: else the old place of a row keeps its text after the row is forgotten.
    database.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = ${MAX_IDLE_WAL_BYTES};`);
    // A copy or a restored backup may have a looser mode. SQLite creates -wal and -shm with the mode of the file.
    for (const suffix of ["", "-wal", "-shm"]) tightenMode(path + suffix);
  });
}

/** In a folder that cannot be written, a store without a usable `-shm` is read without one. */
export function openForReading(path: string): DatabaseSync {
  try {
    return openReadOnly(path);
  } catch (error) {
    if (!needsFiles(error)) throw error;
    const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
    return wal && wal.size > 0 ? openCopy(path) : openUnchanging(path);
  }
}

function openReadOnly(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS, defensive: true });
  // SQLite opens the WAL with the first query.
  return configure(database, () => database.exec("PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema;"));
}

/** CANTOPEN, READONLY: SQLite can create neither `-wal` nor `-shm`. */
const needsFiles = (error: unknown): boolean =>
  Error.isError(error) && "errcode" in error && [14, 8].includes((error.errcode as number) & 0xff);

/** Reads a copy of the file and its WAL, whose files have no names as soon as they are open. */
function openCopy(path: string): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), "goald-store-"));
  try {
    const copy = join(folder, basename(path));
    for (const suffix of ["", "-wal"]) {
      copyFileSync(path + suffix, copy + suffix);
      chmodSync(copy + suffix, 0o600);
    }
    return openReadOnly(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens a file that nobody writes to. Creates no files beside it. The WAL is not read. */
export const openUnchanging = (path: string): DatabaseSync => {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  const database = new DatabaseSync(url, { readOnly: true, defensive: true });
  return configure(database, () => database.exec("PRAGMA query_only = ON;"));
};

function configure(database: DatabaseSync, setUp: () => void): DatabaseSync {
  try {
    const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
    requireSqlite(version);
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;");
    setUp();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Throws GOALD_CONFIG for a version of SQLite that can damage a WAL. */
export function requireSqlite(version: string): void {
  const parts = version.split(".").map(Number);
  const differing = OLDEST_SQLITE.findIndex((oldest, place) => oldest !== (parts[place] ?? 0));
  if (differing === -1 || (parts[differing] ?? 0) > (OLDEST_SQLITE[differing] ?? 0)) return;
  throw new GoaldError("GOALD_CONFIG", `Expected SQLite ${OLDEST_SQLITE.join(".")} or newer, got ${version}.`, {
    hint: "Node contains SQLite: use Node 24.15 or newer. Older versions can damage a database.",
  });
}

/**
 * Moves the commits in the WAL into the database file, and empties the WAL when no reader needs it. Waits for nobody:
 * commits that a reader or writer holds back stay in the WAL.
 */
export function emptyWal(database: DatabaseSync): void {
  const { timeout } = database.prepare("PRAGMA busy_timeout").get() as { timeout: number };
  database.exec("PRAGMA busy_timeout = 0");
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // The WAL keeps its commits, which are durable there too.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/**
 * Creates an empty file that only its owner can read, and syncs the folder. Never opens an existing file: closing it
 * would drop the locks that SQLite holds on it in this process.
 */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw error;
  }
  syncPath(dirname(path));
}

/** Brings a file or the names in a folder to the disk. */
export function syncPath(path: string): void {
  if (process.platform === "win32") return;
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Skips files that are missing or belong to another user. */
function tightenMode(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    if (["ENOENT", "EPERM"].includes(codeOf(error) ?? "")) return;
    throw error;
  }
}

/** Pages of one transaction: 1 MB, about ten milliseconds. */
const PAGES_PER_TRANSACTION = 256;

/**
 * Returns the free pages of the database file to the file system after a removal, in short transactions with pauses
 * between them. Pages that cannot be returned, because the disk is full or the store is closed, stay in the file and
 * are used again.
 */
export async function shrinkFile(database: DatabaseSync): Promise<void> {
  try {
    const free = prepare<{ freelist_count: number }>(database, "PRAGMA freelist_count");
    for (let left = free.get()?.freelist_count ?? 0; left > 0; ) {
      database.exec(`PRAGMA incremental_vacuum(${PAGES_PER_TRANSACTION})`);
      await setImmediate();
      const now = database.isOpen ? (free.get()?.freelist_count ?? 0) : 0;
      // Stop when the file cannot shrink.
      left = now < left ? now : 0;
    }
  } catch {
    // The pages are used again, see above.
  }
}
