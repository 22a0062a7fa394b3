/**
 * vector-mean.ts -- how close a row is to a query apart from what the agent's rows have in common.
 *
 * The rows have much in common, and so have their vectors: their mean is subtracted from rows and queries, as Mu and Viswanath
 * (2018) do with words. Everything follows from the rows and their order.
 */
import { centreVector, dot, meanOf, NOTHING } from "../vectors/unit-vector.ts";

const SAMPLE_ROWS = 256;
const MIN_SAMPLE_ROWS = 4;
/** Closeness of a cosine. Chosen on the dev half of test/data/memory. */
const CLOSENESS_FACTOR = 2;

/** Returns 0 for a row like any other, up to 2. `scoreOf` returns the dot product of the row's unit vector with another vector. */
export type MeasureCloseness = (scoreOf: (vector: Float32Array) => number | undefined) => number;

export class VectorMean {
  readonly #mean: Float32Array;
  readonly #squared: number;

  constructor(vectors: readonly Float32Array[]) {
    this.#mean = meanOf(vectors, vectors[0]?.length ?? 0);
    this.#squared = dot(this.#mean, this.#mean);
  }

  /** Returns the query to search with, or undefined for one that is like the mean of all rows. */
  centre(query: Float32Array): Float32Array | undefined {
    return centreVector(query, this.#mean);
  }

  /** `centred` is a result of `centre`. */
  compare(centred: Float32Array): MeasureCloseness {
    const shift = dot(centred, this.#mean);
    return (scoreOf) => {
      const score = scoreOf(centred);
      if (score === undefined) return 0;
      const squared = 1 - 2 * (scoreOf(this.#mean) as number) + this.#squared;
      return squared < NOTHING ? 0 : Math.max(0, (CLOSENESS_FACTOR * (score - shift)) / Math.sqrt(squared));
    };
  }
}

/**
 * Returns the mean of a sample of the first 2^n slots of `slots`, with the largest n that is filled, so that the result does not
 * depend on when it is measured. Undefined when there are too few vectors.
 */
export function measureMean(
  slots: number,
  vectorOf: (slot: number) => Float32Array | undefined,
): VectorMean | undefined {
  const size = 2 ** Math.floor(Math.log2(Math.max(1, slots)));
  const step = Math.max(1, size / SAMPLE_ROWS);
  const sample: Float32Array[] = [];
  const take = (slot: number): void => {
    const vector = vectorOf(slot);
    // A vector of the index is valid until the next call.
    if (vector) sample.push(Float32Array.from(vector));
  };
  for (let slot = 0; slot < size; slot += step) take(slot);
  // Vectors that are being made are those of the newest rows first.
  for (let slot = slots - 1; slot >= 0 && sample.length < MIN_SAMPLE_ROWS; slot--)
    if (slot >= size || slot % step !== 0) take(slot);
  return sample.length < MIN_SAMPLE_ROWS ? undefined : new VectorMean(sample);
}
