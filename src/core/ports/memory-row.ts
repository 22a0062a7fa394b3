/** memory-row.ts -- rows of long-term memory, and what people change in them. */

/** `file`: what a person handed over to be read; `web`: what anybody may have written. */
export type Trust = "person" | "agent" | "goald" | "file" | "web";

export type MemoryKind = "step" | "fact" | "note" | "file_chunk" | "reflection";

interface MemoryContent {
  readonly kind: MemoryKind;
  readonly text: string;
  /** 0..1, by rule, never by a model. */
  readonly importance: number;
  readonly trust: Trust;
  /** `MemoryRow.id` of a row of the same namespace that this one takes the place of: that one is never recalled again. */
  readonly supersedes?: string;
  /** What it is known by, such as a hash of where it was read and what it says. */
  readonly key?: string;
  /** The file or page that it was read from. */
  readonly source?: string;
}

export interface NewMemory extends MemoryContent {
  /** The event that it was made from, one of the same commit. */
  readonly seq: number;
  readonly step: number;
  /** The agent's id. */
  readonly namespace: string;
}

export interface MemoryRow extends Required<Omit<NewMemory, "step" | "supersedes" | "key" | "source">> {
  /**
   * `<agent>/<seq>`; for those that were staged with the event `<agent>/<seq>.<n>`, n from 1; for those that a person
   * put there `<namespace>/+<n>`. `seq` is then the last event before it, 0 in the shared memory.
   */
  readonly id: string;
  /** Null for what no step left. */
  readonly step: number | null;
  readonly at: string;
  /** Counted within the namespace, never given twice; a row that changes gets the next one, all but its vector. */
  readonly change: number;
  readonly supersedes: string | null;
  /** The row that took its place: this one is not to be recalled. */
  readonly supersededBy: string | null;
  readonly key: string | null;
  readonly source: string | null;
  /** A person wants it recalled whatever the question. */
  readonly pinned: boolean;
  /** Not to be recalled, and its text and vector are gone: a person said so, or its source says it no more. */
  readonly forgotten: "person" | "source" | null;
  /** Which embedder made the vector; null while it is pending. */
  readonly embedder: string | null;
  readonly vector: Float32Array | null;
}

/**
 * What a person, or the reading of files, changes in a namespace. A row that is known by a key is added once: while one with
 * this key lives, and for ever when a person forgot or corrected one.
 */
export type MemoryChange =
  | ({ readonly op: "add" } & MemoryContent)
  | { readonly op: "pin" | "unpin"; readonly id: string }
  | { readonly op: "forget"; readonly id: string; readonly by: "person" | "source" };

/** Of one `MemoryChange`: the row that it is about, and whether that row is other than before. */
export interface MemoryChanged {
  readonly id: string;
  readonly isNew: boolean;
}

/** A memory that may lie in an index of somebody else's: noted before it is sent there, until it is deleted there. */
export interface RemoteRow {
  /** `MemoryRow.id`. */
  readonly id: string;
  /** Of what was sent: its embedder, text and vector. */
  readonly version: string;
  /** Whether it was seen to arrive. */
  readonly isSent: boolean;
}
