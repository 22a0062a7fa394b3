/** embedded-text.ts -- a text of a query with its vector and its last search. */
import type { ScoredSlot } from "#core/ports/memory.ts";
import type { MeasureCloseness, VectorMean } from "./vector-mean.ts";

/** A text of the query with its vector and its last search result. */
export interface EmbeddedText {
  readonly vector: Float32Array;
  /** The vector that is searched for. */
  query: Float32Array;
  mean?: VectorMean;
  measure?: MeasureCloseness;
  cached?: CachedSearch;
}

/** The rows nearest to a text, excluded rows included. */
export interface CachedSearch {
  readonly limit: number;
  /** Best first. */
  readonly hits: ScoredSlot[];
  /** Maximum number of hits. Fewer hits mean that they are all rows of the index. */
  readonly capacity: number;
  /** Value of `#added` up to which the hits are right. */
  added: number;
}

/** Inserts before hits of the same score: the newer row comes first, as in the index. */
export function insertSorted(hits: ScoredSlot[], hit: ScoredSlot): void {
  let at = hits.length;
  while (at > 0 && (hits[at - 1] as ScoredSlot).score <= hit.score) at--;
  hits.splice(at, 0, hit);
}

export const withoutExcluded = (hits: readonly ScoredSlot[], excluded: ReadonlySet<number>) =>
  hits.filter(({ slot }) => !excluded.has(slot));
