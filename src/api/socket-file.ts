/**
 * socket-file.ts -- the place of the unix socket, made ready and made private.
 *
 * Whoever calls holds the lock of the home, so a socket that lies there belongs to a dead host and may go.
 * Anything else that lies there is somebody's, and stays. The folder keeps everyone else out, also
 * in the moment between listening and the socket's own permission.
 */
import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { cannotListen } from "./errors.ts";

/** What fits into sun_path, its closing NUL taken off. */
const MAX_PATH_BYTES = 107;

/** Throws GOALD_DAEMON when no private socket can be made there. */
export function clearSocketPlace(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (!isAbsolute(path) || path.includes("\0"))
    throw cannotListen("The path of the socket must be absolute.", "This is a fault of goald.");
  if (bytes > MAX_PATH_BYTES)
    throw cannotListen(
      `A socket's path has up to ${MAX_PATH_BYTES} bytes, this one has ${bytes}: ${path}`,
      "Take a home with a shorter path: --home",
    );
  const folder = dirname(path);
  checkFolder(folder, look(folder));
  const found = look(path);
  if (!found) return;
  if (!found.isSocket() || !isOurs(found))
    throw cannotListen(
      `Where the socket should be lies something else, and it stays: ${path}`,
      `Look at it, and move it away: ls -l ${path}`,
    );
  unlinkSync(path);
}

/** After listening. */
export function makePrivate(path: string): void {
  chmodSync(path, 0o600);
}

function checkFolder(folder: string, found: Stats | undefined): void {
  const problem = !found
    ? "does not exist"
    : !found.isDirectory()
      ? "is no folder, or a link to one"
      : !isOurs(found)
        ? "belongs to another user"
        : (found.mode & 0o077) !== 0
          ? "is open to other users"
          : undefined;
  if (problem === undefined) return;
  throw cannotListen(
    `The folder of the socket ${problem}: ${folder}`,
    problem.startsWith("is open") ? `chmod 700 ${folder}` : `It must be a folder of your own with mode 0700.`,
  );
}

/** Where users have no numbers, files have no modes either. */
const isOurs = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

function look(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
