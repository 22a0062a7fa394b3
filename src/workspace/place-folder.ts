/**
 * place-folder.ts -- creates a folder that is complete as soon as it has its name.
 *
 * A callback fills a private folder outside the workspace, where no path leads through a folder that an agent can swap.
 * The result is checked and then moved by descriptor, in one step. On another file system it is copied by descriptor to
 * a temporary name beside its place first. After a failure nothing is left; after a crash the private folder is left,
 * and the next call removes it.
 */
import { constants as flags, lstatSync, mkdirSync, renameSync, type Stats } from "node:fs";
import { lstat, mkdtemp, readdir, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, GoaldError } from "#core/errors.ts";
import { isOfVersionControl, isRepository } from "#core/guarded-files.ts";
import { cacheByKey } from "#util/caches.ts";
import { beginTemporary, removeQuietly, sweepOnce, unfinished } from "./file-content.ts";
import { fileError, withFileErrors } from "./file-errors.ts";
import { type FolderQuota, type Growth, mapInBatches, measureTree } from "./folder-quota.ts";
import { isOwn, isTemporary, quotePath, refuseAgents, refused } from "./path-rules.ts";
import {
  enterFolder,
  type FilePlace,
  OpenFile,
  type OpenFolder,
  openFolder,
  refuseNewRepository,
  SAFE_OPEN,
} from "./resolve-path.ts";

export interface FolderPlace {
  readonly place: FilePlace;
  /** Identifies the parent folder. */
  readonly key: string;
  /** Absolute path of the folder in which private folders are made. */
  readonly staging: string;
}

/** Name of the folder to fill, in a folder that only this user may enter. */
const FILLED = "folder";
const PRIVATE_MODE = 0o700;
const NEW_FOLDER_MODE = 0o755;
const COPY_BYTES = 1024 * 1024;

/** Errors of `fill` are thrown unchanged. */
export async function placeFolder<T>(target: FolderPlace, fill: (folder: string) => Promise<T>): Promise<T> {
  const { place, staging } = target;
  const outer = await withFileErrors(place.path, async () => {
    refuseTaken(place);
    await clearOnce(staging);
    mkdirSync(staging, { recursive: true, mode: PRIVATE_MODE });
    return await mkdtemp(join(staging, "new-"));
  });
  try {
    const folder = join(outer, FILLED);
    mkdirSync(folder, NEW_FOLDER_MODE);
    const filled = await fill(folder);
    await withFileErrors(place.path, async () => {
      await using parent = await enter(outer, "");
      await using source = await enter(parent.self, FILLED);
      const content = await inspectFolder(source.self, place.path);
      try {
        await renameFolder(place, parent.at(FILLED));
      } catch (error) {
        if (codeOf(error) !== "EXDEV") throw error;
        await copyIntoPlace(target, source, content);
      }
      await place.folder.sync();
    });
    return filled;
  } finally {
    await removeQuietly(outer);
  }
}

/** Removes what an earlier process left in the folder. */
const clearOnce = cacheByKey(removeQuietly, Number.POSITIVE_INFINITY);

/** The check and the rename are synchronous, because a rename would replace an empty folder. */
async function renameFolder(place: FilePlace, from: string): Promise<void> {
  await place.folder.verify();
  refuseTaken({ path: place.path, found: lstatSync(place.file, { throwIfNoEntry: false }) });
  refuseNewRepository(place.folder, basename(place.path), place.path);
  renameSync(from, place.file);
}

async function copyIntoPlace(target: FolderPlace, source: OpenFolder, content: FolderContent): Promise<void> {
  const { place, key } = target;
  await sweepOnce(place.folder, key);
  const name = beginTemporary();
  const temporary = place.folder.at(name);
  try {
    mkdirSync(temporary, NEW_FOLDER_MODE);
    await using copy = await enter(place.folder.self, name);
    await copyContent(source, copy, content);
    await renameFolder(place, temporary);
  } finally {
    await removeQuietly(temporary);
    unfinished.delete(name);
  }
}

async function copyContent(from: OpenFolder, to: OpenFolder, { folders, files }: FolderContent): Promise<void> {
  const byFolder = Map.groupBy(files, parentOf);
  for (const path of folders) {
    if (path !== "") {
      await using parent = await enter(to.self, parentOf(path));
      mkdirSync(parent.at(basename(path)), NEW_FOLDER_MODE);
    }
    await using source = await enter(from.self, path);
    await using target = await enter(to.self, path);
    for (const file of byFolder.get(path) ?? []) {
      const name = basename(file);
      await copyFile(source.at(name), target.at(name));
    }
  }
}

const parentOf = (path: string): string => (path.includes("/") ? dirname(path) : "");

async function copyFile(from: string, to: string): Promise<void> {
  await using source = new OpenFile(from, flags.O_RDONLY | SAFE_OPEN);
  const { mode, size } = source.stat();
  await using target = new OpenFile(to, flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | SAFE_OPEN, mode & 0o777);
  const piece = new Uint8Array(Math.min(size, COPY_BYTES));
  for (let at = 0; at < size; at += piece.length) await target.write(piece.subarray(0, await source.read(piece, at)));
}

async function enter(parent: string, path: string): Promise<OpenFolder> {
  const folder = await openFolder(parent, path, "read");
  if (!folder) throw refused(path, "vanished while it was moved", "Try again.");
  return folder;
}

function refuseTaken({ found, path }: Pick<FilePlace, "found" | "path">): void {
  if (found)
    throw fileError(
      `${quotePath(path)} exists already.`,
      "Name a folder that does not exist yet, such as one more below it.",
    );
}

/** Paths relative to the inspected folder, which is the first, "". A folder comes before what is in it. */
interface FolderContent {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** goald writes this folder of a clone itself. */
const OWN_REPOSITORY = /^\.git(?:\/|$)/;

/**
 * `path` is the future place of the folder in the workspace. Throws GOALD_PATH_REFUSED and GOALD_FILE.
 *
 * It may contain folders and plain files with one name. Links, devices and pipes are refused, as are hard links, whose
 * other name may be anywhere, names that are not text, and what version control would take for its own: settings there
 * name programs, which run when a person calls it there.
 */
async function inspectFolder(root: string, path: string): Promise<FolderContent> {
  const folders = [""];
  const files: string[] = [];
  for (const inner of folders) {
    await using folder = await openFolder(root, inner, "read");
    if (!folder) throw refuseEntry(inner, "vanished while it was checked");
    const entries = await readdir(folder.self, { withFileTypes: true });
    const names = entries.map(({ name }) => name);
    if (!OWN_REPOSITORY.test(inner) && isRepository(names))
      throw refuseEntry(inner || ".", "is a folder that git takes for a repository, and a setting there runs programs");
    await mapInBatches(entries, async (entry) => {
      const inside = inner === "" ? entry.name : `${inner}/${entry.name}`;
      refuseName(inside, entry.name, path);
      if (entry.isDirectory()) return folders.push(inside);
      requirePlain(await lstat(folder.at(entry.name)), inside);
      return files.push(inside);
    });
  }
  return { folders, files };
}

function refuseName(inside: string, name: string, place: string): void {
  // The character replaces bytes that are not UTF-8.
  if (name.includes("\ufffd")) throw refuseEntry(inside, "has a name that is not text");
  if (OWN_REPOSITORY.test(inside)) return;
  if (isOfVersionControl(name)) throw refuseEntry(inside, "is for version control, which runs programs named there");
  if (isTemporary(name) || isOwn(`${place}/${inside}`)) throw refuseEntry(inside, "has a name that goald keeps");
}

function requirePlain(stats: Stats, inside: string): void {
  if (stats.isSymbolicLink()) throw refuseEntry(inside, "is a link");
  if (!stats.isFile()) throw refuseEntry(inside, "is a pipe, socket or device");
  if (stats.nlink > 1) throw refuseEntry(inside, "has a second name (a hard link), which may be anywhere");
}

/** Others chose the name of the entry. */
const refuseEntry = (inside: string, problem: string): GoaldError =>
  new GoaldError("GOALD_PATH_REFUSED", `Something in the new folder ${problem}. Nothing of it was kept.`, {
    hint: "Use another source.",
    words: quotePath(inside),
  });

interface Removed extends Growth {
  /** The folder, and all files and folders in it. */
  readonly paths: readonly string[];
}

/**
 * Deletes a file of any size, or a folder with everything in it. The entry at `place` exists. Links are deleted, not
 * followed. A folder first gets a temporary name, so that it disappears in one step; a crash leaves it to the sweep of
 * unfinished writes. Inner folders are moved beside it and emptied one after the other: two folders are open at a time,
 * at any depth.
 */
export async function removeWhole(place: FilePlace, quota: FolderQuota): Promise<Removed> {
  refuseAgents(place.path);
  const removed = await measureEntry(place);
  await quota.admit(place.path, { bytes: -removed.bytes, files: -removed.files }, () => remove(place));
  return removed;
}

async function measureEntry({ path, file, found }: FilePlace): Promise<Removed> {
  if (!found?.isDirectory()) return { paths: [path], bytes: found?.size ?? 0, files: 1 };
  const paths = [path];
  const add = (inner: string) => paths.push(`${path}/${inner}`);
  return { ...(await measureTree(file, add, add)), paths };
}

async function remove({ folder, file, found }: FilePlace): Promise<void> {
  await folder.verify();
  if (found?.isDirectory()) await removeFolder(folder, file);
  else await unlink(file);
  await folder.sync();
}

async function removeFolder(parent: OpenFolder, file: string): Promise<void> {
  const names = [moveAside(file, parent)];
  try {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      names.push(...(await emptyFolder(parent, name)));
      await rmdir(parent.at(name));
      unfinished.delete(name);
    }
  } finally {
    for (const name of names) unfinished.delete(name);
  }
}

/** Returns the temporary name. */
function moveAside(from: string, folder: OpenFolder): string {
  const name = beginTemporary();
  renameSync(from, folder.at(name));
  return name;
}

/** Deletes the files of a folder, and returns the new names of its folders. */
async function emptyFolder(parent: OpenFolder, name: string): Promise<readonly string[]> {
  await using folder = enterFolder(parent.at(name), flags.O_NOFOLLOW ?? 0);
  const entries = await readdir(folder.self, { withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  await mapInBatches(files, (entry) => unlink(folder.at(entry.name)));
  return entries.filter((entry) => entry.isDirectory()).map((entry) => moveAside(folder.at(entry.name), parent));
}
