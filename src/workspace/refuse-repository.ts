/**
 * refuse-repository.ts -- keeps a folder from becoming one that git takes for a repository without the name `.git`.
 *
 * git runs programs that the `config` of such a folder names, as soon as somebody calls it there or below. The check is
 * synchronous and directly before the change that adds an entry, so that concurrent changes cannot pass it together.
 */
import { lstatSync, readdirSync } from "node:fs";
import { isRepository, isRepositoryEntry } from "#core/guarded-files.ts";
import { refused } from "./path-rules.ts";
import type { OpenFolder } from "./resolve-path.ts";

/** Throws GOALD_PATH_REFUSED when the folder with the new entry `added` would be a repository. `path` is for the message. */
export function refuseNewRepository(folder: OpenFolder, added: string, path: string): void {
  if (isRepositoryEntry(added) && isRepository([...readdirSync(folder.self), added]))
    throw refused(
      path,
      "would complete a folder that git takes for a repository (HEAD beside objects and refs, or beside commondir), and git runs programs that a setting there names",
      "Use another name or another folder.",
    );
}

/** Throws GOALD_PATH_REFUSED when the folder is a repository without the name `.git`, as `git clone --bare` makes one. */
export function refuseInRepository(folder: OpenFolder, path: string): void {
  const has = (name: string): boolean => lstatSync(folder.at(name), { throwIfNoEntry: false }) !== undefined;
  if (has("HEAD") && isRepository(["HEAD", ...["objects", "refs", "commondir"].filter(has)]))
    throw refused(
      path,
      "is in a folder that git takes for a repository, and git runs the hooks and settings in it: it can be read but not changed",
      "Use another folder.",
    );
}
