/** recall.ts -- queries to long-term memory, their results, and what a prompt shows of them. */
import type { OutsideSource } from "../provenance.ts";
import type { ClosedFact, MemoryKind, Trust } from "./memory-row.ts";
import type { CountTokens } from "./vectors.ts";

/** First character of a stretch of a row's text, and the one after its last, in UTF-16 units. */
export type TextRange = readonly [from: number, to: number];

/** A row of memory that a prompt may show. */
export interface RecalledRow {
  readonly id: string;
  /** Null for a row that no step made. */
  readonly step: number | null;
  readonly at: string;
  readonly kind: MemoryKind;
  readonly trust: Trust;
  /** `MemoryRow.seq`. */
  readonly seq?: number;
  /** Sources of the outside words that the text may hold; absent: none. */
  readonly outside?: readonly OutsideSource[];
  /** The fact was true until a newer one about the same thing was noted; absent: it holds. */
  readonly closed?: ClosedFact;
  readonly text: string;
}

export interface Recall extends RecalledRow {
  /** The relevant stretches of a long text, ascending. Absent: the whole text. */
  readonly ranges?: readonly TextRange[];
  /** The rows right before and right after it in its memory, the nearest first. Absent: none. */
  readonly around?: { readonly before: readonly RecalledRow[]; readonly after: readonly RecalledRow[] };
  /** Rows that differ from it only in numbers, the newest first. Absent: none. */
  readonly series?: { readonly rows: readonly RecalledRow[]; readonly others: number };
  /** Higher is more relevant; comparable only within one result. */
  readonly score: number;
}

/** A row that a prompt showed, whole or in part. */
export interface ShownRow {
  readonly id: string;
  /** Absent: the whole text. */
  readonly ranges?: readonly TextRange[];
}

/** A recall as a prompt showed it. It has no text, so that the log has no copy of a forgotten one. */
export interface ShownRecall extends ShownRow {
  /** Rows before and after it that were shown with it, in no order. One of them may be another recall. */
  readonly with?: readonly ShownRow[];
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
  /** Absent: nobody counts what a server's embeddings take. */
  readonly countTokens?: CountTokens;
}

export interface LongTermMemory {
  /** True when recalling may send a request. */
  readonly remote: boolean;
  /** Best first. Never fails: without an embedder it uses words alone. */
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]>;
}
