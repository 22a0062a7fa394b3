/**
 * resolve-path.ts -- resolves a normal path to a place on the disk. All file operations use it.
 *
 * Folders are entered one by one from the root, and links are never followed. On Linux each folder stays open and the
 * next name is looked up in it (`/proc/self/fd/N/name`, equivalent to openat(2)). A folder that is swapped for a link
 * between check and use is then still the checked folder. On other systems the real path of each folder is compared
 * before use and again by `verify`: a swap is noticed, but a file may have been touched.
 */
import {
  closeSync,
  existsSync,
  fchmodSync,
  constants as flags,
  fstatSync,
  fsync,
  ftruncate,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  write,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "#core/errors.ts";
import { isRepository, isRepositoryEntry } from "#core/guarded-files.ts";
import { fileError, notAFile } from "./file-errors.ts";
import { quotePath, refused } from "./path-rules.ts";

/** The protection against swapped folders: open descriptors, or compared real paths. */
export type Anchor = "descriptor" | "real-path";

let anchor: Anchor | undefined;

/** The best protection that this system supports; determined once. */
function bestAnchor(): Anchor {
  anchor ??= process.platform === "linux" && existsSync("/proc/self/fd") ? "descriptor" : "real-path";
  return anchor;
}

/** Replaces the protection, for tests of the one that this system does not use. */
export function useAnchor(given: Anchor): void {
  anchor = given;
}

/** Refuses links, does not wait for pipes, takes no terminal. Windows lacks these flags, so they are 0 there. */
export const SAFE_OPEN = (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0) | (flags.O_NOCTTY ?? 0);
const OPEN_FOLDER = flags.O_RDONLY | (flags.O_DIRECTORY ?? 0);

/** A folder of the workspace, reached without following a link. */
export interface OpenFolder extends AsyncDisposable {
  /** The path of an entry for node:fs. */
  at(name: string): string;
  /** The path of the folder for node:fs. */
  readonly self: string;
  /** Throws GOALD_PATH_REFUSED when the folder is no longer where it was entered. */
  verify(): Promise<void>;
  /** Makes new and renamed entries durable. */
  sync(): Promise<void>;
}

/** The place of a file, existing or not. */
export interface FilePlace extends AsyncDisposable {
  readonly path: string;
  readonly folder: OpenFolder;
  /** The path of the file for node:fs. */
  readonly file: string;
  /** The entry there, with links not followed; undefined when there is none. */
  readonly found: Stats | undefined;
}

/** The use that a caller makes of a place: `change` enters no folder of a repository, `make` also creates folders. */
export type Purpose = "read" | "change" | "make";

/** `path` is normal and not empty. Missing folders are created with `make`, and give undefined without it. */
export async function openPlace(root: string, path: string, purpose: Purpose): Promise<FilePlace | undefined> {
  const cut = path.lastIndexOf("/");
  const folder = await openFolder(root, path.slice(0, Math.max(0, cut)), purpose);
  if (!folder) return undefined;
  try {
    if (purpose !== "read") refuseInRepository(folder, path);
    const file = folder.at(path.slice(cut + 1));
    const found = statEntry(file);
    return { path, folder, file, found, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** `path` is normal; empty for the root. The root itself may be a link, because the person chose it. */
export async function openFolder(root: string, path: string, purpose: Purpose): Promise<OpenFolder | undefined> {
  let folder = enterRoot(root, purpose === "make");
  for (const name of path === "" ? [] : path.split("/")) {
    if (!folder) return undefined;
    await using parent = folder;
    if (purpose !== "read") refuseInRepository(parent, path);
    folder = await enterChild(parent, name, path, purpose);
  }
  return folder;
}

/** Throws unless it is a plain file with one name: a second name may be outside, and a pipe would block. */
export function requirePlainFile(stats: Stats, path: string): void {
  if (stats.isDirectory()) throw notAFile(path);
  if (stats.isSymbolicLink()) throw refuseLink(path);
  if (!stats.isFile()) throw fileError(`${quotePath(path)} is a pipe, socket or device, not a file.`, "Name a file.");
  if (stats.nlink > 1)
    throw refused(
      path,
      "has a second name (a hard link), so it may lie outside the workspace too",
      "Use another file.",
    );
}

/** Opens the file and checks that it is still the plain file that `place` found, inside the workspace. */
export async function openFile(place: FilePlace, mode: number): Promise<OpenFile> {
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

/** Returns undefined when the root is missing. It usually exists, so it is opened without a check. */
function enterRoot(root: string, make: boolean): OpenFolder | undefined {
  try {
    return enterFolder(root, 0);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  if (!make) return undefined;
  mkdirSync(root, { recursive: true, mode: 0o755 });
  return enterFolder(root, 0);
}

async function enterChild(
  parent: OpenFolder,
  name: string,
  path: string,
  purpose: Purpose,
): Promise<OpenFolder | undefined> {
  const at = parent.at(name);
  let found = statEntry(at);
  if (!found) {
    if (purpose !== "make") return undefined;
    refuseNewRepository(parent, name, path);
    makeFolder(at);
    await parent.sync();
    found = lstatSync(at);
  }
  if (found.isSymbolicLink()) throw refuseLink(path);
  if (!found.isDirectory()) throw fileError(`${quotePath(name)} is a file, not a folder.`, "Choose another path.");
  await parent.verify();
  const child = enterFolder(at, flags.O_NOFOLLOW ?? 0);
  if (bestAnchor() === "real-path" && dirname(child.self) !== parent.self) {
    await child[Symbol.asyncDispose]();
    throw refuseLink(path);
  }
  return child;
}

/** Another process may have made it in the meantime. */
function makeFolder(at: string): void {
  try {
    mkdirSync(at, 0o755);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

const refuseLink = (path: string): Error =>
  refused(path, "leads through a link", "Links are not followed here: name the file itself.");

const statEntry = (at: string): Stats | undefined => lstatSync(at, { throwIfNoEntry: false });

/** `noFollow` is O_NOFOLLOW, and 0 for the root. */
export function enterFolder(at: string, noFollow: number): OpenFolder {
  if (bestAnchor() === "descriptor") return folderByDescriptor(new OpenFile(at, OPEN_FOLDER | noFollow));
  return folderByPath(realpathSync.native(at));
}

function folderByDescriptor(opened: OpenFile): OpenFolder {
  const self = `/proc/self/fd/${opened.descriptor}`;
  return {
    self,
    at: (name) => `${self}/${name}`,
    verify: async () => undefined,
    sync: () => opened.sync(),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function folderByPath(self: string): OpenFolder {
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

/** Windows cannot open a folder as a file, and its journal makes renames durable. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  await using opened = new OpenFile(path, flags.O_RDONLY);
  await opened.sync();
}

/** Errors of file systems that have no modes. */
const NO_MODES: ReadonlySet<string> = new Set(["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"]);
/** Parts up to this size are read and written synchronously. */
const SMALL_BYTES = 64 * 1024;

/**
 * Reads and writes an open file or folder by its descriptor. Calls that the system answers from memory (open, stat,
 * close, small parts) are synchronous: a thread switch costs several times the call, and one append needs twenty calls.
 * Calls that may wait for the disk (fsync, large parts) run on a thread, so that they do not block the main thread.
 */
export class OpenFile implements AsyncDisposable {
  readonly descriptor: number;

  constructor(path: string, flags: number, mode?: number) {
    this.descriptor = openSync(path, flags, mode);
  }

  stat(): Stats {
    return fstatSync(this.descriptor);
  }

  /** For own files only. Does nothing on a file system without modes. */
  setMode(mode: number): void {
    try {
      fchmodSync(this.descriptor, mode);
    } catch (error) {
      if (!NO_MODES.has(codeOf(error) ?? "")) throw error;
    }
  }

  /** Fills `bytes` from `position` on; returns the number of bytes read. */
  async read(bytes: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < bytes.length) {
      const some = await this.#readSome(bytes.subarray(filled), position + filled);
      if (some === 0) break;
      filled += some;
    }
    return filled;
  }

  async #readSome(bytes: Uint8Array, position: number): Promise<number> {
    if (bytes.length <= SMALL_BYTES) return readSync(this.descriptor, bytes, 0, bytes.length, position);
    return (await onThread.read(this.descriptor, bytes, 0, bytes.length, position)).bytesRead;
  }

  /** Writes all bytes at the current position. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) from += await this.#writeSome(bytes.subarray(from));
  }

  async #writeSome(bytes: Uint8Array): Promise<number> {
    if (bytes.length <= SMALL_BYTES) return writeSync(this.descriptor, bytes);
    return (await onThread.write(this.descriptor, bytes)).bytesWritten;
  }

  truncate(bytes: number): Promise<void> {
    return onThread.truncate(this.descriptor, bytes);
  }

  sync(): Promise<void> {
    return onThread.sync(this.descriptor);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.descriptor);
  }
}

const onThread = {
  read: promisify(read),
  write: promisify(write),
  truncate: promisify(ftruncate),
  sync: promisify(fsync),
};

/**
 * Throws GOALD_PATH_REFUSED when git would take the folder with the new entry `added` for a repository without the name
 * `.git`. git runs programs that the `config` of such a folder names, as soon as somebody calls it there or below. The
 * check is synchronous and directly before the change that adds an entry, so that concurrent changes cannot pass it
 * together. `path` is for the message.
 */
export function refuseNewRepository(folder: OpenFolder, added: string, path: string): void {
  if (isRepositoryEntry(added) && isRepository([...readdirSync(folder.self), added]))
    throw refused(
      path,
      "would complete a folder that git takes for a repository (HEAD beside objects and refs, or beside commondir), and git runs programs that a setting there names",
      "Use another name or another folder.",
    );
}

/** Throws GOALD_PATH_REFUSED when the folder is a repository without the name `.git`, as `git clone --bare` makes one. */
function refuseInRepository(folder: OpenFolder, path: string): void {
  const has = (name: string): boolean => lstatSync(folder.at(name), { throwIfNoEntry: false }) !== undefined;
  if (has("HEAD") && isRepository(["HEAD", ...["objects", "refs", "commondir"].filter(has)]))
    throw refused(
      path,
      "is in a folder that git takes for a repository, and git runs the hooks and settings in it: it can be read but not changed",
      "Use another folder.",
    );
}
