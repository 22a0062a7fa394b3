import { describe, expect, it } from "@jest/globals";
import type { Embedder } from "#core/ports/vectors.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { openWordTable } from "#memory/words/word-table.ts";
import { embedderContract } from "../../contracts/embedder.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";

embedderContract("the offline embedder", () => openWordEmbedder());

const live = new AbortController().signal;
async function cosineOf(embedder: Embedder, a: string, b: string): Promise<number> {
  const [left, right] = await embedder.embed([a, b], live);
  return (left as Float32Array).reduce((sum, component, at) => sum + component * (right?.[at] ?? 0), 0);
}
const QUESTION = "Which vehicle does the physician own?";
const ANSWER = "A doctor bought that car.";
const OTHER = "Snow fell on mountain villages.";

describe("the offline embedder", () => {
  it("is local, knows meanings, costs nothing, and has an id that names its version", () => {
    const { id, local, semantic, isInstant } = openWordEmbedder();
    expect({ id, local, semantic, isInstant }).toEqual({
      id: "words-v1@192",
      local: true,
      semantic: true,
      isInstant: true,
    });
  });

  it("brings a question near to its answer in other words, which hashes of words do not", async () => {
    const marginOf = async (embedder: Embedder) =>
      (await cosineOf(embedder, QUESTION, ANSWER)) - (await cosineOf(embedder, QUESTION, OTHER));
    expect(await marginOf(openWordEmbedder())).toBeGreaterThan(0.3);
    expect(await marginOf(openHashEmbedder())).toBeLessThan(0.1);
  });

  it("uses spelling alone where it knows less than half of the words", async () => {
    const [unknown, known] = await openWordEmbedder().embed(["xqzzyv qwvvkk road", "xqzzyv narrow road"], live);
    expect(Math.hypot(...(unknown?.subarray(0, 100) ?? []))).toBe(0);
    expect(Math.hypot(...(known?.subarray(0, 100) ?? []))).toBeCloseTo(Math.sqrt(0.85), 3);
    expect(await cosineOf(openWordEmbedder(), "xqzzyv qwvvkk", "qwvvkk xqzzyv")).toBeCloseTo(1, 4);
  });

  it("makes the same vector in any company", async () => {
    const [alone] = await openWordEmbedder().embed([ANSWER], live);
    const [, among] = await openWordEmbedder().embed([OTHER, ANSWER, QUESTION], live);
    expect(among).toEqual(alone);
  });

  it("rejects while its table is missing", async () => {
    await expect(openWordEmbedder(() => openWordTable(Buffer.alloc(9))).embed([ANSWER], live)).rejects.toThrow(
      /Expected a table of words/,
    );
  });
});
