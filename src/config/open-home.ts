/**
 * open-home.ts -- makes a home's folders and checks that goald may work in them.
 *
 * `.goald` holds the log of everything and the socket that commands the daemon: it is a real
 * folder, ours, and closed to everybody else, or goald does not start. Nothing is removed or replaced.
 */
import { access, chmod, constants, lstat } from "node:fs/promises";
import { GoaldError } from "#core/errors.ts";
import type { Home } from "./home.ts";
import { makeFolders } from "./make-folders.ts";

/** Less what the umask takes: whoever may write commands or words there decides what goald does. */
const OPEN_FOLDER_MODE = 0o755;

/** Idempotent. Throws GOALD_HOME_UNWRITABLE, with the reason and what to do. */
export async function openHome(home: Home, uid: number | undefined): Promise<void> {
  for (const folder of [home.root, home.workspaceFolder, home.configFolder, home.commandsFolder, home.promptsFolder])
    await attempt(folder, home, () => makeFolders(folder, OPEN_FOLDER_MODE));
  for (const folder of [home.privateFolder, home.logFolder]) {
    await attempt(folder, home, () => makeFolders(folder, 0o700));
    await makePrivate(folder, home, uid);
  }
  for (const folder of [home.workspaceFolder, home.privateFolder, home.logFolder])
    await attempt(folder, home, () => access(folder, constants.R_OK | constants.W_OK | constants.X_OK));
}

/** One of its open folders, to write into. Throws as `openHome`. */
export const openFolder = (folder: string, home: Home): Promise<void> =>
  attempt(folder, home, async () => {
    await makeFolders(folder, OPEN_FOLDER_MODE);
    await access(folder, constants.W_OK | constants.X_OK);
  });

async function makePrivate(folder: string, home: Home, uid: number | undefined): Promise<void> {
  const found = await attempt(folder, home, () => lstat(folder));
  if (found.isSymbolicLink()) throw unwritable(folder, home, "it is a link, and goald's own folder must be a real one");
  if (uid !== undefined && found.uid !== uid)
    throw unwritable(folder, home, `it belongs to the user with id ${found.uid}, not to you (${uid})`);
  if (uid !== undefined && (found.mode & 0o077) !== 0) await attempt(folder, home, () => chmod(folder, 0o700));
}

async function attempt<T>(folder: string, home: Home, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    const code = Error.isError(thrown) && "code" in thrown ? String(thrown.code) : "";
    throw unwritable(folder, home, REASONS[code] ?? `the system says ${code || String(thrown)}`, thrown);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "a file is in its place",
  ENOTDIR: "a file is in the way",
  ENOENT: "folders cannot be made there",
  EACCES: "you have no permission",
  EPERM: "it is not permitted",
  EROFS: "it lies on a read-only file system",
  ENOSPC: "the disk is full",
  EDQUOT: "your share of the disk is used up",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "links lead in a circle",
};

function unwritable(folder: string, home: Home, reason: string, cause?: unknown): GoaldError {
  const place = folder === home.root ? "The home" : "The home's folder";
  const where = folder === home.root ? folder : `${folder} (home ${home.root})`;
  return new GoaldError("GOALD_HOME_UNWRITABLE", `${place} ${where} cannot be used: ${reason}.`, {
    hint: "Make it writable, or name another home with --home FOLDER or GOALD_HOME.",
    cause,
  });
}
