/**
 * newest-files.ts -- finds the newest files of an agent's folder at a bounded cost.
 *
 * It reads a limited number of entries, the upper folders first, and follows no links. It skips hidden files, goald's own files
 * and those of sub-agents, because sub-agents choose the names of their files and every prompt would show them. In a folder
 * with more entries it may miss a newer file.
 */
import { type Dirent, lstatSync, opendirSync } from "node:fs";
import type { FileStat, FolderSight } from "#core/ports/workspace.ts";
import { AGENTS_FOLDER } from "#core/subagent.ts";
import { isNameable } from "./path-rules.ts";
import { bestAnchor, openFolder } from "./resolve-path.ts";

const MAX_ENTRIES = 200;
const MAX_FILES = 8;

export async function findNewestFiles(root: string): Promise<FolderSight> {
  const files: FileStat[] = [];
  const folders = [""];
  let looked = 0;
  for (let path = folders.shift(); path !== undefined && looked < MAX_ENTRIES; path = folders.shift()) {
    await using folder = await openFolder(root, path, "read", bestAnchor()).catch(() => undefined);
    if (!folder) continue;
    for (const entry of readEntries(folder.self, MAX_ENTRIES - looked)) {
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
function* readEntries(folder: string, limit: number): Generator<Dirent> {
  const open = opendirSync(folder);
  try {
    for (let left = limit; left > 0; left -= 1) {
      const entry = open.readSync();
      if (!entry) return;
      yield entry;
    }
  } finally {
    open.closeSync();
  }
}
