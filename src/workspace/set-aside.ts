/**
 * set-aside.ts -- moves whole folders out of an agent's workspace, and back, by rename.
 *
 * Both ends are reached by descriptor (resolve-path.ts), so that a folder that is swapped for a link meanwhile leads nowhere
 * else. An entry outside is named by time and key. A folder that was discarded leaves an empty file of its name, so that the
 * history of the path stays clear.
 */
import { randomBytes } from "node:crypto";
import {
  constants as flags,
  lstatSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AsideFolder, NotedRestoration, SetAside } from "#core/ports/set-aside.ts";
import { codeOf, fileError, withFileErrors } from "./file-errors.ts";
import { measureTree } from "./folder-quota.ts";
import { OpenFile } from "./open-file.ts";
import { quotePath, refused } from "./path-rules.ts";
import { refuseNewRepository } from "./refuse-repository.ts";
import { removeQuietly } from "./replace-file.ts";
import { type Anchor, bestAnchor, type OpenFolder, openFolder, openPlace, SAFE_OPEN } from "./resolve-path.ts";

const PRIVATE_MODE = 0o700;
/** Digits of the milliseconds since 1970, so that names sort by time. */
const TIME_DIGITS = 15;

/** `workspace`: absolute path of the agent's folder; `outside`: absolute path of the folder for this agent's folders. */
export function openSetAside(workspace: string, outside: string, anchor: Anchor = bestAnchor()): SetAside {
  return new LocalSetAside(workspace, outside, anchor);
}

class LocalSetAside implements SetAside {
  readonly #workspace: string;
  readonly #outside: string;
  readonly #anchor: Anchor;

  constructor(workspace: string, outside: string, anchor: Anchor) {
    this.#workspace = workspace;
    this.#outside = outside;
    this.#anchor = anchor;
  }

  async canMove(): Promise<boolean> {
    const [inside, outside] = await Promise.all([nearest(this.#workspace), nearest(this.#outside)]);
    return inside.dev === outside.dev;
  }

  kindOf(path: string): Promise<"folder" | "other" | "none"> {
    return withFileErrors(path, async () => {
      await using place = await openPlace(this.#workspace, path, "read", this.#anchor);
      if (!place?.found) return "none";
      return place.found.isDirectory() ? "folder" : "other";
    });
  }

  async find(key: string): Promise<AsideFolder | undefined> {
    const name = await this.#nameOf(key);
    if (name === undefined) return undefined;
    const folder = join(this.#outside, name);
    return lstatSync(folder).isDirectory() ? { state: "kept", folder } : { state: "discarded" };
  }

  take(path: string, key: string, at: Date): Promise<void> {
    return withFileErrors(path, async () => {
      await using place = await openPlace(this.#workspace, path, "change", this.#anchor);
      if (!place?.found?.isDirectory()) throw fileError(`${quotePath(path)} is not a folder.`, "Try again.");
      await using outside = await this.#openOutside();
      await this.#clear(outside, key);
      const name = `${String(at.getTime()).padStart(TIME_DIGITS, "0")}-${key}`;
      await place.folder.verify();
      renameSync(place.file, outside.at(name));
      // A link that took its place between the look and the move was moved itself, not followed.
      if (!isSame(lstatSync(outside.at(name)), place.found)) {
        renameSync(outside.at(name), place.file);
        throw refused(path, "changed while it was moved", "Try again.");
      }
      await outside.sync();
      await place.folder.sync();
    });
  }

  putBack(key: string, path: string): Promise<void> {
    return withFileErrors(path, async () => {
      await using outside = await this.#openOutside();
      const name = await this.#nameOf(key);
      if (name === undefined) throw fileError(`The folder ${quotePath(path)} is not kept any more.`, "Try again.");
      await using place = await openPlace(this.#workspace, path, "make", this.#anchor);
      if (!place) throw fileError(`${quotePath(path)} has no place in the workspace.`, "Try again.");
      await place.folder.verify();
      // The check and the rename are synchronous, because a rename would replace an empty folder.
      if (lstatSync(place.file, { throwIfNoEntry: false }))
        throw fileError(`Something else is at ${quotePath(path)}.`, "Move it to another place, then try again.");
      refuseNewRepository(place.folder, basename(path), path);
      renameSync(outside.at(name), place.file);
      await place.folder.sync();
      await outside.sync();
    });
  }

  removeEmpty(path: string): Promise<void> {
    return withFileErrors(path, async () => {
      for (let folder = path; folder !== "." && folder !== ""; folder = dirname(folder)) {
        await using place = await openPlace(this.#workspace, folder, "change", this.#anchor);
        if (place?.found && !removedIfEmpty(place.file)) return;
        await place?.folder.sync();
      }
    });
  }

  async noteRestoration(restoration: NotedRestoration | null): Promise<void> {
    await using outside = await this.#openOutside();
    if (restoration === null) rmSync(outside.at(NOTE), { force: true });
    else {
      await using note = new OpenFile(outside.at(NOTE), NEW_NOTE, 0o600);
      await note.write(new TextEncoder().encode(JSON.stringify(restoration)));
      await note.sync();
    }
    await outside.sync();
  }

  /** A crash may leave half a note, before the restoration's first change. It counts as none. */
  async readRestoration(): Promise<NotedRestoration | null> {
    try {
      return JSON.parse(await readFile(join(this.#outside, NOTE), "utf8")) as NotedRestoration;
    } catch {
      return null;
    }
  }

  async trim(bytes: number, since: Date): Promise<readonly string[]> {
    const names = (await this.#names()).sort();
    const sizes = await Promise.all(names.map((name) => sizeOf(join(this.#outside, name))));
    let total = sizes.reduce((sum, size) => sum + size, 0);
    const discarded: string[] = [];
    for (const [index, name] of names.entries()) {
      if (total <= bytes || Number(name.slice(0, TIME_DIGITS)) >= since.getTime()) break;
      const size = sizes[index] ?? 0;
      if (size === 0) continue;
      await this.#discard(name);
      discarded.push(name.slice(TIME_DIGITS + 1));
      total -= size;
    }
    return discarded;
  }

  async #discard(name: string): Promise<void> {
    await using outside = await this.#openOutside();
    const leaving = `${UNNAMED}${randomBytes(8).toString("hex")}`;
    renameSync(outside.at(name), outside.at(leaving));
    writeFileSync(outside.at(name), "", { mode: 0o600 });
    await outside.sync();
    await removeQuietly(outside.at(leaving));
  }

  /** An earlier folder of this key would be a copy that a person made. It stays until it is discarded. */
  async #clear(outside: OpenFolder, key: string): Promise<void> {
    const name = await this.#nameOf(key);
    if (name === undefined) return;
    if (lstatSync(outside.at(name)).isDirectory())
      renameSync(outside.at(name), outside.at(`${name}${randomBytes(4).toString("hex")}`));
    else unlinkSync(outside.at(name));
  }

  async #nameOf(key: string): Promise<string | undefined> {
    return (await this.#names()).find((name) => name.endsWith(`-${key}`));
  }

  async #names(): Promise<string[]> {
    const names = await readdir(this.#outside).catch(() => []);
    return names.filter((name) => !name.startsWith(UNNAMED) && name !== NOTE);
  }

  async #openOutside(): Promise<OpenFolder> {
    await mkdir(this.#outside, { recursive: true, mode: PRIVATE_MODE });
    const folder = await openFolder(this.#outside, "", "change", this.#anchor);
    if (!folder) throw fileError("The folder for folders that are set aside vanished.", "Try again.");
    for (const name of readdirSync(folder.self)) if (name.startsWith(UNNAMED)) await removeQuietly(folder.at(name));
    return folder;
  }
}

/** Beginning of the name of a folder that is being discarded. */
const UNNAMED = "discarded-";
/** Holds the restoration that has not ended. */
const NOTE = "restoration.json";
const NEW_NOTE = flags.O_WRONLY | flags.O_CREAT | flags.O_TRUNC | SAFE_OPEN;

const isSame = (one: Stats, other: Stats): boolean =>
  one.isDirectory() && one.ino === other.ino && one.dev === other.dev;

/** The folder, or else the nearest one above it that exists. */
async function nearest(folder: string): Promise<Stats> {
  const found = await stat(folder).catch(() => undefined);
  return found ?? nearest(dirname(folder));
}

function removedIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(codeOf(error) ?? "")) return false;
    throw error;
  }
}

/** Bytes; 0 for a folder that was discarded. */
async function sizeOf(folder: string): Promise<number> {
  if (!lstatSync(folder).isDirectory()) return 0;
  let total = 1;
  await measureTree(folder, (_path, bytes) => {
    total += bytes;
  });
  return total;
}

/** Measures the folders of all agents that were set aside: by agent, the number of folders and their bytes. */
export async function measureSetAside(root: string): Promise<ReadonlyMap<string, { folders: number; bytes: number }>> {
  const found = new Map<string, { folders: number; bytes: number }>();
  for (const agent of await readdir(root).catch(() => [])) {
    const names = await readdir(join(root, agent)).catch(() => []);
    const sizes = await Promise.all(names.map((name) => sizeOf(join(root, agent, name))));
    const kept = sizes.filter((size) => size > 0);
    if (kept.length > 0) found.set(agent, { folders: kept.length, bytes: kept.reduce((sum, size) => sum + size) });
  }
  return found;
}
