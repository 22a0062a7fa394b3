/** poor-embedders.ts -- embedders that know nothing or little, to check that they do no harm. */
import type { Embedder } from "#core/ports/memory.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { hashOf } from "#util/words.ts";
import { randomNumbers } from "./random-vectors.ts";

/** Returns the offline embedder with random noise of `noise` times its length. Infinity: noise alone. */
export function noisyEmbedder(noise: number, seed = 1): Embedder {
  const words = openWordEmbedder();
  return {
    ...words,
    id: `noise-${noise}-${seed}@${words.dimensions}`,
    async embed(texts, signal) {
      const vectors = await words.embed(texts, signal);
      return texts.map((text, at) => {
        const random = randomVector(words.dimensions, hashOf(text, seed));
        const vector = vectors[at] as Float32Array;
        return noise === Number.POSITIVE_INFINITY ? random : unit(vector.map((x, of) => x + noise * (random[of] ?? 0)));
      });
    },
  };
}

/** Returns an embedder that has one vector for all texts. */
export function constantEmbedder(): Embedder {
  const vector = randomVector(64, 3);
  return {
    id: "constant@64",
    dimensions: 64,
    local: true,
    semantic: true,
    isInstant: true,
    embed: async (texts) => texts.map(() => Float32Array.from(vector)),
  };
}

function randomVector(dimensions: number, seed: number): Float32Array {
  const next = randomNumbers(seed);
  return unit(Float32Array.from({ length: dimensions }, () => next() - 0.5));
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}
