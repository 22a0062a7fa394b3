/** Quality of the ten recalls when rows repeat; quality-ratios.long.ts has the other measures. */
import { expect, it } from "@jest/globals";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../../bench/memory-quality/data.ts";
import { measureNearDuplicates, measureQuality, measureWaste } from "../../../bench/memory-quality/measure.ts";
import { fullRecall, vectorsAlone, wordsAlone } from "../../../bench/memory-quality/own.ts";

const read = (set: string): Space[] => [
  ...toSpaces(
    readLines<Doc>(`test/data/memory/${set}-docs.jsonl`),
    readLines<Query>(`test/data/memory/${set}-queries.jsonl`),
  ).values(),
];
const all = [...read("agent"), ...read("chat")];

it("ten recalls hold no near-duplicates when 15 % of the rows come six times more, and lose at most one point of recall", async () => {
  const { recall } = await measureQuality(fullRecall(), all);
  const repeated = await measureNearDuplicates(fullRecall(), all);
  expect(repeated.distinctOfTen).toBeGreaterThanOrEqual(9.9);
  expect(recall - repeated.recall).toBeLessThanOrEqual(0.01);
  // With such duplicates it must not fall below what it was when plain recall was .848.
  expect(repeated.recall).toBeGreaterThanOrEqual(0.845);
  expect((await measureNearDuplicates(wordsAlone(), all)).distinctOfTen).toBeLessThan(9);
});

it("ten recalls repeat nothing that the prompt shows, where plain vectors repeat it in a third of the hits", async () => {
  expect(await measureWaste(fullRecall(), all)).toBe(0);
  expect(await measureWaste(vectorsAlone, all)).toBeGreaterThan(0.3);
});
