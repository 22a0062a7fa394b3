/** recall.ts -- queries to long-term memory and their results. */
import type { OutsideSource } from "../provenance.ts";
import type { ClosedFact, MemoryKind, Trust } from "./memory-row.ts";
import type { EmbeddingPurse } from "./vectors.ts";

export interface Recall {
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
  /** The relevant part of a long text. */
  readonly excerpt?: string;
  /** Higher is more relevant; comparable only within one result. */
  readonly score: number;
}

export interface RecallQuery {
  readonly agent: string;
  /** Further namespaces that the agent may read. */
  readonly others?: readonly string[];
  /** Recent texts of the agent, newest last. */
  readonly texts: readonly string[];
  /** Weight of each text, 0 to 1. Defaults to weights that fall slowly with age. */
  readonly weights?: readonly number[];
  readonly count: number;
  /** Steps that the prompt already shows; never recalled. */
  readonly excludeSteps: ReadonlySet<number>;
  /** Pays for a server's embeddings. Absent: they are limited by the host alone. */
  readonly purse?: EmbeddingPurse;
}

export interface LongTermMemory {
  /** True when recalling may send a request. */
  readonly remote: boolean;
  /** Best first. Never fails: without an embedder it uses words alone. */
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]>;
}
