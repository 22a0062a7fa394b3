/**
 * own-repository.ts -- replaces what git reads as settings in a clone's `.git` with settings of goald's own.
 *
 * git is not running meanwhile. Still nothing is written through a link: each file is removed first and created anew.
 */
import { lstat, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";

/** These come before the attributes of the repository: no filter, no identifier to fill in, no text conversion. */
const PLAIN_ATTRIBUTES = "* -filter -ident -text !eol !working-tree-encoding\n";
/** The entries of `.git` that git needs to read a clone, without settings. All others, such as hooks and logs, are removed. */
const KEPT = /^(?:HEAD|index|objects|packed-refs|refs|shallow)$/;
const KEPT_OBJECTS = /^(?:pack|[0-9a-f]{2})$/;
const KEPT_PACKS = /^pack-[0-9a-f]+\.(?:pack|idx|rev)$/;
const SHA256_HEX_CHARS = 64;

/** A clone and its newest commit, as a full hash. */
export interface OwnedRepository {
  readonly folder: string;
  readonly href: string;
  readonly commit: string;
}

/** Sets up `.git` for a checkout that converts nothing. */
export async function prepareCheckout(repository: OwnedRepository): Promise<void> {
  await settleRepository(repository);
  const info = join(repository.folder, ".git", "info");
  await mkdir(info);
  await writeNew(join(info, "attributes"), PLAIN_ATTRIBUTES);
}

/** Removes all files of `.git` that a finished clone does not need, and writes its settings. */
export async function settleRepository(repository: OwnedRepository): Promise<void> {
  const git = join(repository.folder, ".git");
  for (const name of [".", "objects", "objects/pack"]) await requireFolder(join(git, name));
  await removeExcept(git, KEPT);
  await removeExcept(join(git, "objects"), KEPT_OBJECTS);
  await removeExcept(join(git, "objects", "pack"), KEPT_PACKS);
  await writeNew(join(git, "config"), formatConfig(repository));
}

/** The address has no character that a quoted value would need to escape; see repository-url.ts. */
function formatConfig({ href, commit }: OwnedRepository): string {
  const isSha256 = commit.length === SHA256_HEX_CHARS;
  return [
    "[core]",
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    "\tfilemode = true",
    "\tbare = false",
    "\tsymlinks = false",
    ...(isSha256 ? ["[extensions]", "\tobjectformat = sha256"] : []),
    '[remote "origin"]',
    `\turl = "${href}"`,
    "\tfetch = +refs/heads/*:refs/remotes/origin/*",
    "",
  ].join("\n");
}

async function requireFolder(path: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined))?.isDirectory()) return;
  throw new GoaldError("GOALD_GIT", "git left no repository as it should be. Nothing of it was kept.");
}

async function removeExcept(folder: string, kept: RegExp): Promise<void> {
  for (const name of await readdir(folder))
    if (!kept.test(name)) await rm(join(folder, name), { recursive: true, force: true });
}

const writeNew = (path: string, text: string): Promise<void> => writeFile(path, text, { flag: "wx", mode: 0o644 });
