/**
 * local-workspace.ts -- an agent's folder on the local disk.
 *
 * Each operation takes the text of the path through path-rules.ts and its folders
 * through resolve-path.ts, and touches plain files only. A change is durable before it
 * is told to `onChange`, and is told with its content, so that the history can hold every
 * version. `truncate` alone is not told: what it takes back was never told either.
 *
 * Whether the history has what lies there is a matter of `lastVersion` and of what was told here since:
 * by hash before a file is lost, by size alone before an append, whose cost must not grow with the file.
 */
import { hash } from "node:crypto";
import { constants as flags } from "node:fs";
import { unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { FileChange } from "#core/ports/file-version.ts";
import type { FileStat, LastVersion, Workspace } from "#core/ports/workspace.ts";
import { appendWhole, readRange } from "./file-content.ts";
import { explain, explained, fileError, isFolder, missing } from "./file-errors.ts";
import { listFiles } from "./list-files.ts";
import { normalizePath, quoted, refuseChange } from "./path-rules.ts";
import { placeFolder } from "./place-folder.ts";
import { replaceFile } from "./replace-file.ts";
import {
  type Anchor,
  bestAnchor,
  openFile,
  openFolder,
  openPlace,
  type Place,
  requirePlainFile,
} from "./resolve-path.ts";

export interface WorkspaceOptions {
  /** May change what lies in `_goald/`, which is closed to commands. */
  readonly own?: boolean;
  /** How folders are kept from being swapped; the best that the system offers by default. */
  readonly anchor?: Anchor;
  /** What the history says of a path; without it, only what is changed here is known. */
  readonly lastVersion?: LastVersion;
}
type Version = Awaited<ReturnType<LastVersion>>;

/** `folder` is absolute; it is made by the first change. */
export function openLocalWorkspace(
  folder: string,
  onChange: (change: FileChange) => void = () => undefined,
  options: WorkspaceOptions = {},
): Workspace {
  return new LocalWorkspace(folder, onChange, options);
}

class LocalWorkspace implements Workspace {
  readonly folder: string;
  readonly #onChange: (change: FileChange) => void;
  readonly #own: boolean;
  readonly #anchor: Anchor;
  readonly #lastVersion: LastVersion | undefined;
  /** The last change of each path that was told here: the history gets to know it later. */
  readonly #told = new Map<string, Version>();

  constructor(folder: string, onChange: (change: FileChange) => void, options: WorkspaceOptions) {
    this.folder = folder;
    this.#onChange = onChange;
    this.#own = options.own === true;
    this.#anchor = options.anchor ?? bestAnchor();
    this.#lastVersion = options.lastVersion;
  }

  stat(path: string): Promise<FileStat | undefined> {
    return explained(path, async () => {
      await using place = await this.#place(path);
      if (!place?.found) return undefined;
      requirePlainFile(place.found, place.path);
      return { path: place.path, bytes: place.found.size, modifiedAt: place.found.mtime.toISOString() };
    });
  }

  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array> {
    return explained(path, async () => {
      await using place = await this.#place(path);
      if (!place?.found) throw missing(path);
      await using opened = await openFile(place, flags.O_RDONLY);
      return await readRange(opened, place.path, range);
    });
  }

  write(path: string, content: string | Uint8Array): Promise<void> {
    return explained(path, async () => {
      const bytes = toBytes(content);
      await using place = await this.#placeToChange(path);
      if (place.found) requirePlainFile(place.found, place.path);
      await replaceFile(place, this.#keyOf(place), bytes);
      this.#tell("write", place.path, bytes.length, bytes);
    });
  }

  append(path: string, content: string | Uint8Array): Promise<Pick<FileStat, "path" | "bytes">> {
    return explained(path, async () => {
      const bytes = toBytes(content);
      await using place = await this.#placeToChange(path);
      await this.#preserveBase(place);
      const size = await appendWhole(place, bytes);
      this.#tell("append", place.path, size, bytes);
      return { path: place.path, bytes: size };
    });
  }

  /** What a piece is added to must be in the history, or the piece alone would be. */
  async #preserveBase(place: Place): Promise<void> {
    const size = place.found?.size ?? 0;
    if (size === 0 || !this.#lastVersion) return;
    if ((await this.#versionOf(place.path))?.bytes === size) return;
    await using opened = await openFile(place, flags.O_RDONLY);
    const content = await readRange(opened, place.path);
    this.#tell("found", place.path, content.length, content);
  }

  truncate(path: string, bytes: number): Promise<void> {
    return explained(path, async () => {
      await using place = await this.#place(path, true);
      if (!place?.found) throw missing(path);
      await using opened = await openFile(place, flags.O_WRONLY);
      const { size } = opened.stat();
      if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > size)
        throw fileError(`${quoted(path)} has ${size} bytes and cannot be cut to ${bytes}.`, "Name a smaller size.");
      await opened.truncate(bytes);
      await opened.sync();
    });
  }

  remove(path: string, { wasThere = false }: { readonly wasThere?: boolean } = {}): Promise<boolean> {
    return explained(path, async () => {
      await using place = await this.#place(path, true);
      if (place?.found) {
        requirePlainFile(place.found, place.path);
        await place.folder.verify();
        await unlink(place.file);
        await place.folder.sync();
      } else if (!wasThere) return false;
      this.#tell("delete", place?.path ?? normalizePath(path, this.folder), 0, null);
      return place?.found !== undefined;
    });
  }

  preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
    return explained(path, async () => {
      await using place = await this.#place(path);
      if (!place?.found) return undefined;
      await using opened = await openFile(place, flags.O_RDONLY);
      const content = await readRange(opened, place.path);
      const bytes = content.length;
      const sha256 = sha256Of(content);
      const last = await this.#versionOf(place.path);
      // The size tells the hash of a whole file from that of a piece.
      if (last?.sha256 !== sha256 || last.bytes !== bytes) this.#tell("found", place.path, bytes, content, sha256);
      return { bytes, sha256 };
    });
  }

  async place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T> {
    await using place = await explained(path, () => this.#placeToChange(path));
    return await placeFolder(place, this.#keyOf(place), fill);
  }

  async *list(directory: string): AsyncIterable<FileStat> {
    try {
      const path = normalizePath(directory, this.folder);
      const folder = await openFolder(this.folder, path, false, this.#anchor);
      if (folder) yield* listFiles(this.folder, path, folder, this.#anchor);
      else if (path !== "")
        throw new GoaldError("GOALD_FILE_MISSING", `There is no folder ${quoted(directory)} in the workspace.`, {
          hint: 'The folder "" is the whole workspace.',
        });
    } catch (error) {
      throw explain(error, directory);
    }
  }

  /** undefined when a folder on the way is missing. */
  #place(path: string, change = false, make = false): Promise<Place | undefined> {
    const normal = normalizePath(path, this.folder);
    if (normal === "" || /(?:^|\/)\.{0,2}$/.test(path)) throw isFolder(path);
    if (change && !this.#own) refuseChange(normal);
    return openPlace(this.folder, normal, make, this.#anchor);
  }

  async #placeToChange(path: string): Promise<Place> {
    const place = await this.#place(path, true, true);
    if (!place) throw missing(path);
    return place;
  }

  #keyOf(place: Place): string {
    return `${this.folder}\0${dirname(place.path)}`;
  }

  async #versionOf(path: string): Promise<Version> {
    return this.#told.get(path) ?? (await this.#lastVersion?.(path));
  }

  #tell(
    operation: FileChange["operation"],
    path: string,
    bytes: number,
    content: Uint8Array | null,
    sha256: string | null = content && sha256Of(content),
  ): void {
    if (this.#lastVersion) this.#told.set(path, { operation, bytes, sha256 });
    this.#onChange({ path, operation, bytes, sha256, content });
  }
}

const sha256Of = (content: Uint8Array): string => hash("sha256", content, "hex");

const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
