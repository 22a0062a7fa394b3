/** vectors.ts -- texts as vectors, and finding the nearest ones. */
import type { MemoryRow } from "./memory-row.ts";

export interface Embedder {
  /** Stored with each vector: two embedders are never compared. Such as `hash-v2@512`. */
  readonly id: string;
  readonly dimensions: number;
  /** False when it asks a server: recall then leaves the machine. */
  readonly local: boolean;
  /** True when texts of one meaning come near each other whatever their words: then nearness ranks beside shared words. */
  readonly semantic: boolean;
  /** Unit vectors, one per text, in order. Rejects when the server cannot be had. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

/** A row found by a search. Higher scores are better. */
export interface ScoredSlot {
  readonly slot: number;
  readonly score: number;
}

/** Vectors by slot number; the caller keeps what a slot means. */
export interface VectorIndex {
  readonly size: number;
  add(slot: number, vector: Float32Array): Promise<void>;
  remove(slot: number): Promise<void>;
  /** The `count` nearest by cosine, best first; fewer when there are fewer. */
  search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]>;
  /** Gives back all that it holds, and keeps on disk what would be dear to make again. It is not used afterwards. */
  close(): Promise<void>;
}

/** What an index is of. Vectors of two embedders never lie in one. */
export interface IndexScope {
  readonly namespace: string;
  readonly embedder: string;
  readonly dimensions: number;
}

/** The rows behind the slots, for an index that has to tell somebody else what they are. */
export interface IndexedRows {
  at(slot: number): Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text">;
  /** Whether this row is to be found, its vector made or not; true of rows that were read. */
  has(id: string): boolean;
}

export type OpenIndex = (scope: IndexScope, rows: IndexedRows) => VectorIndex;
