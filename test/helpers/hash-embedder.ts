/** hash-embedder.ts -- embeds the spelling of words alone: an embedder that knows no meanings. */
import type { Embedder } from "#core/ports/memory.ts";
import { countWords, createWordHasher } from "#memory/vectors/offline-embedder.ts";

export function openHashEmbedder(dimensions = 384): Embedder {
  const hashWords = createWordHasher(dimensions);
  return {
    id: `hash-v2@${dimensions}`,
    dimensions,
    local: true,
    semantic: false,
    isInstant: true,
    embed: async (texts) => texts.map((text) => hashWords(countWords(text))),
  };
}
