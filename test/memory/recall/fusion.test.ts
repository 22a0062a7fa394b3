/** Words and vectors are fused so that a good embedder finds what words cannot; fusion.long.ts measures it on whole memories. */
import { describe, expect, it } from "@jest/globals";
import type { Embedder } from "#core/ports/vectors.ts";
import { createWordSet } from "#memory/lexical/word-set.ts";
import { fuseScores } from "#memory/recall/fuse-scores.ts";
import { measureBackground } from "#memory/recall/vector-background.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { wordsOf } from "#util/words.ts";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../../bench/memory-quality/data.ts";
import { constantEmbedder, noisyEmbedder } from "../../helpers/poor-embedders.ts";

const live = new AbortController().signal;
const read = (set: string): Space[] => [
  ...toSpaces(
    readLines<Doc>(`test/data/memory/${set}-docs.jsonl`),
    readLines<Query>(`test/data/memory/${set}-queries.jsonl`),
  ).values(),
];
/** poor-embedders.long.ts asks about all traces. */
const traces = read("agent").slice(0, 2);

describe("the strength of an embedder", () => {
  const strengthOf = async (embedder: Embedder) => {
    const texts = traces[0]?.docs.map(({ text }) => text) ?? [];
    const vectors = await embedder.embed(texts, live);
    const rowOf = (slot: number) => {
      const [vector, text] = [vectors[slot], texts[slot]];
      return vector && text !== undefined ? { vector, words: createWordSet(wordsOf(text)) } : undefined;
    };
    return measureBackground(texts.length, rowOf)?.strength ?? Number.NaN;
  };

  it("is about 0 for a random and for a constant one, and high for the table", async () => {
    expect(Math.abs(await strengthOf(noisyEmbedder(Number.POSITIVE_INFINITY)))).toBeLessThan(0.1);
    expect(Math.abs(await strengthOf(constantEmbedder()))).toBeLessThan(0.1);
    expect(await strengthOf(openWordEmbedder())).toBeGreaterThan(0.5);
  });

  it("is unknown with fewer than four vectors", () => {
    const row = { vector: Float32Array.of(1, 0), words: createWordSet([]) };
    expect(measureBackground(100, (slot) => (slot < 3 ? row : undefined))).toBeUndefined();
    expect(measureBackground(100, (slot) => (slot > 90 ? row : undefined))).toBeDefined();
  });
});

describe("fuseScores", () => {
  const words = [
    { slot: 1, score: 9 },
    { slot: 2, score: 5 },
  ];
  const near = (closeness: Readonly<Record<number, number>>) => ({
    slots: Object.keys(closeness).map(Number),
    closenessOf: (slot: number) => closeness[slot] ?? 0,
  });
  const order = (...given: Parameters<typeof fuseScores>) => fuseScores(...given).map(({ slot }) => slot);

  it("keeps the order of the words when no row stands out", () => {
    expect(order(words, near({ 3: 0 }), 1)).toEqual([1, 2, 3]);
  });

  it("puts a row that stands out before the words when these cover little of the question", () => {
    expect(order(words, near({ 3: 1 }), 0.1)).toEqual([3, 1, 2]);
    expect(order(words, near({ 3: 1 }), 1)).toEqual([1, 3, 2]);
  });

  it("scales the best to 1, and finds rows without words", () => {
    expect(fuseScores([], near({ 7: 0.2, 8: 0.1 }), 0)).toEqual([
      { slot: 7, score: 1 },
      { slot: 8, score: expect.closeTo(0.5) },
    ]);
    expect(fuseScores([], near({}), 0)).toEqual([]);
  });
});
