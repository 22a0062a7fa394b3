/**
 * socket-file.ts -- prepares the path of the unix socket, and makes the socket private.
 *
 * The caller holds the lock of the home, so a socket at this path belongs to a dead host. It is removed; other files stay.
 * The folder's mode protects the socket between listening and chmod.
 */
import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { cannotListen } from "./errors.ts";

/** Length of sun_path without its terminating NUL. */
const MAX_PATH_BYTES = 107;

/** Throws GOALD_DAEMON when no private socket can be created at this path. */
export function clearSocketPlace(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (!isAbsolute(path) || path.includes("\0"))
    throw cannotListen("The path of the socket must be absolute.", "This is a fault of goald.");
  if (bytes > MAX_PATH_BYTES)
    throw cannotListen(
      `Expected a socket path of at most ${MAX_PATH_BYTES} bytes, got ${bytes}: ${path}`,
      "Use a home with a shorter path: --home",
    );
  const folder = dirname(path);
  checkFolder(folder, statOrNone(folder));
  const found = statOrNone(path);
  if (!found) return;
  if (!found.isSocket() || !isOurs(found))
    throw cannotListen(`Another file is at the path of the socket: ${path}`, `Move it away: ls -l ${path}`);
  unlinkSync(path);
}

/** Call this after listening. */
export function makePrivate(path: string): void {
  chmodSync(path, 0o600);
}

function checkFolder(folder: string, found: Stats | undefined): void {
  const problem = !found
    ? "does not exist"
    : !found.isDirectory()
      ? "is not a folder, or is a link"
      : !isOurs(found)
        ? "belongs to another user"
        : (found.mode & 0o077) !== 0
          ? "is open to other users"
          : undefined;
  if (problem === undefined) return;
  throw cannotListen(
    `The folder of the socket ${problem}: ${folder}`,
    problem.startsWith("is open") ? `chmod 700 ${folder}` : "It must be your own folder with mode 0700.",
  );
}

/** True on systems without user ids, which have no file modes either. */
const isOurs = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

function statOrNone(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
