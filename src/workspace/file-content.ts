/** file-content.ts -- reads ranges of a plain file, and appends to one all or nothing. */
import { hash, randomBytes } from "node:crypto";
import { constants as flags, renameSync } from "node:fs";
import { readdir, rm, unlink } from "node:fs/promises";
import { basename } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { keepNewest } from "#util/caches.ts";
import { fileError } from "./file-errors.ts";
import { isTemporary, quotePath } from "./path-rules.ts";
import { type FilePlace, OpenFile, type OpenFolder, openFile, refuseNewRepository, SAFE_OPEN } from "./resolve-path.ts";

/** Limit of what `read` and `preserve` load into memory. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

/** Returns fewer bytes than asked when the file ends. Throws GOALD_FILE_TOO_LARGE above `MAX_READ_BYTES`. */
export async function readPlace(
  place: FilePlace,
  range?: { readonly offset: number; readonly length: number },
): Promise<Uint8Array> {
  await using opened = await openFile(place, flags.O_RDONLY);
  const { size } = opened.stat();
  const offset = Math.max(0, range?.offset ?? 0);
  const length = Math.max(0, Math.min(range?.length ?? size, size - offset));
  if (length > MAX_READ_BYTES)
    throw new GoaldError(
      "GOALD_FILE_TOO_LARGE",
      `${quotePath(place.path)} has ${size} bytes; goald reads at most ${MAX_READ_BYTES} at once, also to keep an old version.`,
      { hint: "Read it in parts, or leave it as it is and write a new file." },
    );
  const bytes = new Uint8Array(length);
  return bytes.subarray(0, await opened.read(bytes, offset));
}

/** Returns the new size. Undoes a write that fails midway. */
export async function appendWhole(place: FilePlace, bytes: Uint8Array): Promise<number> {
  const create = place.found ? 0 : flags.O_CREAT | flags.O_EXCL;
  if (!place.found) refuseNewRepository(place.folder, basename(place.path), place.path);
  await using opened = await openFile(place, flags.O_WRONLY | flags.O_APPEND | create);
  const { size } = opened.stat();
  try {
    await opened.write(bytes);
    await opened.sync();
  } catch (error) {
    await opened.truncate(size);
    if (!place.found) await unlink(place.file);
    throw error;
  }
  if (!place.found) await place.folder.sync();
  return size + bytes.length;
}

/** Throws GOALD_FILE for a larger size than the file has. */
export async function truncateFile(opened: OpenFile, path: string, bytes: number): Promise<void> {
  const { size } = opened.stat();
  if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > size)
    throw fileError(`${quotePath(path)} has ${size} bytes and cannot be cut to ${bytes}.`, "Name a smaller size.");
  await opened.truncate(bytes);
  await opened.sync();
}

export const sha256Of = (content: Uint8Array): string => hash("sha256", content, "hex");

export const encodeContent = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);

const NEW_FILE_MODE = 0o644;
const PRIVATE_MODE = 0o600;

/**
 * Folders whose leftovers this process has removed, the newest last. Sweeping a forgotten one again is harmless, because
 * current writes are in `unfinished`.
 */
const swept = new Map<string, Promise<void>>();
const MAX_SWEPT = 256;
/** Names of the temporary files and folders of current writes. */
export const unfinished = new Set<string>();

/** Returns a new name, which is in `unfinished` until the caller removes it. */
export function beginTemporary(): string {
  const name = `.goald-${randomBytes(8).toString("hex")}.tmp`;
  unfinished.add(name);
  return name;
}

/**
 * Replaces the content of a file atomically and durably. Writes a temporary file in the same folder, then fsync,
 * rename, and fsync of the folder. After a crash at any time the file has the old content or the new one. The temporary
 * file is open to its owner only until it gets the mode of the file it replaces. A new process removes leftover
 * temporary files at its first write into a folder. `key` identifies the folder.
 */
export async function replaceFile(place: FilePlace, key: string, content: Uint8Array): Promise<void> {
  await sweepOnce(place.folder, key);
  const name = beginTemporary();
  const temporary = place.folder.at(name);
  try {
    await writeTemporary(temporary, content, place.found?.mode);
    await place.folder.verify();
    refuseNewRepository(place.folder, basename(place.path), place.path);
    renameSync(temporary, place.file);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  } finally {
    unfinished.delete(name);
  }
  await place.folder.sync();
}

/** `mode` is that of the replaced file. Without it, the system applies the umask to the mode of new files. */
async function writeTemporary(path: string, content: Uint8Array, mode: number | undefined): Promise<void> {
  const flagsOfNew = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | SAFE_OPEN;
  await using opened = new OpenFile(path, flagsOfNew, mode === undefined ? NEW_FILE_MODE : PRIVATE_MODE);
  const finalMode = (mode ?? opened.stat().mode) & 0o777;
  opened.setMode(PRIVATE_MODE);
  await opened.write(content);
  opened.setMode(finalMode);
  await opened.sync();
}

export function sweepOnce(folder: OpenFolder, key: string): Promise<void> {
  const earlier = swept.get(key);
  if (earlier) return earlier;
  const sweeping = sweep(folder);
  keepNewest(swept, key, sweeping, MAX_SWEPT);
  return sweeping;
}

/** Ignores failures: a leftover is never listed, and the next process tries again. */
async function sweep(folder: OpenFolder): Promise<void> {
  const names = await readdir(folder.self).catch(() => []);
  for (const name of names) if (isTemporary(name) && !unfinished.has(name)) await removeQuietly(folder.at(name));
}

/** Removes a file or a folder with its contents; links are removed, not followed. Ignores failures. */
export const removeQuietly = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true }).catch(() => undefined);
