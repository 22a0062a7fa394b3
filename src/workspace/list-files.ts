/**
 * list-files.ts -- the plain files below a folder, in the order of their paths.
 *
 * Depth first, one folder open at a time, links not followed. What `stat` would refuse
 * is left out: links, pipes, files with a second name, names that no path can say, and
 * what an unfinished write left.
 */
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import type { FileStat } from "#core/ports/workspace.ts";
import { codeOf } from "./file-errors.ts";
import { isNameable } from "./path-rules.ts";
import { type Anchor, type Folder, openFolder } from "./resolve-path.ts";

/** How many files are looked at side by side. */
const LOOKS = 32;

type Entry = FileStat | { readonly folder: string };

/** `folder` is the open one at `path`; it is closed here. */
export async function* listFiles(root: string, path: string, folder: Folder, anchor: Anchor): AsyncIterable<FileStat> {
  // Nearest last: the stack holds what is still to come, in reverse.
  const ahead = await entriesOf(folder, path);
  for (let next = ahead.pop(); next; next = ahead.pop()) {
    if (!("folder" in next)) {
      yield next;
      continue;
    }
    const inner = await enterIfThere(root, next.folder, anchor);
    // One by one: a folder may hold more files than a call takes arguments.
    if (inner) for (const entry of await entriesOf(inner, next.folder)) ahead.push(entry);
  }
}

/** A folder may vanish or become a link while its neighbours are listed: then it has no files. */
async function enterIfThere(root: string, path: string, anchor: Anchor): Promise<Folder | undefined> {
  try {
    return await openFolder(root, path, false, anchor);
  } catch {
    return undefined;
  }
}

/** Last first. "a/b" comes after "a.txt", as their texts do: so a folder is sorted as if it ended in "/". */
async function entriesOf(folder: Folder, path: string): Promise<Entry[]> {
  await using open = folder;
  const inside = (name: string): string => (path === "" ? name : `${path}/${name}`);
  const named = (await readdir(open.self, { withFileTypes: true }))
    .filter((entry) => (entry.isFile() || entry.isDirectory()) && isNameable(inside(entry.name)))
    .map((entry) => ({ entry, order: entry.isDirectory() ? `${entry.name}/` : entry.name }))
    .sort((a, b) => (a.order < b.order ? 1 : -1));
  const entries: Entry[] = [];
  for (let start = 0; start < named.length; start += LOOKS) {
    const some = named.slice(start, start + LOOKS).map(({ entry }) => look(open, entry, inside(entry.name)));
    for (const entry of await Promise.all(some)) if (entry) entries.push(entry);
  }
  return entries;
}

async function look(folder: Folder, entry: Dirent, path: string): Promise<Entry | undefined> {
  if (entry.isDirectory()) return { folder: path };
  try {
    const stats = await lstat(folder.at(entry.name));
    if (!stats.isFile() || stats.nlink > 1) return undefined;
    return { path, bytes: stats.size, modifiedAt: stats.mtime.toISOString() };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
