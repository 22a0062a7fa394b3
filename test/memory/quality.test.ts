/**
 * How well the ten are chosen, held on the traces of test/data/memory with the kit of bench/memory-quality.ts: ratios beside
 * other ways to search, in one run. Settings were chosen on the `dev` half alone.
 */
import { describe, expect, it } from "@jest/globals";
import { LEXICAL_SETTINGS } from "#memory/lexical-settings.ts";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../bench/memory-quality/data.ts";
import { measureNearDuplicates, measureQuality, measureWaste } from "../../bench/memory-quality/measure.ts";
import { fullRecall, vectorsAlone, wordsAlone } from "../../bench/memory-quality/own.ts";
import { fullTextSearch, miniSearch } from "../../bench/memory-quality/peers.ts";

const read = (set: string): Space[] => [
  ...toSpaces(
    readLines<Doc>(`test/data/memory/${set}-docs.jsonl`),
    readLines<Query>(`test/data/memory/${set}-queries.jsonl`),
  ).values(),
];
const [traces, chats] = [read("agent"), read("chat")];
const all = [...traces, ...chats];

describe("among the ten recalls of a question is its evidence", () => {
  it.each([
    ["traces alone", traces, 200],
    ["chats alone", chats, 50],
  ])(
    "of %s at least 1.15 times as often as with SQLite's FTS5, 1.35 times as often as with MiniSearch",
    async (_, spaces, asked) => {
      const { recall, questions } = await measureQuality(fullRecall(), spaces);
      expect(questions).toBeGreaterThanOrEqual(asked);
      expect(recall / (await measureQuality(fullTextSearch, spaces)).recall).toBeGreaterThanOrEqual(1.15);
      expect(recall / (await measureQuality(miniSearch, spaces)).recall).toBeGreaterThanOrEqual(1.35);
    },
  );

  it.each(["dev", "test"])("and so on the %s half of each kind of text, beside FTS5", async (half) => {
    for (const spaces of [traces, chats]) {
      const asks = (query: Query) => query.half === half;
      const { recall } = await measureQuality(fullRecall(), spaces, asks);
      expect(recall / (await measureQuality(fullTextSearch, spaces, asks)).recall).toBeGreaterThanOrEqual(1.15);
    }
  });

  it("which it would not be without the window over neighbours: it goes below FTS5's 1.15 times in chats", async () => {
    const alone = wordsAlone("no window", { ...LEXICAL_SETTINGS, window: [] });
    const { recall } = await measureQuality(alone, chats);
    expect((await measureQuality(wordsAlone(), chats)).recall).toBeGreaterThanOrEqual(1.3 * recall);
    expect(recall / (await measureQuality(fullTextSearch, chats)).recall).toBeLessThan(1.15);
  });
});

describe("of the ten", () => {
  it("none is what the prompt shows, where plain vectors asked with the same nine messages give a third of that", async () => {
    expect(await measureWaste(fullRecall(), all)).toBe(0);
    expect(await measureWaste(vectorsAlone, all)).toBeGreaterThan(0.3);
  });

  it("no two say the same when 15 % of what is remembered comes six times more, and at most 1 % of the evidence is lost", async () => {
    const { recall } = await measureQuality(fullRecall(), all);
    const repeated = await measureNearDuplicates(fullRecall(), all);
    expect(repeated.distinctOfTen).toBeGreaterThanOrEqual(9.9);
    expect(repeated.recall).toBeGreaterThanOrEqual(0.99 * recall);
    expect((await measureNearDuplicates(wordsAlone(), all)).distinctOfTen).toBeLessThan(9);
  });
});
