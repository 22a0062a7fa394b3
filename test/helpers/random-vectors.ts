/** random-vectors.ts -- vectors from a seed, which are the same in every run. */

/** Mulberry32: returns numbers from 0 to 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns `count` vectors around `clusters` centres, as texts lie around topics. Not of unit length. */
export function clusteredVectors(count: number, dimensions: number, clusters: number, seed = 1): Float32Array[] {
  const next = randomNumbers(seed);
  const around = (centre: Float32Array | undefined, spread: number) =>
    new Float32Array(dimensions).map((_, at) => (centre?.[at] ?? 0) + spread * (next() + next() + next() - 1.5));
  const centres = Array.from({ length: clusters }, () => around(undefined, 1));
  return Array.from({ length: count }, () => around(centres[Math.floor(next() * clusters)], 0.4));
}

/** Returns unit vectors that are mostly the same, as those of an agent's texts are. */
export function alikeVectors(count: number, dimensions: number): readonly Float32Array[] {
  return clusteredVectors(count, dimensions, 10).map((vector) => {
    const length = Math.hypot(...vector);
    const alike = vector.map((component) => component / length + 3 / Math.sqrt(dimensions));
    return alike.map((component) => component / Math.hypot(...alike));
  });
}
