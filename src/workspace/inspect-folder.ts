/**
 * inspect-folder.ts -- lists and checks a folder that others filled, before it becomes a part of a workspace.
 *
 * It may contain folders and plain files with one name. Links, devices and pipes are refused, as are hard links, whose
 * other name may be anywhere, and names that a path cannot express as text.
 */
import { lstat, readdir } from "node:fs/promises";
import { fileError } from "./file-errors.ts";
import { folded, isTemporary, quotePath, refuseChange, refused } from "./path-rules.ts";
import { type Anchor, type OpenFolder, openFolder, requirePlainFile } from "./resolve-path.ts";

/** Paths relative to the inspected folder. A folder comes before what is in it. */
export interface FolderContent {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Number of concurrent lstat calls. */
const CONCURRENCY = 32;
/** goald writes this folder of a clone itself. */
const OWN_REPOSITORY = /^\.git(?:\/|$)/;

export async function listContent(root: OpenFolder, anchor: Anchor): Promise<FolderContent> {
  const folders: string[] = [];
  const files: string[] = [];
  const ahead = [""];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    if (path !== "") folders.push(path);
    await using folder = await openFolder(root.self, path, false, anchor);
    if (!folder) throw refused(path, "vanished while it was checked", "Try again.");
    const entries = await readdir(folder.self, { withFileTypes: true });
    for (let from = 0; from < entries.length; from += CONCURRENCY) {
      const some = entries.slice(from, from + CONCURRENCY).map(async (entry) => {
        const inside = path === "" ? entry.name : `${path}/${entry.name}`;
        // What replaces bytes that are not UTF-8.
        if (entry.name.includes("\ufffd")) throw refused(inside, "has a name that is not text", "Use another source.");
        if (entry.isDirectory()) return ahead.push(inside);
        requirePlainFile(await lstat(folder.at(entry.name)), inside);
        return files.push(inside);
      });
      await Promise.all(some);
    }
  }
  return { folders, files };
}

/**
 * Throws when the content has names that no change may create at `place`, or a folder that git would take for a
 * repository: its settings name programs, which git runs when a person calls it there.
 */
export function refusePlanted(place: string, { folders, files }: FolderContent): void {
  const names = new Map<string, Set<string>>();
  for (const path of [...folders, ...files]) {
    if (OWN_REPOSITORY.test(path)) continue;
    refuseChange(`${place}/${path}`);
    const cut = path.lastIndexOf("/");
    const parent = path.slice(0, Math.max(0, cut));
    const name = path.slice(cut + 1);
    if (isTemporary(name))
      throw refused(path, "has a name that goald keeps for unfinished writes", "Use another source.");
    const siblings = names.get(parent) ?? new Set();
    names.set(parent, siblings.add(folded(name)));
  }
  for (const [folder, inside] of names)
    if (isRepository(inside))
      throw fileError(
        `The folder ${quotePath(folder)} in it has what git takes for a repository (HEAD, objects, refs): a setting there would run programs.`,
        "Use another source.",
      );
}

/** git looks for objects and refs in another folder when `commondir` names one. */
const isRepository = (names: ReadonlySet<string>): boolean =>
  names.has("head") && (names.has("commondir") || (names.has("objects") && names.has("refs")));
