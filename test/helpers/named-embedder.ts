/** named-embedder.ts -- semantic embedders that differ by name alone, so that their vectors are not comparable. */
import type { Embedder } from "#core/ports/memory.ts";
import { openHashEmbedder } from "./hash-embedder.ts";

export function namedEmbedder(name: string): Embedder {
  const hash = openHashEmbedder(64);
  return {
    id: `${name}@64`,
    dimensions: 64,
    local: false,
    semantic: true,
    embed: (texts, signal) =>
      hash.embed(
        texts.map((text) => text.replace(/\w+/g, (word) => `${name}${word}`)),
        signal,
      ),
  };
}
