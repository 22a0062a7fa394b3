/** file-version.ts -- the history of an agent's files. */
import type { OutsideSource } from "../provenance.ts";

/**
 * One entry in the history of a path. The rows and blobs up to an entry restore the file at that point: `write` and
 * `found` contain the whole file; `append` contains the added piece, which is the whole file when `bytes` is its
 * length; after `delete` there is no file. `place` and `trust` hold no content: `place` says that a folder came as a whole, such
 * as a clone, and `trust` that a person trusts the words of the file, or of the files in the placed folder.
 *
 * A person's edit is kept (`found`) before it is overwritten or deleted, and before an append when the file's size
 * differs from the last version. An edit of the same size before an append goes unnoticed: detecting it would
 * require reading the whole file at each append.
 */
export interface FileChange {
  /** Relative to the agent's folder, with forward slashes. */
  readonly path: string;
  /** `found`: existing content that is not in the history, such as a person's edit. */
  readonly operation: "write" | "append" | "delete" | "found" | "place" | "trust";
  /** Size of the file after the change. */
  readonly bytes: number;
  /** Hash of `content`; null for a delete and a folder. */
  readonly sha256: string | null;
  /** The whole file, or the appended piece; stored as a blob. */
  readonly content: Uint8Array | null;
}

export interface FileVersion extends Omit<FileChange, "content"> {
  readonly step: number;
  readonly callId: string;
  readonly at: string;
  /** Sources of the outside words that the file holds; absent: none. */
  readonly outside?: readonly OutsideSource[];
}

/** A version with the number of the event that it was committed with. */
export interface LastFileVersion extends FileVersion {
  readonly seq: number;
}

/** False for a row that only says something about the words in a path. */
export const holdsContent = ({ operation }: Pick<FileChange, "operation">): boolean =>
  operation !== "place" && operation !== "trust";
