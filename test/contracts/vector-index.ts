/**
 * vector-index.ts -- the contract of every VectorIndex, exact or approximate.
 *
 * `missedShare` is the share of true neighbours that an approximate index may miss for queries that are far from all rows,
 * which is the hardest case for a graph.
 */
import { describe, expect, it } from "@jest/globals";
import type { ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import { meanOf } from "#memory/vectors/unit-vector.ts";
import { plainIndex } from "../helpers/indexes.ts";
import { alikeVectors, clusteredVectors, randomNumbers } from "../helpers/memory-rows.ts";

export function vectorIndexContract(
  name: string,
  make: (dimensions: number) => VectorIndex | Promise<VectorIndex>,
  { missedShare = 0 }: { readonly missedShare?: number } = {},
): void {
  const axis = (at: number, length = 3) => new Float32Array(length).map((_, index) => (index === at ? 1 : 0));

  describe(`${name} as a VectorIndex`, () => {
    it("returns the nearest by cosine, best first, whatever the vectors' lengths", async () => {
      const index = await make(3);
      await index.add(7, Float32Array.of(100, 0, 0));
      await index.add(3, Float32Array.of(0.01, 0.01, 0));
      await index.add(900, Float32Array.of(0, -5, 0));
      const found = await index.search(Float32Array.of(0.5, 0, 0), 3);
      expect(found.map(({ slot }) => slot)).toEqual([7, 3, 900]);
      expect(found.map(({ score }) => score)).toEqual([1, Math.SQRT1_2, 0].map((score) => expect.closeTo(score, 5)));
    });

    it("returns at most the requested number of rows, and none while it is empty", async () => {
      const index = await make(3);
      expect([index.size, await index.search(axis(0), 10)]).toEqual([0, []]);
      for (const at of [0, 1, 2]) await index.add(at, axis(at));
      const found = async (count: number) => (await index.search(Float32Array.of(1, 2, 3), count)).length;
      expect([await found(0), await found(1), await found(5)]).toEqual([0, 1, 3]);
    });

    it("replaces the vector of a slot that is in use", async () => {
      const index = await make(3);
      await index.add(1, axis(0));
      await index.add(1, axis(1));
      expect(index.size).toBe(1);
      expect(await index.search(axis(1), 5)).toEqual([{ slot: 1, score: expect.closeTo(1, 5) }]);
    });

    it("does not find a removed slot, and ignores the removal of an unknown one", async () => {
      const index = await make(3);
      for (const at of [0, 1, 2]) await index.add(at, axis(at));
      await index.remove(0);
      await index.remove(77);
      expect(index.size).toBe(2);
      const found = await index.search(axis(0), 5);
      expect(found.map(({ slot }) => slot).sort()).toEqual([1, 2]);
    });

    it.each([
      ["too short", Float32Array.of(1, 0)],
      ["too long", Float32Array.of(1, 0, 0, 0)],
      ["empty", new Float32Array(0)],
      ["all zero", new Float32Array(3)],
      ["not a number", Float32Array.of(1, Number.NaN, 0)],
      ["infinite", Float32Array.of(Number.POSITIVE_INFINITY, 0, 0)],
    ])("rejects a vector that is %s, in a row and in a query, and stays unchanged", async (_title, vector) => {
      const index = await make(3);
      await index.add(0, axis(0));
      await expect(index.add(1, vector)).rejects.toThrow(/xpected 3/);
      await expect(index.search(vector, 1)).rejects.toThrow(/xpected 3/);
      expect(await index.search(axis(0), 5)).toEqual([{ slot: 0, score: expect.closeTo(1, 5) }]);
    });

    it("returns a copy of the unit vector of each slot, and nothing for an unknown or removed one", async () => {
      const index = await make(3);
      const vector = Float32Array.of(0, 2, 0);
      await index.add(4, vector);
      vector.fill(9);
      await index.add(5, axis(0));
      await index.remove(5);
      expect([...(index.vectorOf(4) ?? [])]).toEqual([0, 1, 0]);
      expect([index.vectorOf(5), index.vectorOf(6)]).toEqual([undefined, undefined]);
      expect(index.scoreOf(4, Float32Array.of(0.6, 0.8, 0))).toBeCloseTo(0.8, 6);
      expect([index.scoreOf(5, axis(0)), index.scoreOf(6, axis(0))]).toEqual([undefined, undefined]);
    });

    it.each([3, 16, 17, 100, 384])(
      "finds the true ten nearest among 1,000 rows in %i dimensions",
      async (dimensions) => {
        const [index, truth] = [await make(dimensions), plainIndex(dimensions)];
        for (const [slot, vector] of clusteredVectors(1_000, dimensions, 20).entries())
          for (const one of [index, truth]) await one.add(slot, vector);
        let missed = 0;
        for (const query of clusteredVectors(20, dimensions, 20, 2)) {
          const tenth = (await truth.search(query, 10)).at(-1)?.score ?? 0;
          const found = await index.search(query, 10);
          expect(found).toHaveLength(10);
          missed += found.filter(({ score }) => score < tenth - 1e-5).length;
        }
        expect(missed).toBeLessThanOrEqual(missedShare * 200);
      },
    );

    it("finds what the reference index finds for queries less the mean of rows that have much in common", async () => {
      const [index, truth] = [await make(100), plainIndex(100)];
      const rows = alikeVectors(1_000, 100);
      for (const [slot, vector] of rows.entries()) for (const one of [index, truth]) await one.add(slot, vector);
      const mean = meanOf(rows, 100);
      let missed = 0;
      for (const query of rows.slice(0, 20)) {
        const centred = query.map((component, at) => component - (mean[at] as number));
        const expected = await truth.search(centred, 30);
        // Such a query is far from all rows, also from the nearest.
        expect(expected[0]?.score).toBeLessThan(0.5);
        const found = await index.search(centred, 30);
        const scores = new Map(expected.map(({ slot, score }) => [slot, score]));
        const right = found.filter(({ slot }) => scores.has(slot));
        missed += 30 - right.length;
        expect(right).toEqual(expected.filter(({ slot }) => right.some((hit) => hit.slot === slot)).map(closely));
      }
      expect(missed).toBeLessThanOrEqual(missedShare * 600);
    });

    it("agrees with the reference index after a thousand additions, replacements and removals", async () => {
      const index = await make(24);
      const truth = plainIndex(24);
      const next = randomNumbers(5);
      for (const vector of clusteredVectors(1_000, 24, 5, 3)) {
        const slot = Math.floor(next() * 300);
        const removes = next() < 0.4;
        for (const one of [index, truth]) await (removes ? one.remove(slot) : one.add(slot, vector));
      }
      expect(index.size).toBe(truth.size);
      for (const query of clusteredVectors(10, 24, 5, 4)) {
        const slots = (found: readonly { slot: number }[]) => found.map(({ slot }) => slot);
        expect(slots(await index.search(query, 10))).toEqual(slots(await truth.search(query, 10)));
      }
    });
  });
}

const closely = ({ slot, score }: ScoredSlot) => ({ slot, score: expect.closeTo(score, 5) });
