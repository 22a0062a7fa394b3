/**
 * replace-file.ts -- replaces the content of a file atomically and durably.
 *
 * It writes a temporary file in the same folder, then fsync, rename, and fsync of the folder. After a crash at any time
 * the file has the old content or the new one. The temporary file is open to its owner only until it gets the mode of
 * the file it replaces. A new process removes leftover temporary files at its first write into a folder.
 */
import { randomBytes } from "node:crypto";
import { constants as flags, renameSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename } from "node:path";
import { keepNewest } from "#util/caches.ts";
import { OpenFile } from "./open-file.ts";
import { isTemporary, temporaryName } from "./path-rules.ts";
import { refuseNewRepository } from "./refuse-repository.ts";
import { type FilePlace, type OpenFolder, SAFE_OPEN } from "./resolve-path.ts";

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

/** `key` identifies the folder. */
export async function replaceFile(place: FilePlace, key: string, content: Uint8Array): Promise<void> {
  await sweepOnce(place.folder, key);
  const name = temporaryName(randomBytes(8).toString("hex"));
  const temporary = place.folder.at(name);
  unfinished.add(name);
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
