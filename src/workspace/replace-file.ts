/**
 * replace-file.ts -- a file gets its whole new content, or keeps the old one.
 *
 * Temporary file in the same folder, fsync, rename, fsync of the folder: after a crash
 * at any instant the name shows one of the two contents. Until then the new one is for its owner
 * only; then it gets the mode of what it replaces. A temporary file that a crash
 * left behind is removed at the first write into its folder by a new process.
 */
import { randomBytes } from "node:crypto";
import { constants as flags, renameSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { keepNewest } from "#util/newest.ts";
import { OpenFile } from "./open-file.ts";
import { isTemporary, temporaryName } from "./path-rules.ts";
import { type Folder, type Place, SAFE_OPEN } from "./resolve-path.ts";

const NEW_FILE_MODE = 0o644;
const PRIVATE_MODE = 0o600;

/**
 * Folders whose leftovers this process has removed, the latest last. One that was forgotten is looked through again,
 * which costs a little and harms nothing: what is being written now is in `unfinished`.
 */
const swept = new Map<string, Promise<void>>();
const MAX_SWEPT = 256;
/** Names of the temporary files and folders of what is under way. */
export const unfinished = new Set<string>();

/** `key` tells the folder apart from every other one. */
export async function replaceFile(place: Place, key: string, content: Uint8Array): Promise<void> {
  await sweepOnce(place.folder, key);
  const name = temporaryName(randomBytes(8).toString("hex"));
  const temporary = place.folder.at(name);
  unfinished.add(name);
  try {
    await writeNew(temporary, content, place.found?.mode);
    await place.folder.verify();
    renameSync(temporary, place.file);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  } finally {
    unfinished.delete(name);
  }
  await place.folder.sync();
}

/** `mode`: of the file that is replaced; a new one gets what the umask leaves of the usual mode, which the system works out. */
async function writeNew(path: string, content: Uint8Array, mode: number | undefined): Promise<void> {
  const flagsOfNew = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | SAFE_OPEN;
  await using opened = new OpenFile(path, flagsOfNew, mode === undefined ? NEW_FILE_MODE : PRIVATE_MODE);
  const finalMode = (mode ?? opened.stat().mode) & 0o777;
  opened.setMode(PRIVATE_MODE);
  await opened.write(content);
  opened.setMode(finalMode);
  await opened.sync();
}

export function sweepOnce(folder: Folder, key: string): Promise<void> {
  const earlier = swept.get(key);
  if (earlier) return earlier;
  const sweeping = sweep(folder);
  keepNewest(swept, key, sweeping, MAX_SWEPT);
  return sweeping;
}

/** What cannot be seen or removed now is left for the next process; it is never listed. */
async function sweep(folder: Folder): Promise<void> {
  const names = await readdir(folder.self).catch(() => []);
  for (const name of names) if (isTemporary(name) && !unfinished.has(name)) await removeQuietly(folder.at(name));
}

/** A folder with all that is in it; links are removed, not followed. */
export const removeQuietly = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true }).catch(() => undefined);
