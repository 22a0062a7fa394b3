/**
 * resolve-path.ts -- the one way from a path to a place on the disk.
 *
 * Folders are entered one by one from the root and no link is ever followed. On Linux
 * each folder is held open and the next name is looked up in the open folder itself
 * (`/proc/self/fd/N/name`, which is openat(2) by another name), so a folder that is
 * swapped for a link between check and use is still the folder that was checked. Where
 * that cannot be had, the real path of each folder is compared before use and again by
 * `verify` after it: a swap is then noticed, but a file may have been touched.
 */
import { existsSync, constants as flags, lstatSync, mkdirSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, fileError } from "./file-errors.ts";
import { OpenFile } from "./open-file.ts";
import { quoted, refused } from "./path-rules.ts";

export type Anchor = "descriptor" | "real-path";

/** What this system can do; looked at once. */
export function bestAnchor(): Anchor {
  best ??= process.platform === "linux" && existsSync("/proc/self/fd") ? "descriptor" : "real-path";
  return best;
}
let best: Anchor | undefined;

/** Follow no link, wait for no pipe, take no terminal. The flags are missing on Windows, where they count as nothing. */
export const SAFE_OPEN = (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0) | (flags.O_NOCTTY ?? 0);
const OPEN_FOLDER = flags.O_RDONLY | (flags.O_DIRECTORY ?? 0);

/** A folder inside the workspace that was reached without following a link. */
export interface Folder extends AsyncDisposable {
  /** What to hand to node:fs for the entry of that name. */
  at(name: string): string;
  /** For node:fs, to list the entries. */
  readonly self: string;
  /** Throws GOALD_PATH_REFUSED when the folder is no longer where it was entered. */
  verify(): Promise<void>;
  /** Makes new and renamed entries durable. */
  sync(): Promise<void>;
}

/** Where a file lies or would lie. */
export interface Place extends AsyncDisposable {
  readonly path: string;
  readonly folder: Folder;
  /** What to hand to node:fs for the file. */
  readonly file: string;
  /** What lies there, links not followed; undefined for nothing. */
  readonly found: Stats | undefined;
}

/** `make` creates the folders on the way; otherwise a missing one gives undefined. `path` is normal and not empty. */
export async function openPlace(root: string, path: string, make: boolean, anchor: Anchor): Promise<Place | undefined> {
  const cut = path.lastIndexOf("/");
  const folder = await openFolder(root, path.slice(0, Math.max(0, cut)), make, anchor);
  if (!folder) return undefined;
  try {
    const file = folder.at(path.slice(cut + 1));
    const found = entryAt(file);
    return { path, folder, file, found, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** `path` is normal; empty for the root. The root itself may be a link: that is the person's choice. */
export async function openFolder(
  root: string,
  path: string,
  make: boolean,
  anchor: Anchor,
): Promise<Folder | undefined> {
  const entered = enterRoot(root, make, anchor);
  if (!entered || path === "") return entered;
  let folder = entered;
  for (const name of path.split("/")) {
    const parent = folder;
    try {
      const child = await enterChild(parent, name, path, make, anchor);
      if (!child) return undefined;
      folder = child;
    } finally {
      await parent[Symbol.asyncDispose]();
    }
  }
  return folder;
}

/** Only plain files with one name are touched: a second name may lie outside, a pipe would wait for ever. */
export function requirePlainFile(stats: Stats, path: string): void {
  if (stats.isDirectory()) throw fileError(`${quoted(path)} is a folder, not a file.`, "Name a file.");
  if (stats.isSymbolicLink()) throw isLink(path);
  if (!stats.isFile()) throw fileError(`${quoted(path)} is a pipe, socket or device, not a file.`, "Name a file.");
  if (stats.nlink > 1)
    throw refused(
      path,
      "has a second name (a hard link), so it may lie outside the workspace too",
      "Use another file.",
    );
}

/** Opens what `place` found, and makes sure that it is still a plain file, inside the workspace. */
export async function openFile(place: Place, mode: number): Promise<OpenFile> {
  if (place.found) requirePlainFile(place.found, place.path);
  const opened = new OpenFile(place.file, mode | SAFE_OPEN, 0o644);
  try {
    const stats = opened.stat();
    requirePlainFile(stats, place.path);
    await place.folder.verify();
    const seen = lstatSync(place.file);
    if (seen.isSymbolicLink() || seen.ino !== stats.ino || seen.dev !== stats.dev)
      throw refused(place.path, "changed while it was opened", "Try again.");
    return opened;
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

/** undefined when there is none. Nothing is looked at first: as a rule it is there. */
function enterRoot(root: string, make: boolean, anchor: Anchor): Folder | undefined {
  try {
    return enter(root, anchor, 0);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  if (!make) return undefined;
  mkdirSync(root, { recursive: true, mode: 0o755 });
  return enter(root, anchor, 0);
}

async function enterChild(
  parent: Folder,
  name: string,
  path: string,
  make: boolean,
  anchor: Anchor,
): Promise<Folder | undefined> {
  const at = parent.at(name);
  let found = entryAt(at);
  if (!found) {
    if (!make) return undefined;
    makeFolder(at);
    await parent.sync();
    found = lstatSync(at);
  }
  if (found.isSymbolicLink()) throw isLink(path);
  if (!found.isDirectory())
    throw fileError(`On the way to ${quoted(path)}, ${quoted(name)} is a file, not a folder.`, "Choose another path.");
  await parent.verify();
  const child = enter(at, anchor, flags.O_NOFOLLOW ?? 0);
  if (anchor === "real-path" && dirname(child.self) !== parent.self) {
    await child[Symbol.asyncDispose]();
    throw isLink(path);
  }
  return child;
}

/** Somebody else may have made it in the meantime. */
function makeFolder(at: string): void {
  try {
    mkdirSync(at, 0o755);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

const isLink = (path: string): Error =>
  refused(path, "leads over a link", "Links are not followed here: name the file itself.");

const entryAt = (at: string): Stats | undefined => lstatSync(at, { throwIfNoEntry: false });

/** `noFollow` is O_NOFOLLOW, or 0 for the root. */
function enter(at: string, anchor: Anchor, noFollow: number): Folder {
  if (anchor === "descriptor") return heldFolder(new OpenFile(at, OPEN_FOLDER | noFollow));
  return namedFolder(realpathSync.native(at));
}

function heldFolder(opened: OpenFile): Folder {
  const self = `/proc/self/fd/${opened.descriptor}`;
  return {
    self,
    at: (name) => `${self}/${name}`,
    verify: async () => undefined,
    sync: () => opened.sync(),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function namedFolder(self: string): Folder {
  return {
    self,
    at: (name) => join(self, name),
    verify: async () => {
      if (realpathSync.native(self) !== self)
        throw refused(self.slice(dirname(self).length + 1), "was swapped for a link", "Try again.");
    },
    sync: () => syncFolder(self),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Windows cannot open a folder as a file; its renames are durable by journal. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  await using opened = new OpenFile(path, flags.O_RDONLY);
  await opened.sync();
}
