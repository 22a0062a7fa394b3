/** embedded-text.ts -- a text of a query with its vector and its last search. */
import type { ScoredSlot } from "#core/ports/vectors.ts";
import type { MeasureCloseness, VectorBackground } from "./vector-background.ts";

/** A text of the query with its vector and its last search result. */
export interface EmbeddedText {
  readonly vector: Float32Array;
  /** The vector that is searched for. */
  query: Float32Array;
  background?: VectorBackground;
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
