/**
 * host-lock.ts -- who runs the agents of a home: one process, or none.
 *
 * The lock is an exclusive transaction on an empty database, so a lock of the operating system: the
 * kernel drops it with the process, whatever ended that. What stands in daemon.json beside it is
 * for people; nothing is decided by it. (Pid files and bound sockets let two win in a race of six.)
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { createPrivateFile } from "./connection.ts";
import { guarded, storeError } from "./failure.ts";

/** What the holder tells about itself. */
export interface HostInfo {
  readonly pid: number;
  readonly version: string;
  readonly startedAt: string;
  readonly [more: string]: unknown;
}

export interface HostLock {
  /** Gives the lock up; a second time does nothing. */
  release(): void;
  [Symbol.dispose](): void;
}

/** Long enough to see a killed holder's lock vanish, short enough for a person to wait. */
const BUSY_TIMEOUT_MS = 300;
/** How long a host that has announced its end may take to close its store. */
const PREDECESSOR_MS = 15_000;
const LOOK_AGAIN_MS = 20;

/** A connection that were collected as garbage would drop its lock. */
const held = new Set<DatabaseSync>();

/** Throws GOALD_ALREADY_RUNNING, naming the holder when that is known. */
export function holdHostLock(path: string, info: HostInfo): HostLock {
  return guarded(path, () => {
    createPrivateFile(path);
    const database = lockDatabase(path);
    held.add(database);
    const release = () => {
      if (!held.delete(database)) return;
      // While the lock is held: afterwards the file may be the next holder's; where the lock was removed, it is already.
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

/** As `holdHostLock`; while the process `predecessor` is the holder, it is waited for. */
export async function takeHostLock(path: string, info: HostInfo, predecessor?: number): Promise<HostLock> {
  for (const end = performance.now() + PREDECESSOR_MS; ; await systemClock.sleep(LOOK_AGAIN_MS))
    try {
      return holdHostLock(path, info);
    } catch (thrown) {
      const isEnding = predecessor !== undefined && readHostInfo(path)?.pid === predecessor;
      if (!isEnding || !isGoaldError(thrown, "GOALD_ALREADY_RUNNING") || performance.now() > end) throw thrown;
    }
}

/** Whether a process runs the agents now. Looks only: nobody who wants the lock meanwhile is turned away. */
export function isHostHeld(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return storeError(error, path).code === "GOALD_ALREADY_RUNNING";
  } finally {
    database?.close();
  }
}

/** What the last holder said of itself; it may be dead by now. */
export function readHostInfo(path: string): HostInfo | undefined {
  try {
    const info: unknown = JSON.parse(readFileSync(infoPath(path), "utf8"));
    const pid = typeof info === "object" && info !== null && "pid" in info ? info.pid : undefined;
    return typeof pid === "number" && Number.isInteger(pid) && pid > 0 ? (info as HostInfo) : undefined;
  } catch {
    return undefined;
  }
}

function lockDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;");
    return database;
  } catch (error) {
    database.close();
    const refusal = storeError(error, path);
    if (refusal.code === "GOALD_STORE_DAMAGED") throw unreadable(path, refusal);
    throw refusal.code === "GOALD_ALREADY_RUNNING" ? alreadyRunning(path) : refusal;
  }
}

/** It has no content that could be lost: a backup is of no use. */
const unreadable = (path: string, cause: GoaldError): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected an empty lock file at ${path}, got one that cannot be read (${toError(cause.cause).message}).`,
    { hint: `Nothing is kept in it. When no goald runs in this home, remove it: rm ${path}`, cause },
  );

function alreadyRunning(path: string): GoaldError {
  const info = readHostInfo(path);
  // Between taking the lock and saying so, the file is still that of a dead one.
  const holder =
    info && isAlive(info.pid)
      ? `process ${info.pid} (goald ${info.version}, since ${info.startedAt})`
      : "another process";
  return new GoaldError("GOALD_ALREADY_RUNNING", `The agents of this home are run by ${holder}.`, {
    hint: info && isAlive(info.pid) ? `Wait for it to end, or stop it: kill ${info.pid}` : "Try again in a moment.",
  });
}

/** Whether a process of that number is there, anybody's. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return Error.isError(error) && "code" in error && error.code === "EPERM";
  }
}

function writeInfo(path: string, info: HostInfo): void {
  const target = infoPath(path);
  const temporary = `${target}.${info.pid}.tmp`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeSync(file, `${JSON.stringify(info)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, target);
}

const infoPath = (path: string): string => join(dirname(path), "daemon.json");
