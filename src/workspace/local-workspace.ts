/**
 * local-workspace.ts -- implements the workspace port with a folder on the local disk.
 *
 * Each operation checks the path's text (path-rules.ts), resolves its folders (resolve-path.ts) and touches plain files
 * only. A change is durable before `onChange` receives it with its content, so that the history can keep every version.
 * `truncate` is not reported, because it undoes an append that was never reported.
 *
 * `lastVersion` and the changes reported since decide whether the history has a file's content: compared by hash before
 * a file is lost, by size alone before an append, whose cost must not grow with the file.
 */
import { constants as flags, lstatSync, renameSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { FileStat, LastVersion, Workspace } from "#core/ports/workspace.ts";
import { appendWhole, encodeContent, readPlace, replaceFile, sha256Of, truncateFile } from "./file-content.ts";
import { fileError, fileMissing, notAFile, toFileError, withFileErrors } from "./file-errors.ts";
import { type FolderQuota, type Growth, measureTree, NO_QUOTA } from "./folder-quota.ts";
import { listFiles } from "./list-files.ts";
import { normalizePath, quotePath, refuseChange, refuseUnseenMarks } from "./path-rules.ts";
import { placeFolder, removeWhole } from "./place-folder.ts";
import {
  type FilePlace,
  openFile,
  openFolder,
  openPlace,
  type Purpose,
  refuseNewRepository,
  requirePlainFile,
} from "./resolve-path.ts";

export interface WorkspaceOptions {
  /** Allows changes in `_goald/`, which commands must not change. */
  readonly own?: boolean;
  /** Limits the size of the folder. Without it there is no limit. */
  readonly quota?: FolderQuota;
  /** Looks up the latest version of a path in the history. Without it, changes by others are not preserved. */
  readonly lastVersion?: LastVersion;
  /** Folder outside the workspace that `place` needs: it fills new folders there. It belongs to this process alone. */
  readonly staging?: string;
}
/** `folder` is absolute; the first change creates it. */
export function openLocalWorkspace(
  folder: string,
  onChange: (change: FileChange) => void = () => undefined,
  options: WorkspaceOptions = {},
): Workspace {
  return new LocalWorkspace(folder, onChange, options);
}

class LocalWorkspace implements Workspace {
  readonly folder: string;
  readonly #own: boolean;
  readonly #quota: FolderQuota;
  readonly #changes: ReturnType<typeof createReporter>;
  readonly #staging: string | undefined;

  constructor(folder: string, onChange: (change: FileChange) => void, options: WorkspaceOptions) {
    this.folder = folder;
    this.#own = options.own === true;
    this.#quota = options.quota ?? NO_QUOTA;
    this.#changes = createReporter(onChange, options.lastVersion, this.#quota);
    this.#staging = options.staging;
  }

  plainPath(path: string): string {
    return normalizePath(path, this.folder);
  }

  stat(path: string): Promise<FileStat | undefined> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path);
      if (!place?.found) return undefined;
      requirePlainFile(place.found, place.path);
      return { path: place.path, bytes: place.found.size, modifiedAt: place.found.mtime.toISOString() };
    });
  }

  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path);
      if (!place?.found) throw fileMissing(path);
      return await readPlace(place, range);
    });
  }

  write(path: string, content: string | Uint8Array): Promise<void> {
    return withFileErrors(path, async () => {
      const bytes = encodeContent(content);
      await using place = await this.#placeToChange(path);
      if (place.found) requirePlainFile(place.found, place.path);
      await this.#changes.requireRoom(place.path, bytes.length);
      const growth = { bytes: bytes.length - (place.found?.size ?? 0), files: place.found ? 0 : 1 };
      await this.#quota.admit(place.path, growth, () => replaceFile(place, this.#keyOf(place), bytes));
      this.#changes.report("write", place.path, bytes.length, bytes);
    });
  }

  append(path: string, content: string | Uint8Array): Promise<Pick<FileStat, "path" | "bytes">> {
    return withFileErrors(path, async () => {
      const bytes = encodeContent(content);
      await using place = await this.#placeToChange(path);
      await this.#preserveBase(place);
      await this.#changes.requireRoom(place.path, bytes.length);
      const growth = { bytes: bytes.length, files: place.found ? 0 : 1 };
      const size = await this.#quota.admit(place.path, growth, () => appendWhole(place, bytes));
      this.#changes.report("append", place.path, size, bytes);
      return { path: place.path, bytes: size };
    });
  }

  /** Reports the content before an append if the history lacks it; else the history would hold only the appended part. */
  async #preserveBase(place: FilePlace): Promise<void> {
    const size = place.found?.size ?? 0;
    if (size === 0 || !this.#changes.hasHistory) return;
    if ((await this.#changes.versionOf(place.path))?.bytes === size) return;
    const content = await readPlace(place);
    this.#changes.report("found", place.path, content.length, content);
  }

  truncate(path: string, bytes: number): Promise<void> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path, "change");
      if (!place?.found) throw fileMissing(path);
      await using opened = await openFile(place, flags.O_WRONLY);
      await truncateFile(opened, path, bytes);
    });
  }

  remove(path: string, { wasThere = false }: { readonly wasThere?: boolean } = {}): Promise<boolean> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path, "change");
      if (place?.found) {
        requirePlainFile(place.found, place.path);
        await place.folder.verify();
        await this.#quota.admit(place.path, { bytes: -place.found.size, files: -1 }, () => unlink(place.file));
        await place.folder.sync();
      } else if (!wasThere) return false;
      this.#changes.report("delete", place?.path ?? normalizePath(path, this.folder), 0, null);
      return place?.found !== undefined;
    });
  }

  removeWhole(path: string): Promise<Growth | undefined> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path, "change");
      if (!place?.found) return undefined;
      const { paths, ...removed } = await removeWhole(place, this.#quota);
      await this.#changes.reportRemoved(paths);
      return removed;
    });
  }

  async move(from: string, to: string): Promise<void> {
    await using source = await withFileErrors(from, () => this.#place(from, "change"));
    if (!source?.found) throw fileMissing(from);
    const content = await withFileErrors(from, () => readPlace(source));
    await using target = await withFileErrors(to, () => this.#placeToChange(to));
    await withFileErrors(to, () => moveFile(source, target));
    this.#changes.report("write", target.path, content.length, content);
    this.#changes.report("delete", source.path, 0, null);
  }

  preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
    return withFileErrors(path, async () => {
      await using place = await this.#place(path, "change");
      if (!place?.found) return undefined;
      const content = await readPlace(place);
      const bytes = content.length;
      const sha256 = sha256Of(content);
      const last = await this.#changes.versionOf(place.path);
      // A version of an append has the hash of its part, but the size of the whole file.
      if (last?.sha256 !== sha256 || last.bytes !== bytes) {
        await this.#changes.requireRoom(place.path, bytes);
        this.#changes.report("found", place.path, bytes, content, sha256);
      }
      return { bytes, sha256 };
    });
  }

  async place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T> {
    await using place = await withFileErrors(path, () => this.#placeToChange(path));
    const staging = this.#staging;
    if (staging === undefined)
      throw new GoaldError("GOALD_INTERNAL", "This workspace has no folder to fill others in.");
    const filled = await placeFolder({ place, key: this.#keyOf(place), staging }, async (folder) => {
      await this.#quota.requireRoom(place.path);
      const result = await fill(folder);
      return this.#quota.admit(place.path, await measureTree(folder), async () => result);
    });
    this.#changes.report("place", place.path, 0, null);
    return filled;
  }

  async notePlaced(path: string): Promise<void> {
    this.#changes.report("place", normalizePath(path, this.folder), 0, null);
  }

  async *list(directory: string, entered?: (folder: string) => boolean): AsyncIterable<FileStat> {
    try {
      const path = normalizePath(directory, this.folder);
      const folder = await openFolder(this.folder, path, "read");
      if (folder) yield* listFiles(this.folder, path, folder, entered);
      else if (path !== "")
        throw new GoaldError("GOALD_FILE_MISSING", `There is no folder ${quotePath(directory)} in the workspace.`, {
          hint: 'The folder "" is the whole workspace.',
        });
    } catch (error) {
      throw toFileError(error, directory);
    }
  }

  /** Returns undefined when a folder on the way is missing. */
  #place(path: string, purpose: Purpose = "read"): Promise<FilePlace | undefined> {
    const normal = normalizePath(path, this.folder);
    if (normal === "" || /(?:^|\/)\.{0,2}$/.test(path)) throw notAFile(path);
    if (purpose !== "read") refuseChange(normal, this.#own);
    if (purpose === "make" && !this.#own) refuseUnseenMarks(normal);
    return openPlace(this.folder, normal, purpose);
  }

  async #placeToChange(path: string): Promise<FilePlace> {
    const place = await this.#place(path, "make");
    if (!place) throw fileMissing(path);
    return place;
  }

  #keyOf(place: FilePlace): string {
    return `${this.folder}\0${dirname(place.path)}`;
  }
}

/** Undefined when the history has none. */
type LatestVersion = Awaited<ReturnType<LastVersion>>;

function createReporter(
  onChange: (change: FileChange) => void,
  lastVersion: LastVersion | undefined,
  quota: FolderQuota,
) {
  /** The last reported change of each path, which the history may not have stored yet. */
  const reported = new Map<string, LatestVersion>();
  /** Bytes of contents that were reported, and perhaps not stored yet. */
  let newBytes = 0;

  const versionOf = async (path: string): Promise<LatestVersion> => reported.get(path) ?? (await lastVersion?.(path));

  function report(
    operation: FileChange["operation"],
    path: string,
    bytes: number,
    content: Uint8Array | null,
    sha256: string | null = content && sha256Of(content),
  ): void {
    newBytes += content?.length ?? 0;
    if (lastVersion) reported.set(path, { operation, bytes, sha256 });
    onChange({ path, operation, bytes, sha256, content });
  }

  return {
    hasHistory: lastVersion !== undefined,
    versionOf,
    report,
    /** Throws GOALD_QUOTA_EXCEEDED when the history cannot take these further bytes. */
    requireRoom: (path: string, bytes: number) => quota.requireHistory(path, newBytes + bytes),
    /** Reports the removal of those that the history knows. */
    async reportRemoved(paths: readonly string[]): Promise<void> {
      for (const path of paths)
        if (((await versionOf(path))?.operation ?? "delete") !== "delete") report("delete", path, 0, null);
    },
  };
}

/**
 * Renames a file inside the workspace and replaces none. The checks and the rename are synchronous, because a rename
 * would replace a file.
 */
async function moveFile(from: FilePlace, to: FilePlace): Promise<void> {
  await from.folder.verify();
  await to.folder.verify();
  requirePlainFile(lstatSync(from.file), from.path);
  if (lstatSync(to.file, { throwIfNoEntry: false }))
    throw fileError(`${quotePath(to.path)} exists already.`, "Choose another name.");
  refuseNewRepository(to.folder, basename(to.path), to.path);
  renameSync(from.file, to.file);
  await to.folder.sync();
  await from.folder.sync();
}
