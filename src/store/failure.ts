/**
 * failure.ts -- turns errors of SQLite and the file system into errors with a remedy.
 *
 * Numbers are SQLite's result codes (https://sqlite.org/rescode.html): the low byte is the kind, the whole number the
 * detail. Every failed write counts as "full": the remedy is the same, and the transaction is rolled back.
 */
import { type ErrorCode, GoaldError, isGoaldError, machineAdvice, toError } from "#core/errors.ts";

const BUSY = 5;
const LOCKED = 6;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CONSTRAINT = 19;
const NOTADB = 26;
/** PERM, READONLY, CANTOPEN, AUTH. */
const NO_ACCESS: ReadonlySet<number> = new Set([3, 8, 14, 23]);
/** WRITE, FSYNC, DIR_FSYNC, TRUNCATE, SHMOPEN, SHMSIZE. */
const NOT_WRITTEN: ReadonlySet<number> = new Set([778, 1034, 1290, 1546, 4618, 4874]);
/** PRIMARYKEY, UNIQUE. */
const ALREADY_THERE: ReadonlySet<number> = new Set([1555, 2067]);

/** Runs `work` on the database at `path`. Throws every failure as a GoaldError. */
export function wrapStoreErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw storeError(thrown, path);
  }
}

/** `wrapStoreErrors` for each of these asynchronous functions. */
export function withStoreErrors<Methods extends object>(path: string, methods: Methods): Methods {
  const wrapped = Object.entries(methods).map(([name, method]: [string, (...given: unknown[]) => Promise<unknown>]) => {
    const call = async (...given: unknown[]): Promise<unknown> => {
      try {
        return await method(...given);
      } catch (thrown) {
        throw storeError(thrown, path);
      }
    };
    return [name, call];
  });
  return Object.fromEntries(wrapped) as Methods;
}

export function storeError(thrown: unknown, path: string): GoaldError {
  if (isGoaldError(thrown)) return thrown;
  const cause = toError(thrown) as Error & { readonly code?: string; readonly errcode?: number };
  const failure = (code: ErrorCode, message: string, hint: string): GoaldError =>
    new GoaldError(code, `${message} (${cause.message})`, { hint, cause });
  switch (kindOf(cause)) {
    case "full":
      return failure(
        "GOALD_STORE_FULL",
        `The disk did not take a write to ${path}. It was rolled back; earlier writes are safe`,
        "Free some space on that disk (or raise the file size limit or quota), then resume the agent.",
      );
    case "damaged":
      return failure(
        "GOALD_STORE_DAMAGED",
        `Expected a goald store at ${path}; it cannot be read as one`,
        "Copy the file and its -wal to another place first. Then check the disk and restore a backup.",
      );
    case "no-access":
      return failure(
        "GOALD_HOME_UNWRITABLE",
        `The store at ${path} cannot be opened`,
        "Check that the folder exists and that you may read and write it.",
      );
    case "busy":
      return failure(
        "GOALD_ALREADY_RUNNING",
        `Another process has been writing to ${path} for too long`,
        "Only one goald can write to a home: stop the other one, or wait for it.",
      );
    case "already-there":
      return failure("GOALD_CONFLICT", "Expected a new row, got one that the store already has", "");
    case "closed":
      return failure("GOALD_INTERNAL", `The store at ${path} is closed`, "");
    case "other":
      return failure("GOALD_INTERNAL", `The store at ${path} failed`, machineAdvice(cause) ?? "");
  }
}

export const closedError = (path: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `The store at ${path} is closed.`);

export const changedError = (what: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected ${what} as it was written, found it changed. List all damage: goald verify`,
    { hint: "goald does not use it. Restore a backup of the store: see docs/recovery.md." },
  );

export function throwNoAgent(agent: string): never {
  throw new GoaldError("GOALD_NOT_FOUND", `There is no agent ${JSON.stringify(agent)} here.`, {
    hint: "`goald ps` lists the agents of this home.",
  });
}

type StoreFailureKind = "full" | "damaged" | "no-access" | "busy" | "already-there" | "closed" | "other";

function kindOf({ code, errcode, message }: Error & { code?: string; errcode?: number }): StoreFailureKind {
  if (errcode !== undefined) return sqliteKind(errcode, message);
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return "full";
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOENT":
    case "ENOTDIR":
    case "EEXIST":
    case "ELOOP":
      return "no-access";
    case "ERR_INVALID_STATE":
      return "closed";
    default:
      return "other";
  }
}

function sqliteKind(errcode: number, message: string): StoreFailureKind {
  const kind = errcode & 0xff;
  if (kind === FULL || NOT_WRITTEN.has(errcode)) return "full";
  // The other IOERR codes are failed reads. "no such table" means that a part of the schema is missing.
  if (kind === CORRUPT || kind === NOTADB || kind === IOERR || message.startsWith("no such ")) return "damaged";
  if (NO_ACCESS.has(kind)) return "no-access";
  if (kind === BUSY || kind === LOCKED) return "busy";
  if (kind === CONSTRAINT && ALREADY_THERE.has(errcode)) return "already-there";
  return "other";
}
