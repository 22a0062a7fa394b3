/**
 * cached-embedder.ts -- an embedder that is not asked twice for a text that it had lately.
 *
 * For what costs money or time: agents of a host ask for the same texts, and a step asks again for most of the last one's.
 * Vectors are kept by embedder and hash of the text, so that what an embedder learns of itself with its first answer
 * (its dimensions, which are in its id) never brings up the vectors of another.
 */
import { hash } from "node:crypto";
import type { Embedder } from "#core/ports/vectors.ts";

/** 12 MB of vectors with 1,536 numbers. */
const MAX_NUMBERS = 3_145_728;

export function cachedEmbedder(embedder: Embedder, maxNumbers: number = MAX_NUMBERS): Embedder {
  const vectors = new Map<string, Float32Array>();
  let numbers = 0;

  function keep(key: string, vector: Float32Array): void {
    if (vectors.has(key)) return;
    vectors.set(key, vector);
    numbers += vector.length;
    for (const [oldest, { length }] of vectors) {
      if (numbers <= maxNumbers) break;
      vectors.delete(oldest);
      numbers -= length;
    }
  }

  /** Undefined for one that is not kept; one that is used is the youngest again. */
  function recall(key: string): Float32Array | undefined {
    const vector = vectors.get(key);
    if (vector && vectors.delete(key)) vectors.set(key, vector);
    return vector;
  }

  return {
    get id() {
      return embedder.id;
    },
    get dimensions() {
      return embedder.dimensions;
    },
    get local() {
      return embedder.local;
    },
    get semantic() {
      return embedder.semantic;
    },
    async embed(texts, signal) {
      const hashes = texts.map((text) => hash("sha1", text, "base64"));
      const known = new Map<string, Float32Array>();
      for (const one of hashes) {
        const vector = recall(`${embedder.id} ${one}`);
        if (vector) known.set(one, vector);
      }
      const missing = new Map(
        hashes.flatMap((one, at) => (known.has(one) ? [] : [[one, texts[at] as string] as const])),
      );
      const before = embedder.id;
      const made = missing.size === 0 ? [] : await embedder.embed([...missing.values()], signal);
      // It turned out to be another one: what was known is not of its kind.
      if (embedder.id !== before && known.size > 0) return embedder.embed(texts, signal);
      for (const [at, one] of [...missing.keys()].entries()) {
        const vector = made[at];
        if (!vector) continue;
        known.set(one, vector);
        keep(`${embedder.id} ${one}`, vector);
      }
      return hashes.flatMap((one) => known.get(one) ?? []);
    },
  };
}
