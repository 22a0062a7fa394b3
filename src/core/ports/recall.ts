/** recall.ts -- what long-term memory answers. */
import type { MemoryKind, Trust } from "./memory-row.ts";

export interface Recall {
  readonly id: string;
  /** Null for what no step left. */
  readonly step: number | null;
  readonly at: string;
  readonly kind: MemoryKind;
  readonly trust: Trust;
  readonly text: string;
  /** Of a long text, what the question is about. */
  readonly excerpt?: string;
  /** Higher is nearer; comparable only within one answer. */
  readonly score: number;
}

export interface RecallQuery {
  readonly agent: string;
  /** Namespaces that it may read beside its own. */
  readonly others?: readonly string[];
  /** What the agent is busy with, newest last. */
  readonly texts: readonly string[];
  /** How much each text counts, 0 to 1; without them each counts a little less than the next newer one. */
  readonly weights?: readonly number[];
  readonly count: number;
  /** Steps whose messages the prompt shows already: never recalled. */
  readonly excludeSteps: ReadonlySet<number>;
}

export interface LongTermMemory {
  /** True when recalling may ask a server. */
  readonly remote: boolean;
  /** Best first. Degrades, never fails: without an embedder it answers with what it has. */
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]>;
}
