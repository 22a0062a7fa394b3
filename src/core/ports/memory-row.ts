/** memory-row.ts -- rows of long-term memory, and changes that people make to them. */
import type { LineRange } from "../memory-piece.ts";
import type { OutsideSource } from "../provenance.ts";

/** Whose words a row contains. `file`: a file that a person provided; `web`: anybody's. */
export type Trust = "person" | "agent" | "goald" | "file" | "web";

/** `forgetting`: the agent hid the row that this one supersedes. Such a row is never recalled itself. */
export type MemoryKind = "step" | "turn" | "fact" | "note" | "file_chunk" | "reflection" | "piece" | "forgetting";

/** A fact that was true until a newer one about the same thing was noted. */
export interface ClosedFact {
  /** `MemoryRow.id` of the newer fact. */
  readonly by: string;
  /** Step of the newer fact; null when no step made it. */
  readonly step: number | null;
}

interface MemoryContent {
  readonly kind: MemoryKind;
  readonly text: string;
  /** 0 to 1, set by rule and never by a model. */
  readonly importance: number;
  readonly trust: Trust;
  /** `MemoryRow.id` in the same namespace. This row replaces that one, which is never recalled again. */
  readonly supersedes?: string;
  /** Identity for repeated ingestion, such as a hash of source and text. */
  readonly key?: string;
  /** The file, page or call that has the text. */
  readonly source?: string;
  /** Sources of the outside words that the text may hold; absent: none. */
  readonly outside?: readonly OutsideSource[];
  /** Hash of what a fact is about. Of rows with the same key and trust in a namespace each closes the one before it. */
  readonly factKey?: string;
}

export interface NewMemory extends MemoryContent {
  /** Number of the event that it was made from, in the same commit. */
  readonly seq: number;
  readonly step: number;
  /** Id of the agent. */
  readonly namespace: string;
  /**
   * Live pieces of this source within these lines are superseded by this row, unless the commit has a piece with their key.
   * Without lines: all of them. Not stored.
   */
  readonly replaces?: { readonly source: string; readonly lines?: LineRange };
}

type Nullable = "step" | "supersedes" | "key" | "source";
export interface MemoryRow extends Required<Omit<NewMemory, Nullable | "outside" | "factKey" | "replaces">> {
  /**
   * `<agent>/<seq>` for a row made from an event, `<agent>/<seq>.<n>` (n from 1) for one staged with it, and
   * `<namespace>/+<n>` for one that a person added. `seq` is then the last event before it, 0 in the shared memory.
   */
  readonly id: string;
  /** Null for a row that no step made. */
  readonly step: number | null;
  readonly at: string;
  /** Increasing number within the namespace. Every change to a row, except to its vector, gives it the next one. */
  readonly change: number;
  readonly supersedes: string | null;
  /** The row that replaced this one, which is then never recalled. */
  readonly supersededBy: string | null;
  readonly key: string | null;
  readonly source: string | null;
  /** Sources of the outside words that the text may hold; absent: none. */
  readonly outside?: readonly OutsideSource[];
  /** Absent for rows that are not a fact with a subject and an attribute. */
  readonly factKey?: string;
  /** Absent for a fact that holds. */
  readonly closed?: ClosedFact;
  /** A person wants it recalled for every query. */
  readonly pinned: boolean;
  /** Never recalled, text and vector erased, because a person said so or the source no longer contains it. */
  readonly forgotten: "person" | "source" | null;
  /** Embedder of the vector; null while the vector is pending. */
  readonly embedder: string | null;
  readonly vector: Float32Array | null;
}

/**
 * A change by a person or by ingestion. A row with a key is added only when no row with this key exists, and never
 * again after a person has forgotten or corrected it.
 *
 * `copies`: the change also replaces or forgets every row of the namespace that says the same (core/same-statement.ts). Rows that
 * say the same as a corrected one and are added later, by others than a person, are replaced at once.
 */
export type MemoryChange =
  | ({ readonly op: "add"; readonly copies?: boolean } & MemoryContent)
  | { readonly op: "pin" | "unpin"; readonly id: string }
  | { readonly op: "forget"; readonly id: string; readonly by: "person" | "source"; readonly copies?: boolean };

/** Result of one `MemoryChange`: the row's id, and whether the change had an effect. */
export interface MemoryChanged {
  readonly id: string;
  readonly isNew: boolean;
  /** Other rows that were replaced or forgotten, because they say the same. Absent: none. */
  readonly copies?: readonly string[];
  /** Rows that resemble the changed one or come from the same event, and were left as they are. Absent: none. */
  readonly alike?: readonly string[];
}

/** A state of a namespace's memory, without its vectors. */
export interface MemoryVersion {
  /** Number of the last event, and of the last change by people; 0 for none. */
  readonly seq: number;
  readonly curation: number;
  /**
   * Hash of the agent's log and of the changes by people up to there. Another agent of the same id has another one, and so has a
   * store that was restored from a backup and went on.
   */
  readonly sha: string;
}

/** A memory that may exist in a remote index. Recorded before it is sent, and kept until it is deleted there. */
export interface RemoteRow {
  /** `MemoryRow.id`. */
  readonly id: string;
  /** Hash of the embedder, text and vector that were sent. */
  readonly version: string;
  /** The remote index confirmed it. */
  readonly isSent: boolean;
}
