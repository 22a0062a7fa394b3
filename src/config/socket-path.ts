/**
 * socket-path.ts -- where the local API of a home listens.
 *
 * Beside the home's lock, unless that path is too long for a socket's address; then in a folder of this
 * user's own under the system's temporary one, which must be a real folder, ours, and closed to others.
 */
import { createHash } from "node:crypto";
import { lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { Home } from "./home.ts";

/** `sun_path` has 108 bytes on Linux and 104 on macOS, the last one a NUL. */
const MAX_SOCKET_BYTES = 103;

/** Throws GOALD_HOME_UNWRITABLE when the folder that it needs is somebody else's. */
export async function socketPathOf({ socket, root }: Home, uid: number | undefined): Promise<string> {
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
  return join(folder, nameFor(root));
}

/** Whether a host of this home may have listened there: what a copied home has written down is another home's. */
export const isSocketOf = ({ socket, root }: Pick<Home, "socket" | "root">, path: string): boolean =>
  path === socket || basename(path) === nameFor(root);

const nameFor = (root: string): string => `${createHash("sha256").update(root).digest("hex").slice(0, 16)}.sock`;
