import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ScoredSlot } from "#core/ports/vectors.ts";
import { mergeParts } from "#memory/recall/merge-rankings.ts";
import type { QueryPart } from "#memory/recall/query-parts.ts";

const part = (weight: number): QueryPart => ({
  text: "",
  weight,
  words: [],
  stems: new Uint32Array(),
  numbers: new Set(),
});
const rankingOf = (scores: Readonly<Record<number, number>>): readonly ScoredSlot[] =>
  Object.entries(scores)
    .map(([slot, score]) => ({ slot: Number(slot), score }))
    .sort((a, b) => b.score - a.score);

describe("mergeParts", () => {
  it("scores a row by the part that it stands out for, whatever the scale of other parts", () => {
    const reports = rankingOf({ 1: 9.2, 2: 9.1, 3: 9 });
    const answers = rankingOf({ 4: 2, 5: 0.1 });
    const slots = mergeParts((at) => [reports, answers][at] ?? [], [part(0.8), part(1)]).map(({ slot }) => slot);
    expect(slots[0]).toBe(4);
    expect(slots.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  it("with a limit returns the first of all, without searching parts of too little weight", () => {
    const texts = fc.array(
      fc.record({
        weight: fc.double({ min: 0.1, max: 1, noNaN: true }),
        hits: fc.dictionary(
          fc.integer({ min: 0, max: 40 }).map(String),
          fc.double({ min: 0.01, max: 20, noNaN: true }),
        ),
      }),
      { minLength: 1, maxLength: 9 },
    );
    let [asked, all] = [0, 0];
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 12 }), (given, limit) => {
        const parts = given.map(({ weight }) => part(weight));
        const rankings = given.map(({ hits }) => rankingOf(hits));
        const whole = mergeParts((at) => rankings[at] ?? [], parts);
        const first = mergeParts(
          (at) => {
            asked++;
            return rankings[at] ?? [];
          },
          parts,
          limit,
        );
        all += parts.length;
        expect(first).toEqual(whole.slice(0, limit));
      }),
    );
    expect(asked).toBeLessThan(0.9 * all);
  });
});
