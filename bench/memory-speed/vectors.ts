/**
 * vectors.ts -- generates vectors as an embedder makes them: in clusters of very different sizes, near a surface of far
 * fewer dimensions, of unit length. Evenly spread vectors would be no test, because none of them are near each other.
 */
import { randomNumbers } from "../../test/helpers/memory-rows.ts";

const LATENT = 64;
const CLUSTERS = 200;
const SPREAD = 0.35;

/** Returns `count` rows, then `queries` from the same mixture; the same in every run. */
export function mixture(count: number, queries: number, dimensions: number): readonly Float32Array[] {
  const next = randomNumbers(7);
  const gauss = () => Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
  const gaussians = (length: number) => Float32Array.from({ length }, gauss);
  const centres = Array.from({ length: CLUSTERS }, () => gaussians(LATENT));
  const projection = Array.from({ length: LATENT }, () => gaussians(dimensions));
  return Array.from({ length: count + queries }, () => {
    // Zipf: the first cluster has a hundred times as many vectors as the hundredth.
    const centre = centres[Math.floor(CLUSTERS ** next()) - 1] as Float32Array;
    const vector = new Float32Array(dimensions);
    for (const [latent, row] of projection.entries()) {
      const weight = (centre[latent] as number) + SPREAD * gauss();
      for (let at = 0; at < dimensions; at++) vector[at] = (vector[at] as number) + weight * (row[at] as number);
    }
    return toUnit(vector);
  });
}

function toUnit(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const component of vector) squares += component ** 2;
  const norm = Math.sqrt(squares);
  return vector.map((component) => component / norm);
}

/** Returns the positions of the ten nearest rows, computed by a plain loop. */
export function trueTen(rows: readonly Float32Array[], query: Float32Array): ReadonlySet<number> {
  const scores = rows.map((row, at) => ({ at, score: product(row, query) }));
  return new Set(
    scores
      .sort((a, b) => b.score - a.score)
      .slice(0, 10)
      .map(({ at }) => at),
  );
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}
