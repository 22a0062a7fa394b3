/**
 * inspect-folder.ts -- lists and checks a folder that others filled, before it becomes a part of a workspace.
 *
 * It may contain folders and plain files with one name. Links, devices and pipes are refused, as are hard links, whose
 * other name may be anywhere, and names that a path cannot express as text.
 */
import { lstat, readdir } from "node:fs/promises";
import { judgeTree } from "#core/what-others-run.ts";
import { isOwn, isTemporary, refused } from "./path-rules.ts";
import { type Anchor, type OpenFolder, openFolder, requirePlainFile } from "./resolve-path.ts";

/** Paths relative to the inspected folder. A folder comes before what is in it. */
export interface FolderContent {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Number of concurrent lstat calls. */
const CONCURRENCY = 32;
const HINT = "Use another source.";
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
        if (entry.name.includes("\ufffd")) throw refused(inside, "has a name that is not text", HINT);
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
 * Throws GOALD_PATH_REFUSED for names that only goald gives, and for what git or another version control would take for
 * its own: settings there name programs, which run when a person calls it there.
 */
export function refusePlanted(place: string, { folders, files }: FolderContent): void {
  const paths = [...folders, ...files].filter((path) => !OWN_REPOSITORY.test(path));
  const reserved = paths.find(
    (path) => isOwn(`${place}/${path}`) || isTemporary(path.slice(path.lastIndexOf("/") + 1)),
  );
  if (reserved !== undefined) throw refused(reserved, "has a name that goald keeps for itself", HINT);
  const [planted] = judgeTree(paths).refused;
  if (planted !== undefined)
    throw refused(
      planted,
      "is what version control would take for its own, and it runs programs that are named there",
      HINT,
    );
}
