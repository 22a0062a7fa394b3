/** workspace.ts -- the files of one agent. */
import type { FileChange, FileVersion } from "./store.ts";

export interface FileStat {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: string;
  /** Number of the inode; only `list` returns it, where the file system has one. A write replaces the file, and so changes it. */
  readonly inode?: number;
}

/**
 * A workspace is one agent's folder. Paths are relative to it and cannot leave it, even through links. Failures are
 * GoaldErrors: GOALD_PATH_REFUSED, GOALD_FILE_MISSING, GOALD_FILE_TOO_LARGE, GOALD_QUOTA_EXCEEDED, GOALD_FILE;
 * GOALD_STORE_FULL when the disk is full. Each change is passed to the `onChange` callback of `OpenWorkspace`.
 */
export interface Workspace {
  /** Absolute path, for people. */
  readonly folder: string;
  /** The path in the one form that the file history uses. Reads no disk; throws GOALD_PATH_REFUSED. */
  plainPath(path: string): string;
  /** undefined when there is no file; throws for a directory. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Bytes `offset` to `offset + length` of a regular file; the whole file by default, up to 64 MB. */
  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  /** Replaces the whole file: temporary file, fsync, rename. Creates folders and keeps the file's mode. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** Appends all of `content` or nothing, creating the file, and returns the new size. Preserves content unknown to the history. */
  append(path: string, content: string | Uint8Array): Promise<Pick<FileStat, "path" | "bytes">>;
  /** Truncates the file to `bytes`, to undo a torn append. */
  truncate(path: string, bytes: number): Promise<void>;
  /**
   * Deletes one file; false when there was none. `wasThere`: the file existed when the call began, so the change
   * is reported even if the file is gone already (a crash came between deletion and commit).
   */
  remove(path: string, options?: { readonly wasThere?: boolean }): Promise<boolean>;
  /**
   * Deletes a file of any size, or a folder with everything in it, and keeps nothing of it. Resolves to what was deleted;
   * undefined when there was nothing. Reports the removal of files that the history knows.
   */
  removeWhole(path: string): Promise<{ readonly bytes: number; readonly files: number } | undefined>;
  /**
   * Renames one file, which keeps its content and mode, and creates folders. Reports the write of `to` and the removal
   * of `from`. GOALD_FILE when `to` exists.
   */
  move(from: string, to: string): Promise<void>;
  /**
   * Creates a folder atomically. `fill` receives the absolute path of an empty private folder outside the workspace. On
   * success its files are checked and it is moved to `path`; on failure it is deleted. GOALD_FILE when `path` exists,
   * GOALD_PATH_REFUSED for links and forbidden names in it. `onChange` receives the folder, and no file in it.
   */
  place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T>;
  /** Adds a folder to the history that `place` created before a crash. */
  notePlaced(path: string): Promise<void>;
  /** Adds a file that is about to change to the history, unless it is the last version. undefined when there is no file. */
  preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined>;
  /** Regular files below a folder, sorted by path, without following links; "" is the root. Folders not `entered` are skipped. */
  list(directory: string, entered?: (folder: string) => boolean): AsyncIterable<FileStat>;
}

/** A bounded look at an agent's folder. */
export interface FolderSight {
  /** Newest first. */
  readonly newest: readonly FileStat[];
  /** Number of other files that were looked at. */
  readonly others: number;
  /** The folder has more entries than were looked at. */
  readonly isPartial: boolean;
}

export type LastVersion = (path: string) => Promise<Pick<FileVersion, "operation" | "bytes" | "sha256"> | undefined>;

/** Without `lastVersion`, `preserve` always reports a change, and `append` preserves nothing. */
export type OpenWorkspace = (
  folder: string,
  onChange?: (change: FileChange) => void,
  options?: { readonly lastVersion?: LastVersion },
) => Workspace;
