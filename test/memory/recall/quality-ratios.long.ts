/**
 * Quality of the ten recalls on the traces of test/data/memory, measured by bench/memory-quality: ratios to other search
 * engines in one run. Settings were tuned on the `dev` half alone.
 */
import { describe, expect, it } from "@jest/globals";
import { LEXICAL_SETTINGS } from "#memory/lexical/lexical-settings.ts";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../../bench/memory-quality/data.ts";
import { measureQuality, measureWaste } from "../../../bench/memory-quality/measure.ts";
import { findOnly, fullRecall, type System, vectorsAlone, wordsAlone } from "../../../bench/memory-quality/own.ts";
import { fullTextSearch, miniSearch } from "../../../bench/memory-quality/peers.ts";

const read = (set: string): Space[] => [
  ...toSpaces(
    readLines<Doc>(`test/data/memory/${set}-docs.jsonl`),
    readLines<Query>(`test/data/memory/${set}-queries.jsonl`),
  ).values(),
];
const [traces, chats] = [read("agent"), read("chat")];
/** quality.long.ts has the waste of all traces. */
const some = [...traces.slice(0, 2), ...chats];

const goald = findOnly(fullRecall());
const HALVES = ["dev", "test"] as const;
const measured = new Map<string, ReturnType<typeof measureQuality>>();
/** Measures each system once on each half of a kind of text. */
function measureHalf(system: System, spaces: readonly Space[], half: string): ReturnType<typeof measureQuality> {
  const key = `${system.name} ${half} ${spaces === chats}`;
  const quality = measured.get(key) ?? measureQuality(system, spaces, (query) => query.half === half);
  measured.set(key, quality);
  return quality;
}
async function measureBoth(system: System, spaces: readonly Space[]) {
  const halves = await Promise.all(HALVES.map((half) => measureHalf(system, spaces, half)));
  const questions = halves.reduce((sum, half) => sum + half.questions, 0);
  return { questions, recall: halves.reduce((sum, half) => sum + half.recall * half.questions, 0) / questions };
}

describe("the evidence of a question is among its ten recalls", () => {
  it.each([
    ["traces alone", traces, 200],
    ["chats alone", chats, 50],
  ])(
    "in %s at least 1.15 times as often as with SQLite's FTS5, 1.35 times as often as with MiniSearch",
    async (_, spaces, asked) => {
      const { recall, questions } = await measureBoth(goald, spaces);
      expect(questions).toBeGreaterThanOrEqual(asked);
      expect(recall / (await measureBoth(fullTextSearch, spaces)).recall).toBeGreaterThanOrEqual(1.15);
      expect(recall / (await measureBoth(miniSearch, spaces)).recall).toBeGreaterThanOrEqual(1.35);
    },
  );

  it.each(HALVES)("at least 1.15 times as often as with FTS5 on the %s half of each kind of text", async (half) => {
    for (const spaces of [traces, chats]) {
      const { recall } = await measureHalf(goald, spaces, half);
      expect(recall / (await measureHalf(fullTextSearch, spaces, half)).recall).toBeGreaterThanOrEqual(1.15);
    }
  });

  it("less than 1.15 times as often as with FTS5 in chats, without the window over neighbours", async () => {
    const alone = wordsAlone("no window", { ...LEXICAL_SETTINGS, window: [] });
    const { recall } = await measureQuality(alone, chats);
    expect((await measureQuality(wordsAlone(), chats)).recall).toBeGreaterThanOrEqual(1.3 * recall);
    expect(recall / (await measureBoth(fullTextSearch, chats)).recall).toBeLessThan(1.15);
  });
});

describe("ten recalls", () => {
  it("repeat nothing that the prompt shows, where plain vectors repeat it in a third of the hits", async () => {
    expect(await measureWaste(goald, some)).toBe(0);
    expect(await measureWaste(vectorsAlone, some)).toBeGreaterThan(0.3);
  });
});
