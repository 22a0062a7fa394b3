/**
 * remove-whole.ts -- deletes a file of any size, or a folder with everything in it. Links are deleted, not followed.
 *
 * A folder first gets a temporary name, so that it disappears in one step; a crash leaves it to the sweep of unfinished writes.
 * Inner folders are moved beside it and emptied one after the other: two folders are open at a time, at any depth.
 */
import { randomBytes } from "node:crypto";
import { constants as flags, renameSync } from "node:fs";
import { readdir, rmdir, unlink } from "node:fs/promises";
import { type FolderQuota, type Growth, measureTree } from "./folder-quota.ts";
import { refuseAgents, temporaryName } from "./path-rules.ts";
import { unfinished } from "./replace-file.ts";
import { type Anchor, enterFolder, type FilePlace, type OpenFolder } from "./resolve-path.ts";

const CONCURRENCY = 32;

interface Removed extends Growth {
  /** The folder, and all files and folders in it. */
  readonly paths: readonly string[];
}

/** The entry at `place` exists. */
export async function removeWhole(place: FilePlace, anchor: Anchor, quota: FolderQuota): Promise<Removed> {
  refuseAgents(place.path);
  const removed = await measureEntry(place);
  await quota.admit(place.path, { bytes: -removed.bytes, files: -removed.files }, () => remove(place, anchor));
  return removed;
}

async function measureEntry({ path, file, found }: FilePlace): Promise<Removed> {
  if (!found?.isDirectory()) return { paths: [path], bytes: found?.size ?? 0, files: 1 };
  const paths = [path];
  let [files, total] = [0, 0];
  const add = (inner: string) => paths.push(`${path}/${inner}`);
  await measureTree(
    file,
    (inner, bytes) => {
      add(inner);
      files++;
      total += bytes;
    },
    add,
  );
  return { paths, bytes: total, files };
}

async function remove({ folder, file, found }: FilePlace, anchor: Anchor): Promise<void> {
  await folder.verify();
  if (found?.isDirectory()) await removeFolder(folder, file, anchor);
  else await unlink(file);
  await folder.sync();
}

async function removeFolder(parent: OpenFolder, file: string, anchor: Anchor): Promise<void> {
  const names = [moveAside(file, parent)];
  try {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      names.push(...(await emptyFolder(parent, name, anchor)));
      await rmdir(parent.at(name));
      unfinished.delete(name);
    }
  } finally {
    for (const name of names) unfinished.delete(name);
  }
}

/** Returns the temporary name. */
function moveAside(from: string, folder: OpenFolder): string {
  const name = temporaryName(randomBytes(8).toString("hex"));
  unfinished.add(name);
  renameSync(from, folder.at(name));
  return name;
}

/** Deletes the files of a folder, and returns the new names of its folders. */
async function emptyFolder(parent: OpenFolder, name: string, anchor: Anchor): Promise<readonly string[]> {
  await using folder = enterFolder(parent.at(name), anchor, flags.O_NOFOLLOW ?? 0);
  const entries = await readdir(folder.self, { withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  for (let start = 0; start < files.length; start += CONCURRENCY)
    await Promise.all(files.slice(start, start + CONCURRENCY).map((entry) => unlink(folder.at(entry.name))));
  return entries.filter((entry) => entry.isDirectory()).map((entry) => moveAside(folder.at(entry.name), parent));
}
