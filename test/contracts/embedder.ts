/** embedder.ts -- the contract of every Embedder, local or remote. */
import { describe, expect, it } from "@jest/globals";
import type { Embedder } from "#core/ports/memory.ts";

export function embedderContract(name: string, make: () => Embedder): void {
  const live = () => new AbortController().signal;
  const cosine = (a: Float32Array | undefined, b: Float32Array | undefined) =>
    [...(a ?? [])].reduce((sum, component, at) => sum + component * (b?.[at] ?? 0), 0);

  describe(`${name} as an Embedder`, () => {
    it("returns one unit vector of its dimensions for each text, in order", async () => {
      const embedder = make();
      const texts = ["The strings are red.", "Das Netz ist hoch.", "The strings are red."];
      const vectors = await embedder.embed(texts, live());
      expect(vectors).toHaveLength(3);
      for (const vector of vectors) {
        expect(vector).toHaveLength(embedder.dimensions);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
      }
      expect(cosine(vectors[0], vectors[2])).toBeCloseTo(1, 4);
      expect(cosine(vectors[0], vectors[1])).toBeLessThan(0.9);
    });

    it("returns no vectors for no texts", async () => {
      expect(await make().embed([], live())).toEqual([]);
    });

    it.each([
      ["empty", ""],
      ["white space", " \n\t"],
      ["empty", "!!! --- ???"],
      ["emoji", "🎾🎾"],
      ["punctuation only", "a\ud800b"],
      ["NUL", "a\0b"],
      ["40,000 characters without a space", "x".repeat(40_000)],
    ])("returns a unit vector for a hostile text: %s", async (_title, text) => {
      const [vector] = await make().embed([text], live());
      expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 4);
    });

    it("includes the number of dimensions in its id", () => {
      const { id, dimensions } = make();
      expect(id).toContain(String(dimensions));
    });
  });
}
