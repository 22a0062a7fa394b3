/**
 * replace-file.ts -- a file gets its whole new content, or keeps the old one.
 *
 * Temporary file in the same folder, fsync, rename, fsync of the folder: after a crash
 * at any instant the name shows one of the two contents. A temporary file that a crash
 * left behind is removed at the first write into its folder by a new process.
 */
import { randomBytes } from "node:crypto";
import { constants as flags, renameSync } from "node:fs";
import { readdir, unlink } from "node:fs/promises";
import { OpenFile } from "./open-file.ts";
import { isTemporary, temporaryName } from "./path-rules.ts";
import { type Folder, type Place, SAFE_OPEN } from "./resolve-path.ts";

/** Folders whose leftovers this process has removed; nobody may make a temporary file there before that is done. */
const swept = new Map<string, Promise<void>>();

/** `key` tells the folder apart from every other one. */
export async function replaceFile(place: Place, key: string, content: Uint8Array): Promise<void> {
  await sweepOnce(place.folder, key);
  const temporary = place.folder.at(temporaryName(randomBytes(8).toString("hex")));
  try {
    await writeNew(temporary, content);
    await place.folder.verify();
    renameSync(temporary, place.file);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  }
  await place.folder.sync();
}

async function writeNew(path: string, content: Uint8Array): Promise<void> {
  await using opened = new OpenFile(path, flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | SAFE_OPEN, 0o644);
  await opened.write(content);
  await opened.sync();
}

function sweepOnce(folder: Folder, key: string): Promise<void> {
  const earlier = swept.get(key);
  if (earlier) return earlier;
  const sweeping = sweep(folder);
  swept.set(key, sweeping);
  return sweeping;
}

/** What cannot be seen or removed now is left for the next process; it is never listed. */
async function sweep(folder: Folder): Promise<void> {
  const names = await readdir(folder.self).catch(() => []);
  for (const name of names) if (isTemporary(name)) await removeQuietly(folder.at(name));
}

const removeQuietly = (path: string): Promise<void> => unlink(path).catch(() => undefined);
