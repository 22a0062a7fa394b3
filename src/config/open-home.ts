/**
 * open-home.ts -- makes the folders of a home, checks that goald may work in them, and chooses the path of its socket.
 * `.goald` holds the log of everything and the socket that commands the daemon. goald starts only when it is a real
 * folder of this user and closed to others. Nothing is removed or replaced.
 */
import { hash } from "node:crypto";
import { access, chmod, constants, lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { codeOf, GoaldError } from "#core/errors.ts";
import { type Home, makeFolders } from "./home.ts";

/** The umask is applied to it. Whoever can write commands or prompts there controls what goald does. */
const OPEN_FOLDER_MODE = 0o755;

/** Idempotent. Throws GOALD_HOME_UNWRITABLE with the reason and a remedy. */
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

/** Makes one of the open folders and checks that it can be written. Throws as `openHome`. */
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

export async function attempt<T>(folder: string, home: Home, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    const code = codeOf(thrown) ?? "";
    throw unwritable(folder, home, REASONS[code] ?? `the system reports ${code || String(thrown)}`, thrown);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "a file is in its place",
  ENOTDIR: "a file is in the way",
  ENOENT: "it is not there",
  EACCES: "you have no permission",
  EPERM: "it is not permitted",
  EROFS: "it is on a read-only file system",
  ENOSPC: "the disk is full",
  EDQUOT: "your disk quota is used up",
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

/** `sun_path` has 108 bytes on Linux and 104 on macOS, the last one a NUL. */
const MAX_SOCKET_BYTES = 103;

/**
 * Returns the home's own socket path, or one in a private folder below the system's temporary folder when that is too
 * long. Throws GOALD_HOME_UNWRITABLE when the temporary folder belongs to another user.
 */
export async function chooseSocketPath({ socket, root }: Home, uid: number | undefined): Promise<string> {
  if (Buffer.byteLength(socket) <= MAX_SOCKET_BYTES) return socket;
  const folder = join(tmpdir(), `goald-${uid ?? "user"}`);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder).catch(() => undefined);
  if (!found?.isDirectory() || (uid !== undefined && (found.uid !== uid || (found.mode & 0o077) !== 0)))
    throw new GoaldError(
      "GOALD_HOME_UNWRITABLE",
      `The path of this home is too long for a socket, and ${folder} cannot be used instead: it is not a folder that only you may enter.`,
      { hint: "Choose a home with a shorter path, or set TMPDIR to a folder of your own." },
    );
  return join(folder, socketNameOf(root));
}

/** Whether `path` may be a socket of this home. A copied home's files name the socket of the original. */
export const isSocketOf = ({ socket, root }: Pick<Home, "socket" | "root">, path: string): boolean =>
  path === socket || basename(path) === socketNameOf(root);

const socketNameOf = (root: string): string => `${hash("sha256", root).slice(0, 16)}.sock`;
