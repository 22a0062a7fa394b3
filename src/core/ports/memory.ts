/** memory.ts -- rows of long-term memory, recalls of them, their vectors, and the search for methods. */
import type { LineRange } from "../memory.ts";
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
  /**
   * Hash of what a fact is about; absent for rows that are not a fact with a subject and an attribute. Of rows with the same key
   * and trust in a namespace each closes the one before it.
   */
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
type Optional = "outside" | "factKey";

export interface MemoryRow
  extends Required<Omit<NewMemory, Nullable | Optional | "replaces">>,
    Pick<MemoryContent, Optional> {
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
 * again after a person has forgotten or corrected it. It keeps the pin of the rows that it replaces.
 *
 * `copies`: the change also replaces or forgets every row of the namespace that says the same (core/memory.ts). Rows that
 * say the same as a corrected one and are added later, by others than a person, are replaced at once.
 */
export type MemoryChange =
  | ({ readonly op: "add"; readonly copies?: boolean; readonly pinned?: boolean } & MemoryContent)
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

/** First character of a stretch of a row's text, and the one after its last, in UTF-16 units. */
export type TextRange = readonly [from: number, to: number];

/** A row of memory that a prompt may show. */
export interface RecalledRow
  extends Pick<MemoryRow, "id" | "step" | "at" | "kind" | "trust" | "outside" | "closed" | "text"> {
  /** `MemoryRow.seq`. */
  readonly seq?: number;
  /** The sentence of a long text that fits the query best. Absent: the text is short, or no sentence fits. */
  readonly focus?: TextRange;
  /** A prompt shows these stretches of the text, ascending. Absent: all of it. */
  readonly ranges?: readonly TextRange[];
}

/** A row that matches a query, with the rows that a prompt may show with it. */
export interface Recall extends RecalledRow {
  /** Rows right before and after it in its memory, on each side the nearest first. Absent: none. */
  readonly around?: readonly RecalledRow[];
  /** Rows that differ from it only in numbers, the newest first, and the number of further ones. Absent: none. */
  readonly series?: { readonly rows: readonly RecalledRow[]; readonly others: number };
  /** Higher is more relevant; comparable only within one result. */
  readonly score: number;
}

/** A recall, or a row shown with it, as the log records it: without its text, so that the log has no copy of a forgotten one. */
export interface ShownRecall {
  readonly id: string;
  /** Absent: the whole text. */
  readonly ranges?: readonly TextRange[];
  /** Rows before and after it, in no order. One of them may be another recall. */
  readonly with?: readonly Pick<ShownRecall, "id" | "ranges">[];
  /** Rows whose numbers its line lists, the newest first. */
  readonly series?: readonly string[];
  /** Further rows of the series, which the line counts. */
  readonly others?: number;
}

export interface RecallQuery {
  readonly agent: string;
  /** Further namespaces that the agent may read. */
  readonly others?: readonly string[];
  /** Recent texts of the agent, newest last. */
  readonly texts: readonly string[];
  /** Weight of each text, 0 to 1. Defaults to weights that fall slowly with age. */
  readonly weights?: readonly number[];
  /** Maximum number of recalls. With 0 nothing is searched and nothing is embedded. */
  readonly count: number;
  /** Steps that the prompt already shows; never recalled. */
  readonly excludeSteps: ReadonlySet<number>;
  /** Turns whose whole memory the prompt shows: of their steps and pieces only what others said is recalled. Default: none. */
  readonly shownTurns?: readonly { readonly afterStep: number; readonly upToStep: number }[];
  /**
   * Commands that wait for a sub-task: the rows of their earlier sub-tasks, which are of steps after `step` and from events before
   * `seq`, are not recalled. Default: none.
   */
  readonly waiting?: readonly { readonly step: number; readonly seq: number }[];
  /** Absent: nobody counts what a server's embeddings take. */
  readonly countTokens?: CountTokens;
}

export interface LongTermMemory {
  /** True when recalling may send a request. */
  readonly remote: boolean;
  /** Best first. Never fails: without an embedder it uses words alone. */
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]>;
}

/** Called with the tokens that a server has charged for embeddings. */
export type CountTokens = (tokens: number) => void;

export interface Embedder {
  /** Stored with each vector, such as `words-v1@192`. Vectors of two embedders are never compared. */
  readonly id: string;
  readonly dimensions: number;
  /** False when the embedder sends texts to a server. */
  readonly local: boolean;
  /** True when texts of similar meaning get similar vectors even without shared words. */
  readonly semantic: boolean;
  /** True when a vector costs no request and about 0.1 ms: such vectors are not saved in the store. Default: false. */
  readonly isInstant?: boolean;
  /** Unit vectors, or with NaN for want of one; one per text, in order. Rejects when the server is unavailable. */
  embed(texts: readonly string[], signal: AbortSignal, countTokens?: CountTokens): Promise<readonly Float32Array[]>;
}

/** A row found by a search. Higher scores are better. */
export interface ScoredSlot {
  readonly slot: number;
  readonly score: number;
}

/** Vectors by slot number. The caller maps slots to rows. */
export interface VectorIndex {
  readonly size: number;
  /** Copies the vector. */
  add(slot: number, vector: Float32Array): Promise<void>;
  remove(slot: number): Promise<void>;
  /** Returns the unit vector of a slot, valid until the next change. */
  vectorOf(slot: number): Float32Array | undefined;
  /** Returns the dot product of a slot's unit vector with another vector: the cosine if that is a unit vector. */
  scoreOf(slot: number, vector: Float32Array): number | undefined;
  /** The `count` nearest by cosine, best first; fewer when there are fewer. */
  search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]>;
  /** Releases all resources. The index cannot be used afterwards. */
  close(): Promise<void>;
}

/** Identifies an index. An index never mixes vectors of two embedders. */
export interface IndexScope {
  readonly namespace: string;
  readonly embedder: string;
  readonly dimensions: number;
  /** True when the vectors are rounded to 8-bit numbers already. Default: false. */
  readonly isRounded?: boolean;
}

/** The rows behind the slots, for an index that sends metadata to a remote service. */
export interface IndexedRows {
  at(slot: number): Pick<MemoryRow, "id">;
  /** Reads a row from the store. Returns undefined when it may not be recalled any more. */
  read(id: string): Promise<Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text"> | undefined>;
  /** True while the row exists and may be recalled, with or without a vector. */
  has(id: string): boolean;
}

export type OpenIndex = (scope: IndexScope, rows: IndexedRows) => VectorIndex;

export interface MethodText {
  readonly name: string;
  /** Signature and docstring. */
  readonly text: string;
  /** True for what the home brings. It comes before a shipped command that fits about as well. Default: false. */
  readonly isOwn?: boolean;
}

export interface MethodQuery {
  readonly description: string;
  /** Maximum number of results. From the fourth on, methods that fit much worse than the best one are left out. */
  readonly count: number;
  /** Methods that may be found. Default: all. */
  isAllowed?(name: string): boolean;
  /** True: the description is a name that does not exist, and only methods that it may mean are found. */
  readonly isName?: boolean;
  /** Counts what a server's embeddings take. Absent: nothing is sent, and words and offline vectors decide. */
  readonly countTokens?: CountTokens;
}

export interface MethodIndex {
  /** True when a search with `countTokens` may send requests. */
  readonly remote: boolean;
  /**
   * Names of the methods that fit, best first: at least three if so many are allowed. Never fails: without an embedder it uses
   * words alone. The index of a list is kept while the list exists.
   */
  search(methods: readonly MethodText[], query: MethodQuery, signal: AbortSignal): Promise<readonly string[]>;
}

export interface FoundMethod {
  /** Name of the command, or of the Python function. */
  readonly name: string;
  /** In the language of the code that searches; Python when no code does. */
  readonly signature: string;
  readonly doc: string;
}
/** Search among the functions that the agent may call. */
export interface MethodSearch {
  /** Best first; empty when none fits. */
  find(description: string, signal: AbortSignal): Promise<readonly FoundMethod[]>;
}
