/**
 * cached-embedder.ts -- caches the vectors of an embedder that costs money or time.
 *
 * Agents of one host embed the same texts, and a step embeds most texts of the last one again. The cache key holds the
 * embedder's id and a hash of the text: the id changes when the first answer reveals the dimensions.
 */
import { hash } from "node:crypto";
import type { Embedder } from "#core/ports/memory.ts";

/** Cached numbers: 12 MB, or 2,048 vectors of 1,536 numbers. */
const MAX_NUMBERS = 3_145_728;

export function cachedEmbedder(embedder: Embedder, maxNumbers: number = MAX_NUMBERS): Embedder {
  const vectors = new Map<string, Float32Array>();
  let numbers = 0;

  function keepVector(key: string, vector: Float32Array): void {
    if (vectors.has(key)) return;
    vectors.set(key, vector);
    numbers += vector.length;
    for (const [oldest, { length }] of vectors) {
      if (numbers <= maxNumbers) break;
      vectors.delete(oldest);
      numbers -= length;
    }
  }

  /** Moves a used vector to the end, so that the least recently used one is dropped first. */
  function findVector(key: string): Float32Array | undefined {
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
    get isInstant() {
      return embedder.isInstant ?? false;
    },
    async embed(texts, signal, countTokens) {
      const hashes = texts.map((text) => hash("sha1", text, "base64"));
      const known = new Map<string, Float32Array>();
      for (const textHash of hashes) {
        const vector = findVector(`${embedder.id} ${textHash}`);
        if (vector) known.set(textHash, vector);
      }
      const missing = new Map(
        hashes.flatMap((one, at) => (known.has(one) ? [] : [[one, texts[at] as string] as const])),
      );
      const before = embedder.id;
      const made = missing.size === 0 ? [] : await embedder.embed([...missing.values()], signal, countTokens);
      // The embedder changed its id: cached vectors of the earlier id do not compare.
      if (embedder.id !== before && known.size > 0) return embedder.embed(texts, signal, countTokens);
      for (const [at, one] of [...missing.keys()].entries()) {
        const vector = made[at];
        if (!vector) continue;
        known.set(one, vector);
        keepVector(`${embedder.id} ${one}`, vector);
      }
      return hashes.flatMap((one) => known.get(one) ?? []);
    },
  };
}
