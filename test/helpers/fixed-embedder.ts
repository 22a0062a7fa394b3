/**
 * fixed-embedder.ts -- an embedder with predictable vectors that fails on demand.
 *
 * A text is a bag of words. Each word has its own axis, in the order of first appearance,
 * so the similarity of two texts is the share of words that they have in common.
 */
import type { Embedder } from "#core/ports/memory.ts";

type Answer = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;

export interface FixedEmbedder extends Embedder {
  /** The texts of each request, in order. */
  readonly requests: readonly (readonly string[])[];
  /** Replaces the answers to the next requests. */
  instead: Answer | undefined;
  vectorOf(text: string): Float32Array;
}

export function fixedEmbedder(
  change: Partial<Pick<Embedder, "id" | "dimensions" | "local" | "semantic">> = {},
): FixedEmbedder {
  const { id = "fixed@64", dimensions = 64, local = false, semantic = true } = change;
  const axes = new Map<string, number>();
  const requests: (readonly string[])[] = [];

  function vectorOf(text: string): Float32Array {
    const vector = new Float32Array(dimensions);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["nothing"]) {
      const axis = axes.get(word) ?? axes.size;
      axes.set(word, axis);
      vector[axis % dimensions] = 1;
    }
    const norm = Math.hypot(...vector);
    return vector.map((component) => component / norm);
  }

  const embedder: FixedEmbedder = {
    id,
    dimensions,
    local,
    semantic,
    isInstant: local,
    requests,
    instead: undefined,
    vectorOf,
    async embed(texts, signal) {
      requests.push(texts);
      return embedder.instead ? embedder.instead(texts, signal) : texts.map(vectorOf);
    },
  };
  return embedder;
}
