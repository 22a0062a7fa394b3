/**
 * host-lock.ts -- the lock of a home: at most one process runs its agents.
 *
 * The lock is an exclusive transaction on an empty database, and so a lock of the operating system, which releases it
 * when the process ends for any reason. daemon.json beside it only informs people. Pid files and bound sockets were
 * measured: two of six racing processes won.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeOf, GoaldError, orUndefined, toError } from "#core/errors.ts";
import { asRecord } from "#util/json.ts";
import { storeError, wrapStoreErrors } from "../failure.ts";
import { createPrivateFile } from "./connection.ts";

/** Describes the process that holds the lock. */
export interface HostInfo {
  readonly pid: number;
  readonly version: string;
  readonly startedAt: string;
  readonly [more: string]: unknown;
}

export interface HostLock {
  /** Releases the lock. A second call does nothing. */
  release(): void;
  [Symbol.dispose](): void;
}

/** A killed holder's lock disappears within this time, and a person can wait for it. */
const BUSY_TIMEOUT_MS = 300;

/** Keeps connections from garbage collection, which would release their locks. */
const held = new Set<DatabaseSync>();

/** Throws GOALD_ALREADY_RUNNING, naming the holder when that is known. */
export function holdHostLock(path: string, info: HostInfo): HostLock {
  return wrapStoreErrors(path, () => {
    requireNoHostWithoutFile(path, info);
    createPrivateFile(path);
    const database = lockDatabase(path);
    held.add(database);
    const release = () => {
      if (!held.delete(database)) return;
      // Remove our info while we hold the lock: later it may belong to the next holder. It already does if lock.db was removed.
      if ((readHostInfo(path)?.pid ?? info.pid) === info.pid) rmSync(infoPath(path), { force: true });
      database.close();
    };
    try {
      writeInfo(path, info);
    } catch (error) {
      release();
      throw error;
    }
    return { release, [Symbol.dispose]: release };
  });
}

/** True while a process runs the agents. Takes no lock, so a process that wants it is not refused meanwhile. */
export function isHostHeld(path: string): boolean {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return storeError(error, path).code === "GOALD_ALREADY_RUNNING";
  }
}

/** Reads the info of the holder, or of a last holder that died: one that ends in order removes it. */
export function readHostInfo(path: string): HostInfo | undefined {
  const info = asRecord(orUndefined(() => JSON.parse(readFileSync(infoPath(path), "utf8"))));
  return Number.isInteger(info.pid) && Number(info.pid) > 0 ? (info as unknown as HostInfo) : undefined;
}

/** A host keeps its lock on a file that somebody removed, so a new file would let a second host in. */
function requireNoHostWithoutFile(path: string, { pid }: HostInfo): void {
  const holder = readHostInfo(path);
  if (!holder || holder.pid === pid || !isAlive(holder.pid) || existsSync(path)) return;
  throw new GoaldError(
    "GOALD_ALREADY_RUNNING",
    `Process ${holder.pid} (goald ${holder.version}, since ${holder.startedAt}) runs the agents of this home, and its lock file ${path} was removed.`,
    { hint: `Stop it: kill ${holder.pid}. If that process is not goald, remove ${infoPath(path)}.` },
  );
}

function lockDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // `locking_mode = EXCLUSIVE` would let a waiting process keep its shared lock, and so block the one that is next.
    database.exec("BEGIN EXCLUSIVE;");
    return database;
  } catch (error) {
    database.close();
    const refusal = storeError(error, path);
    if (refusal.code === "GOALD_STORE_DAMAGED") throw unreadableError(path, refusal);
    throw refusal.code === "GOALD_ALREADY_RUNNING" ? alreadyRunningError(path) : refusal;
  }
}

const unreadableError = (path: string, cause: GoaldError): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected an empty lock file at ${path}, got one that cannot be read (${toError(cause.cause).message}).`,
    { hint: `The file holds no data. If no goald runs in this home, remove it: rm ${path}`, cause },
  );

function alreadyRunningError(path: string): GoaldError {
  const info = readHostInfo(path);
  // A new holder writes its info after it has taken the lock: until then the file describes the last holder.
  const holder =
    info && isAlive(info.pid)
      ? `process ${info.pid} (goald ${info.version}, since ${info.startedAt})`
      : "another process";
  return new GoaldError("GOALD_ALREADY_RUNNING", `The agents of this home are run by ${holder}.`, {
    hint: info && isAlive(info.pid) ? `Wait for it to end, or stop it: kill ${info.pid}` : "Try again in a moment.",
  });
}

/** True when a process with this id exists, of any user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return codeOf(error) === "EPERM";
  }
}

/** Requires the lock: the temporary file has one name, so that holders that are killed or find the disk full leave one at most. */
function writeInfo(path: string, info: HostInfo): void {
  const target = infoPath(path);
  const temporary = `${target}.tmp`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(info)}\n`, { flag: "wx", mode: 0o600, flush: true });
  renameSync(temporary, target);
}

const infoPath = (path: string): string => join(dirname(path), "daemon.json");
