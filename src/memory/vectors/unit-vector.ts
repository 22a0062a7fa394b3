/** unit-vector.ts -- arithmetic on vectors that are compared by cosine. */
import { GoaldError } from "#core/errors.ts";
import { ROW_LIMIT } from "./int8-scan.ts";

/** Scales the components to ±`limit` and writes them to `into` from `start`. Returns the largest magnitude. */
export function quantise(vector: Float32Array, limit: number, into: Int8Array | Int16Array, start = 0): number {
  const largest = largestOf(vector);
  const factor = limit / largest;
  // Truncating a positive number rounds to the nearest at half the cost of Math.round.
  const shift = limit + 0.5;
  for (let at = 0; at < vector.length; at++) into[start + at] = (((vector[at] as number) * factor + shift) | 0) - limit;
  return largest;
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let at = 0; at < vector.length; at++) {
    const magnitude = Math.abs(vector[at] as number);
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

/** A component of `quantiseFinely` is its byte, moved by so many bits, plus its rest. */
const REST_BITS = 16;
const FINE_LIMIT = ROW_LIMIT << REST_BITS;

/**
 * As `quantise` with `ROW_LIMIT`, and writes what the bytes lack to `rests`, in 1/65,536 of their steps. Both together have the
 * precision of 32-bit numbers.
 */
export function quantiseFinely(
  vector: Float32Array,
  bytes: Int8Array,
  start: number,
  rests: Int16Array,
  from: number,
): number {
  const largest = largestOf(vector);
  const factor = FINE_LIMIT / largest;
  const shift = FINE_LIMIT + 0.5;
  for (let at = 0; at < vector.length; at++) {
    const fine = (((vector[at] as number) * factor + shift) | 0) - FINE_LIMIT;
    const byte = (fine + (1 << (REST_BITS - 1))) >> REST_BITS;
    bytes[start + at] = byte;
    rests[from + at] = fine - (byte << REST_BITS);
  }
  return largest;
}

/** Returns the vector of which `quantiseFinely` made these bytes and rests. `scale`: its largest magnitude. */
export function fromFineBytes(bytes: Int8Array, rests: Int16Array, scale: number): Float32Array {
  const factor = scale / FINE_LIMIT;
  const vector = new Float32Array(bytes.length);
  for (let at = 0; at < bytes.length; at++)
    vector[at] = (((bytes[at] as number) << REST_BITS) + (rests[at] as number)) * factor;
  return vector;
}

/** Returns the dot product with a row of `quantiseFinely`, for a largest magnitude of 1. */
export function dotFinely(
  unit: Float32Array,
  bytes: Int8Array,
  start: number,
  rests: Int16Array,
  from: number,
): number {
  let even = 0;
  let odd = 0;
  const fine = (at: number): number => ((bytes[start + at] as number) << REST_BITS) + (rests[from + at] as number);
  const pairs = unit.length - (unit.length % 2);
  for (let at = 0; at < pairs; at += 2) {
    even += (unit[at] as number) * fine(at);
    odd += (unit[at + 1] as number) * fine(at + 1);
  }
  if (pairs < unit.length) even += (unit[pairs] as number) * fine(pairs);
  return (even + odd) / FINE_LIMIT;
}

/** Keeps four sums, because a single one would wait for each addition. */
export function dot(a: Float32Array, b: Float32Array): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  const whole = a.length - (a.length % 4);
  for (let at = 0; at < whole; at += 4) {
    first += (a[at] as number) * (b[at] as number);
    second += (a[at + 1] as number) * (b[at + 1] as number);
    third += (a[at + 2] as number) * (b[at + 2] as number);
    fourth += (a[at + 3] as number) * (b[at + 3] as number);
  }
  for (let at = whole; at < a.length; at++) first += (a[at] as number) * (b[at] as number);
  return first + second + third + fourth;
}

/** Returns the factor that normalises a vector. Throws for one without a direction: wrong length, not finite or all zero. */
export function factorToUnit(vector: Float32Array, dimensions: number): number {
  const norm = vector.length === dimensions ? Math.sqrt(dot(vector, vector)) : Number.NaN;
  if (!(norm > 0 && norm < Number.POSITIVE_INFINITY))
    throw new GoaldError(
      "GOALD_INTERNAL",
      `Expected ${dimensions} finite numbers, not all zero; got ${vector.length} with a length of ${norm}.`,
      { hint: "The embedder violates its contract." },
    );
  return Math.abs(norm - 1) < 1e-6 ? 1 : 1 / norm;
}

export function toUnit(vector: Float32Array, dimensions: number): Float32Array {
  const factor = factorToUnit(vector, dimensions);
  return factor === 1 ? vector : vector.map((component) => component * factor);
}

/** Returns the 8-bit numbers of a vector. */
export function toBytes(vector: Float32Array): Int8Array {
  const bytes = new Int8Array(vector.length);
  quantise(vector, ROW_LIMIT, bytes);
  return bytes;
}

/** Returns the dot product of `vector` with the unit vector of a row of 8-bit numbers, which must not be all zero. */
export function dotOfBytes(vector: Float32Array, bytes: Int8Array, start: number): number {
  let sum = 0;
  let squared = 0;
  for (let at = 0; at < vector.length; at++) {
    const byte = bytes[start + at] as number;
    sum += byte * (vector[at] as number);
    squared += byte * byte;
  }
  return sum / Math.sqrt(squared);
}

/** Returns `unit` with the unit vector of a row of 8-bit numbers, which must not be all zero. */
export function fromBytes(bytes: Int8Array, unit = new Float32Array(bytes.length)): Float32Array {
  let squared = 0;
  for (let at = 0; at < bytes.length; at++) squared += (bytes[at] as number) ** 2;
  const factor = 1 / Math.sqrt(squared);
  for (let at = 0; at < bytes.length; at++) unit[at] = (bytes[at] as number) * factor;
  return unit;
}

/** Returns `fromBytes` of the vector's 8-bit numbers: another rounding changes it no more. A vector of zeros stays as it is. */
export function roundVector(vector: Float32Array): Float32Array {
  if (vector.every((component) => component === 0)) return vector;
  return fromBytes(toBytes(vector));
}

/** Returns zeros without vectors. */
export function meanOf(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const sum = new Float64Array(dimensions);
  for (const vector of vectors)
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) + (vector[at] as number);
  return Float32Array.from(sum, (component) => component / Math.max(1, vectors.length));
}

/** Squared length that is rounding. */
export const NOTHING = 1e-6;

/**
 * Returns the unit vector of the difference from `mean`; undefined for a vector like the mean. Texts of one kind have much in common,
 * and what they differ in tells them apart (Mu and Viswanath 2018).
 */
export function centreVector(vector: Float32Array, mean: Float32Array): Float32Array | undefined {
  const centred = vector.slice();
  for (let at = 0; at < centred.length; at++) centred[at] = (centred[at] as number) - (mean[at] as number);
  const squared = dot(centred, centred);
  if (squared < NOTHING) return undefined;
  const factor = 1 / Math.sqrt(squared);
  for (let at = 0; at < centred.length; at++) centred[at] = (centred[at] as number) * factor;
  return centred;
}

/** Returns a function that gives the cosine of a vector with each of `vectors`, all of them less the mean of `vectors`. */
export function compareFromMean(vectors: readonly Float32Array[]): (target: Float32Array) => Float64Array {
  const mean = meanOf(vectors, vectors[0]?.length ?? 0);
  const centred = vectors.map((vector) => centreVector(vector, mean));
  return (target) => {
    const from = centreVector(target, mean);
    return Float64Array.from(centred, (vector) => (vector && from ? dot(vector, from) : 0));
  };
}
