import { describe, expect, it } from "@jest/globals";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openScanMemory } from "#memory/vectors/int8-scan.ts";
import { roundVector } from "#memory/vectors/unit-vector.ts";
import { vectorIndexContract } from "../../contracts/vector-index.ts";
import { plainIndex } from "../../helpers/plain-index.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";

// exact-index.long.ts has the others that keep it.
vectorIndexContract("the exact index", (dimensions) => new ExactIndex(dimensions));

describe("the exact index", () => {
  it("shares one memory with others without mixing rows, and frees its blocks", async () => {
    const memory = openScanMemory();
    const [first, second] = [new ExactIndex(64, memory), new ExactIndex(64, memory)];
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await (slot % 2 === 0 ? first : second).add(slot, vector);
    for (let slot = 0; slot < 3_000; slot += 2) await first.remove(slot);
    expect(first.size).toBe(0);
    const bytes = memory.bytes().byteLength;
    const third = new ExactIndex(64, memory);
    for (let slot = 0; slot < 1_500; slot++) await third.add(slot, vectors[slot] as Float32Array);
    expect(memory.bytes().byteLength).toBe(bytes);
    expect((await second.search(vectors[1] as Float32Array, 1))[0]?.slot).toBe(1);
    expect((await third.search(vectors[2] as Float32Array, 1))[0]?.slot).toBe(2);
  });

  it("answers each of the searches that are started together as if it were alone", async () => {
    const index = new ExactIndex(64);
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
    const asked = [5, 1_500, 2_999].map((slot, at) => ({ query: vectors[slot] as Float32Array, count: 4 + 3 * at }));
    const alone: unknown[] = [];
    for (const { query, count } of asked) alone.push(await index.search(query, count));
    expect(await Promise.all(asked.map(({ query, count }) => index.search(query, count)))).toEqual(alone);
    expect(new Set(alone.map((hits) => JSON.stringify(hits))).size).toBe(3);
  });

  it("is right even when rows are removed during a search", async () => {
    const index = new ExactIndex(64);
    const truth = plainIndex(64);
    const vectors = clusteredVectors(4_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
    const query = vectors[7] as Float32Array;
    let isSearching = true;
    const searching = index.search(query, 10).finally(() => {
      isSearching = false;
    });
    for (let slot = 0; slot < 2_000; slot++) await index.remove(slot);
    expect(isSearching).toBe(true);
    const found = await searching;
    for (const [slot, vector] of vectors.entries()) if (slot >= 2_000) await truth.add(slot, vector);
    const slotsOf = (hits: readonly { slot: number }[]) => hits.map(({ slot }) => slot);
    expect(slotsOf(found)).toEqual(slotsOf(await truth.search(query, 10)));
  });

  it("frees all blocks when it is closed", async () => {
    const memory = openScanMemory();
    const vector = new Float32Array(8_000).fill(1);
    const fill = async () => {
      const index = new ExactIndex(8_000, memory);
      for (let slot = 0; slot < 200; slot++) await index.add(slot, vector);
      return index;
    };
    await (await fill()).close();
    const bytes = memory.bytes().byteLength;
    await (await fill()).close();
    expect(memory.bytes().byteLength).toBe(bytes);
  });

  it("finds and returns rounded vectors as an index of other vectors does", async () => {
    const [whole, rounded] = [new ExactIndex(64), new ExactIndex(64, openScanMemory(), { isRounded: true })];
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries())
      for (const index of [whole, rounded]) await index.add(slot, roundVector(vector));
    for (let slot = 0; slot < 3_000; slot += 3) for (const index of [whole, rounded]) await index.remove(slot);
    for (const [slot, vector] of vectors.entries())
      expect(rounded.vectorOf(slot)).toEqual(slot % 3 === 0 ? undefined : roundVector(vector));
    for (const query of vectors.slice(0, 50)) {
      const expected = (await whole.search(query, 30)).map(({ slot, score }) => ({
        slot,
        score: expect.closeTo(score, 5),
      }));
      expect(await rounded.search(query, 30)).toEqual(expected);
    }
    // The control: vectors that were not rounded are not kept whole.
    const [vector] = vectors as [Float32Array];
    await rounded.add(0, vector);
    expect(rounded.vectorOf(0)).not.toEqual(vector);
    expect(rounded.vectorOf(0)).toEqual(roundVector(vector));
  });

  it("ranks the newer of two equally near rows first", async () => {
    const index = new ExactIndex(16);
    const [vector] = clusteredVectors(1, 16, 1);
    for (const slot of [4, 9, 2]) await index.add(slot, vector as Float32Array);
    expect((await index.search(vector as Float32Array, 3)).map(({ slot }) => slot)).toEqual([9, 4, 2]);
  });
});
