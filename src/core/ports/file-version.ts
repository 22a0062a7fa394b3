/** file-version.ts -- the history of an agent's files. */

/**
 * One entry in the history of a path. The rows and blobs up to an entry restore the file at that point: `write` and
 * `found` contain the whole file; `append` contains the added piece, which is the whole file when `bytes` is its
 * length; after `delete` there is no file.
 *
 * A person's edit is kept (`found`) before it is overwritten or deleted, and before an append when the file's size
 * differs from the last version. An edit of the same size before an append goes unnoticed: detecting it would
 * require reading the whole file at each append.
 */
export interface FileChange {
  /** Relative to the agent's folder, with forward slashes. */
  readonly path: string;
  /** `found`: existing content that is not in the history, such as a person's edit. */
  readonly operation: "write" | "append" | "delete" | "found";
  /** Size of the file after the change. */
  readonly bytes: number;
  /** Hash of `content`; null for a delete. */
  readonly sha256: string | null;
  /** The whole file, or the appended piece; stored as a blob. */
  readonly content: Uint8Array | null;
}

export interface FileVersion extends Omit<FileChange, "content"> {
  readonly step: number;
  readonly callId: string;
  readonly at: string;
}
