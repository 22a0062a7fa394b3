/**
 * inspect-folder.ts -- lists and checks a folder that others filled, before it becomes a part of a workspace.
 *
 * It may contain folders and plain files with one name. Links, devices and pipes are refused, as are hard links, whose
 * other name may be anywhere, names that are not text, and what version control would take for its own: settings there
 * name programs, which run when a person calls it there.
 */
import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { GoaldError } from "#core/errors.ts";
import { isOfVersionControl, isRepository } from "#core/what-others-run.ts";
import { isOwn, isTemporary, quotePath } from "./path-rules.ts";
import { type Anchor, openFolder } from "./resolve-path.ts";

/** Paths relative to the inspected folder. A folder comes before what is in it. */
export interface FolderContent {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Number of concurrent lstat calls. */
const CONCURRENCY = 32;
/** goald writes this folder of a clone itself. */
const OWN_REPOSITORY = /^\.git(?:\/|$)/;

/** `path` is the future place of the folder in the workspace. Throws GOALD_PATH_REFUSED and GOALD_FILE. */
export async function inspectFolder(root: string, path: string, anchor: Anchor): Promise<FolderContent> {
  const folders: string[] = [];
  const files: string[] = [];
  const ahead = [""];
  for (let inner = ahead.pop(); inner !== undefined; inner = ahead.pop()) {
    if (inner !== "") folders.push(inner);
    await using folder = await openFolder(root, inner, "read", anchor);
    if (!folder) throw refuseEntry(inner, "vanished while it was checked");
    const entries = await readdir(folder.self, { withFileTypes: true });
    refuseRepository(
      inner,
      entries.map(({ name }) => name),
    );
    for (let from = 0; from < entries.length; from += CONCURRENCY) {
      const some = entries.slice(from, from + CONCURRENCY).map(async (entry) => {
        const inside = inner === "" ? entry.name : `${inner}/${entry.name}`;
        refuseName(inside, entry.name, path);
        if (entry.isDirectory()) return ahead.push(inside);
        requirePlain(await lstat(folder.at(entry.name)), inside);
        return files.push(inside);
      });
      await Promise.all(some);
    }
  }
  return { folders, files };
}

function refuseRepository(folder: string, names: readonly string[]): void {
  if (!OWN_REPOSITORY.test(folder) && isRepository(names))
    throw refuseEntry(folder || ".", "is a folder that git takes for a repository, and a setting there runs programs");
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
