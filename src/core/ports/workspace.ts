/** workspace.ts -- the folder of one agent. */
import type { FileChange, FileVersion } from "./file-version.ts";

export interface FileStat {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: string;
}

/**
 * One agent's folder. Every path is relative to it and stays inside it whatever
 * links lie there. Failures are GoaldErrors: GOALD_PATH_REFUSED, GOALD_FILE_MISSING,
 * GOALD_FILE_TOO_LARGE, GOALD_FILE; GOALD_STORE_FULL when the disk is full.
 * Each change is told to the `onChange` that the workspace was opened with.
 */
export interface Workspace {
  /** Absolute path, for people. */
  readonly folder: string;
  /** undefined when nothing lies there; throws for a directory where a file was expected. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Bytes `offset` to `offset + length` of a regular file; the whole file by default, up to 64 MB. */
  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  /** The whole new content: temporary file, fsync, rename. Makes folders. A file that is replaced keeps its mode. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** Adds to the end, creating the file; all of it or nothing: its size then. Keeps what lay there when the history does not have it. */
  append(path: string, content: string | Uint8Array): Promise<Pick<FileStat, "path" | "bytes">>;
  /** Cuts the file to `bytes`, to take back a torn append. */
  truncate(path: string, bytes: number): Promise<void>;
  /**
   * Removes one file; false when there was none. `wasThere`: the file was there when the call began, so its
   * end is told even when it is gone already (a crash came between deleting and telling).
   */
  remove(path: string, options?: { readonly wasThere?: boolean }): Promise<boolean>;
  /**
   * A new folder with what `fill` puts into it, in one step: `fill` is given the absolute path of an empty folder, which
   * gets its name when `fill` is done and goes away when it fails. GOALD_FILE when something lies there already. The
   * files in it are not told to `onChange`.
   */
  place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T>;
  /** Keeps what lies there now in the file history, unless it is the last version there. undefined when there is nothing. */
  preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined>;
  /** Regular files below a folder, sorted by path, links not followed; "" is the root. */
  list(directory: string): AsyncIterable<FileStat>;
}

/** What the history of the folder last says about a path, which is in the form that changes are told in. */
export type LastVersion = (path: string) => Promise<Pick<FileVersion, "operation" | "bytes" | "sha256"> | undefined>;

/** Without `lastVersion`, everything that is preserved is told, and nothing is kept before an append. */
export type OpenWorkspace = (
  folder: string,
  onChange?: (change: FileChange) => void,
  options?: { readonly lastVersion?: LastVersion },
) => Workspace;
