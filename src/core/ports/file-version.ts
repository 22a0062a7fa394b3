/** file-version.ts -- the history of the files that an agent makes. */

/**
 * One link in the history of a path. Any version can be restored from the rows and blobs up to it: a `write` or
 * `found` is the whole file; an `append` is what was there before, then the piece, and the piece alone when
 * `bytes` is its length; after a `delete` there is nothing.
 *
 * What a person put in place is kept (`found`) before it is overwritten or deleted, and before an append when the
 * file's size is not that of the last version. An edit of the same size that is then only appended to is not
 * noticed: telling it would take reading the whole file at each append.
 */
export interface FileChange {
  /** Relative to the agent's folder, with forward slashes. */
  readonly path: string;
  /** `found`: what lay there and is not the last version in the history (a person's edit). */
  readonly operation: "write" | "append" | "delete" | "found";
  /** Size of the file afterwards. */
  readonly bytes: number;
  /** Hash of `content`; for an append that is the piece added. Null for a delete. Computed where the change is made. */
  readonly sha256: string | null;
  /** The whole file, or the piece added; kept as a blob, so that any version can be restored. */
  readonly content: Uint8Array | null;
}

export interface FileVersion extends Omit<FileChange, "content"> {
  readonly step: number;
  readonly callId: string;
  readonly at: string;
}
