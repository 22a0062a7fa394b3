/**
 * vector-background.ts -- how near an agent's rows are to each other, so that a cosine says whether a row stands out.
 *
 * An agent's rows have much in common, and so have their vectors: the mean of the rows is subtracted from rows and queries, as Mu
 * and Viswanath (2018) do with words. A row is close to a query when its cosine is well above those of a sample of rows, measured in
 * standard deviations.
 *
 * The embedder's strength on these rows is the correlation of cosines with shared words over all pairs of a sample: 0 for a
 * random or a constant embedder, 0.4 to 0.9 for useful ones. With a weak embedder a row must be farther out than the
 * farthest of as many random numbers would be, so that only vectors which cannot be chance change the order of the words.
 *
 * Everything follows from the rows and their order. The measurement costs at most 2,016 comparisons of pairs, each time that the number
 * of vectors has doubled.
 */
import { type WeighWord, type WordSet, weightedJaccard } from "../lexical/word-set.ts";
import { centreVector, dot, meanOf } from "../vectors/unit-vector.ts";

/** Rows whose cosines are the background, and those of them whose pairs are compared by words. */
const SAMPLE_ROWS = 256;
const SAMPLE_PAIRS_OF = 64;
const MIN_SAMPLE_ROWS = 4;
/** Standard deviations above the background from which a row counts, and with which it counts fully. */
const COUNTS_FROM = 1;
const COUNTS_FULLY = 5;
const LEAST_RANGE = 3;
const MOST_CLOSENESS = 1.5;
/** Strength up to which an embedder must beat chance, and from which it is trusted. Chosen on the dev half of test/data/memory. */
const WEAK = 0.25;
const STRONG = 0.4;
/** Squared length, and variance, that is rounding. */
const NOTHING = 1e-6;

/** A row with the unit vector of its text. */
export interface BackgroundRow {
  readonly vector: Float32Array;
  readonly words: WordSet;
}

/** Returns 0 for a row like any other, 1 for a row that is far out. At most 1.5. */
export type MeasureCloseness = (vector: Float32Array) => number;

export class VectorBackground {
  /** Correlation of cosines with shared words, less what chance may give. */
  readonly strength: number;
  readonly #mean: Float32Array;
  readonly #meanSquared: number;
  readonly #sample: readonly Float32Array[];
  /** Distances of the sample from the mean. */
  readonly #distances: readonly number[];
  readonly #countsFrom: number;

  /** `size` is the number of vectors that queries are compared with. `sample` has at most `SAMPLE_ROWS`. */
  constructor(sample: readonly BackgroundRow[], size: number) {
    this.#sample = sample.map(({ vector }) => Float32Array.from(vector));
    this.#mean = meanOf(this.#sample, this.#sample[0]?.length ?? 0);
    this.#meanSquared = dot(this.#mean, this.#mean);
    this.#distances = this.#sample.map((vector) => this.#distanceOf(vector));
    this.strength = this.#measureStrength(spread(sample, SAMPLE_PAIRS_OF));
    const trusted = Math.max(0, Math.min(1, (this.strength - WEAK) / (STRONG - WEAK)));
    // The expected maximum of `size` standard normal numbers is at most this.
    const chance = Math.sqrt(2 * Math.log(Math.max(2, size)));
    this.#countsFrom = COUNTS_FROM + (1 - trusted) * Math.max(0, chance - COUNTS_FROM);
  }

  /** Returns the query to search with, or undefined for one that is like the mean of all rows. */
  centre(query: Float32Array): Float32Array | undefined {
    return centreVector(query, this.#mean);
  }

  /** `centred` is a result of `centre`. */
  compare(centred: Float32Array): MeasureCloseness {
    const shift = dot(centred, this.#mean);
    const cosineOf = (vector: Float32Array, distance: number): number =>
      distance > 0 ? (dot(centred, vector) - shift) / distance : 0;
    const cosines = this.#sample.map((vector, at) => cosineOf(vector, this.#distances[at] as number));
    const { mean, variance } = statisticsOf(cosines);
    if (variance < NOTHING) return () => 0;
    const deviation = Math.sqrt(variance);
    const from = this.#countsFrom;
    const range = Math.max(COUNTS_FULLY - from, LEAST_RANGE);
    return (vector) => {
      const deviations = (cosineOf(vector, this.#distanceOf(vector)) - mean) / deviation;
      return Math.max(0, Math.min(MOST_CLOSENESS, (deviations - from) / range));
    };
  }

  /** Returns the distance of a unit vector from the mean; 0 if it is rounding. */
  #distanceOf(vector: Float32Array): number {
    const squared = 1 - 2 * dot(vector, this.#mean) + this.#meanSquared;
    return squared < NOTHING ? 0 : Math.sqrt(squared);
  }

  #measureStrength(rows: readonly BackgroundRow[]): number {
    const weigh = rarityIn(rows);
    const centred = rows.map(({ vector }) => this.centre(vector));
    const likeness: number[] = [];
    const cosines: number[] = [];
    for (const [at, { words }] of rows.entries())
      for (let other = 0; other < at; other++) {
        const [a, b] = [centred[at], centred[other]];
        likeness.push(weightedJaccard(words, (rows[other] as BackgroundRow).words, weigh));
        cosines.push(a && b ? dot(a, b) : 0);
      }
    return correlationOf(likeness, cosines) - 1 / Math.sqrt(Math.max(1, likeness.length));
  }
}

/**
 * Measures the first 2^n slots of `slots`, with the largest n that is filled, so that the result does not depend on when it is measured.
 * Returns undefined when there are too few vectors.
 */
export function measureBackground(
  slots: number,
  rowOf: (slot: number) => BackgroundRow | undefined,
): VectorBackground | undefined {
  const size = 2 ** Math.floor(Math.log2(Math.max(1, slots)));
  const step = Math.max(1, size / SAMPLE_ROWS);
  const sample: BackgroundRow[] = [];
  for (let slot = 0; slot < size; slot += step) {
    const row = rowOf(slot);
    if (row) sample.push(row);
  }
  // Vectors that are being made are those of the newest rows first.
  for (let slot = slots - 1; slot >= 0 && sample.length < MIN_SAMPLE_ROWS; slot--) {
    const row = slot < size && slot % step === 0 ? undefined : rowOf(slot);
    if (row) sample.push(row);
  }
  return sample.length < MIN_SAMPLE_ROWS ? undefined : new VectorBackground(sample, size);
}

function rarityIn(rows: readonly BackgroundRow[]): WeighWord {
  const counts = new Map<number, number>();
  for (const { words } of rows) for (const hash of words.hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return (hash) => Math.log(1 + rows.length / (counts.get(hash) ?? 1));
}

function spread<T>(list: readonly T[], count: number): readonly T[] {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_none, at) => list[Math.floor((at * list.length) / count)] as T);
}

function statisticsOf(numbers: readonly number[]): { readonly mean: number; readonly variance: number } {
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return { mean, variance: numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / numbers.length };
}

/** Pearson's; 0 when one of both does not vary. */
function correlationOf(a: readonly number[], b: readonly number[]): number {
  const [left, right] = [statisticsOf(a), statisticsOf(b)];
  if (!(left.variance > NOTHING && right.variance > NOTHING)) return 0;
  const covariance =
    a.reduce((sum, one, at) => sum + (one - left.mean) * ((b[at] as number) - right.mean), 0) / a.length;
  return covariance / Math.sqrt(left.variance * right.variance);
}
