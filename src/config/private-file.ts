/**
 * private-file.ts -- reads and replaces the small text files of a home and of a person's configuration. Only regular
 * files of UTF-8 text up to a size limit are read. A file is replaced as a whole: after a crash it holds the old text
 * or the new one, and it has mode 0600 from its first byte.
 */
import { constants, open, realpath, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, conflict, GoaldError, orUndefined, toError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { type JsonFile, parseJson } from "#util/json.ts";

/** 64 KB hold hundreds of settings. */
const MAX_BYTES = 64 * 1024;

/** Returns undefined when there is no file. Throws an Error with the reason in words. Never waits for a pipe or device. */
export async function readTextFile(path: string, maxBytes = MAX_BYTES) {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw new Error(found.isDirectory() ? "it is a folder" : "it is not a regular file");
    const buffer = new Uint8Array(maxBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > maxBytes) throw new Error(`it has ${found.size} bytes, more than ${maxBytes}`);
    // It drops a byte order mark, which would become part of the first name.
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const text = orUndefined(() => decoder.decode(buffer.subarray(0, bytesRead)));
    if (text === undefined) throw new Error("it is not UTF-8 text");
    return { text, mode: found.mode, owner: found.uid };
  } catch (cause) {
    const code = codeOf(cause) ?? "";
    if (code === "ENOENT") return undefined;
    throw new Error(REASONS[code] ?? toError(cause).message, { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "you have no permission to read it",
  EISDIR: "it is a folder",
  ENXIO: "it is not a regular file",
  ENOTDIR: "a file is in the way",
  ELOOP: "links lead in a circle",
};

/** Like `readTextFile`, but throws GOALD_CONFIG with the path. */
export async function readConfigFile(path: string, hint = "Make it readable, or move it away.") {
  return readTextFile(path).catch((cause: unknown) => {
    throw new GoaldError("GOALD_CONFIG", `${path} cannot be read: ${toError(cause).message}.`, { hint, cause });
  });
}

/** Replaces the text atomically and durably, through a link to the file it names. Throws the system's error. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${process.pid}.new`;
  await rm(temporary, { force: true });
  try {
    await writeNewFile(temporary, text);
    await rename(temporary, target);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

async function writeNewFile(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}

/** The work takes milliseconds, so an older lock was left behind by a killed process. */
const STALE_MS = 3_000;
const WAIT_MS = 10_000;
const RETRY_MS = 10;

/**
 * Runs `act` while holding `<path>.lock`, so that a file can be read, changed and replaced without losing another
 * process's change. Throws GOALD_CONFLICT when the lock stays taken, or the system's error when it cannot be made.
 */
export async function withFileLock<T>(path: string, act: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  const since = performance.now();
  while (!(await createLock(lock))) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = (await stat(lock).catch(() => undefined)) ?? {};
    if (systemClock.now().getTime() - mtimeMs > STALE_MS) await rm(lock, { force: true });
    if (performance.now() - since > WAIT_MS)
      throw conflict(`Other processes keep changing this file: ${lock} is always taken.`, "Try again in a moment.");
    await systemClock.sleep(RETRY_MS);
  }
}

async function createLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

const MAX_CACHE_BYTES = 1024 * 1024;

/**
 * A small JSON file that may be lost at any time, such as what goald learned about model servers. An unreadable file
 * reads as undefined, and a failed write is ignored. Only the host writes it.
 */
export function openJsonCache(folder: string, name: string): JsonFile {
  const path = join(folder, name);
  return {
    async read() {
      const file = await readTextFile(path, MAX_CACHE_BYTES).catch(() => undefined);
      return parseJson(file?.text ?? "");
    },
    async write(content) {
      await replacePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`).catch(() => undefined);
    },
  };
}
