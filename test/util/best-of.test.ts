import { describe, expect, it } from "@jest/globals";
import { BestOf } from "#util/best-of.ts";
import { randomNumbers } from "../helpers/random-vectors.ts";

describe("BestOf", () => {
  it.each([
    ["rising", (at: number) => at],
    ["falling", (at: number) => -at],
    ["shuffled", (at: number) => (at * 7919) % 1000],
  ])("keeps the highest of scores that come %s", (_title, scoreOf) => {
    const best = new BestOf(25);
    for (let slot = 0; slot < 1_000; slot++) best.offer(scoreOf(slot), slot);
    const sorted = Array.from({ length: 1_000 }, (_, slot) => slot).sort((a, b) => scoreOf(b) - scoreOf(a));
    expect(best.slots().sort((a, b) => a - b)).toEqual(sorted.slice(0, 25).sort((a, b) => a - b));
  });

  it("returns the kept slots best first, the higher of equals first, and empties the heap", () => {
    const best = new BestOf(20);
    for (const round of [7, 5]) {
      for (let slot = 0; slot < 300; slot++) best.offer((slot * 7919) % round, slot);
      const sorted = Array.from({ length: 300 }, (_, slot) => ({ slot, score: (slot * 7919) % round }));
      sorted.sort((a, b) => b.score - a.score || b.slot - a.slot);
      expect(best.take()).toEqual(sorted.slice(0, 20));
      expect(best.slots()).toEqual([]);
    }
  });

  it("keeps nothing with capacity 0, and everything below its capacity", () => {
    const none = new BestOf(0);
    none.offer(1, 1);
    expect(none.slots()).toEqual([]);
    const some = new BestOf(10);
    const next = randomNumbers(3);
    for (let slot = 0; slot < 4; slot++) some.offer(next(), slot);
    expect(some.slots().sort()).toEqual([0, 1, 2, 3]);
  });
});
