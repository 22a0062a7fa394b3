/**
 * list-files.ts -- lists the plain files below a folder, ordered by path.
 *
 * It goes depth first, holds one folder open at a time and follows no links. It skips everything that `stat` would
 * refuse: links, pipes, files with a second name, names that no path can express, and leftovers of unfinished writes.
 */
import { type Dirent, lstatSync, opendirSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { codeOf } from "#core/errors.ts";
import type { FileStat, FolderSight } from "#core/ports/workspace.ts";
import { AGENTS_FOLDER } from "#core/subagent.ts";
import { mapInBatches } from "./folder-quota.ts";
import { isNameable } from "./path-rules.ts";
import { type OpenFolder, openFolder } from "./resolve-path.ts";

type ListEntry = FileStat | { readonly folder: string };

/** `folder` is the open folder at `path`; this function closes it. */
export async function* listFiles(
  root: string,
  path: string,
  folder: OpenFolder,
  entered: (folder: string) => boolean = () => true,
): AsyncIterable<FileStat> {
  // A stack: the next entry is last.
  const ahead = await readEntries(folder, path);
  for (let next = ahead.pop(); next; next = ahead.pop()) {
    if (!("folder" in next)) {
      yield next;
      continue;
    }
    if (!entered(next.folder)) continue;
    // A folder may be removed, or replaced by a link, after it was listed.
    const inner = await openFolder(root, next.folder, "read").catch(() => undefined);
    // Not one call of push: a folder may hold more files than a call takes arguments.
    if (inner) for (const entry of await readEntries(inner, next.folder)) ahead.push(entry);
  }
}

/** Returns the entries in reverse order. A folder sorts as if it ended in "/", so that "a/b" comes after "a.txt". */
async function readEntries(folder: OpenFolder, path: string): Promise<ListEntry[]> {
  await using open = folder;
  const inside = (name: string): string => (path === "" ? name : `${path}/${name}`);
  const named = (await readdir(open.self, { withFileTypes: true }))
    .filter((entry) => (entry.isFile() || entry.isDirectory()) && isNameable(inside(entry.name)))
    .map((entry) => ({ entry, order: entry.isDirectory() ? `${entry.name}/` : entry.name }))
    .sort((a, b) => (a.order < b.order ? 1 : -1));
  const entries = await mapInBatches(named, ({ entry }) => readEntry(open, entry, inside(entry.name)));
  return entries.filter((entry) => entry !== undefined);
}

async function readEntry(folder: OpenFolder, entry: Dirent, path: string): Promise<ListEntry | undefined> {
  if (entry.isDirectory()) return { folder: path };
  try {
    const stats = await lstat(folder.at(entry.name));
    if (!stats.isFile() || stats.nlink > 1) return undefined;
    return { path, bytes: stats.size, modifiedAt: stats.mtime.toISOString(), inode: stats.ino };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const MAX_ENTRIES = 200;
const MAX_FILES = 8;

/**
 * Finds the newest files of an agent's folder at a bounded cost. Reads a limited number of entries, the upper folders
 * first, and follows no links. Skips hidden files, goald's own files and those of sub-agents, because sub-agents choose
 * the names of their files and every prompt would show them. In a folder with more entries it may miss a newer file.
 */
export async function findNewestFiles(root: string): Promise<FolderSight> {
  const files: FileStat[] = [];
  const folders = [""];
  let looked = 0;
  for (let path = folders.shift(); path !== undefined && looked < MAX_ENTRIES; path = folders.shift()) {
    await using folder = await openFolder(root, path, "read").catch(() => undefined);
    if (!folder) continue;
    for (const entry of readFirstEntries(folder.self, MAX_ENTRIES - looked)) {
      looked += 1;
      const inside = path === "" ? entry.name : `${path}/${entry.name}`;
      if (/^(?:\.|_goald$)/.test(entry.name) || inside === AGENTS_FOLDER || !isNameable(inside)) continue;
      if (entry.isDirectory()) folders.push(inside);
      const stats = entry.isFile() ? lstatSync(folder.at(entry.name), { throwIfNoEntry: false }) : undefined;
      if (stats?.isFile()) files.push({ path: inside, bytes: stats.size, modifiedAt: stats.mtime.toISOString() });
    }
  }
  files.sort((a, b) =>
    a.modifiedAt === b.modifiedAt ? (a.path < b.path ? -1 : 1) : a.modifiedAt < b.modifiedAt ? 1 : -1,
  );
  const newest = files.slice(0, MAX_FILES);
  return { newest, others: files.length - newest.length, isPartial: looked >= MAX_ENTRIES };
}

/** Does not read the names of a large folder beyond the limit. */
function* readFirstEntries(folder: string, limit: number): Generator<Dirent> {
  using open = opendirSync(folder);
  for (let left = limit; left > 0; left -= 1) {
    const entry = open.readSync();
    if (!entry) return;
    yield entry;
  }
}
