/** vectors.ts -- embedders and vector indexes. */
import type { MemoryRow } from "./memory-row.ts";

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
  /** Unit vectors, one per text, in order. Rejects when the server is unavailable. */
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
