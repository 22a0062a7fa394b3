import { describe, expect, it } from "@jest/globals";
import { Vocabulary } from "#memory/lexical/vocabulary.ts";
import { collectGarbage } from "../../helpers/collect-garbage.ts";

const WORDS = 10_000;

describe("a vocabulary", () => {
  it("keeps nothing on V8's heap for a number, which mostly comes once", async () => {
    const vocabulary = new Vocabulary();
    await collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < WORDS; number++) vocabulary.countTerms([`${number}17`]);
    await collectGarbage();
    expect((process.memoryUsage().heapUsed - before) / WORDS).toBeLessThan(30);
    expect(vocabulary.size).toBe(WORDS);
  });
});
