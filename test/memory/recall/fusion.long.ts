/** Words and vectors are fused so that a good embedder finds what words cannot, and a poor one does no harm. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { Embedder, OpenIndex } from "#core/ports/vectors.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { paraphraseSet } from "../../../bench/memory-agent/sets.ts";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../../bench/memory-quality/data.ts";
import { measureQuality } from "../../../bench/memory-quality/measure.ts";
import { findOnly, fullRecall, toRow } from "../../../bench/memory-quality/own.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { plainIndex } from "../../helpers/plain-index.ts";
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
const recallOf = async (embedder: Embedder, spaces: readonly Space[]) =>
  (await measureQuality(findOnly(fullRecall("", embedder)), spaces)).recall;

describe("an embedder that", () => {
  let words: number;
  beforeAll(async () => {
    words = await recallOf(openHashEmbedder(), traces);
  });

  it.each<[title: string, make: () => Embedder]>([
    ["has one vector for all texts", constantEmbedder],
    ["has random vectors", () => noisyEmbedder(Number.POSITIVE_INFINITY)],
  ])("%s costs at most 1 %% of the evidence that words alone find", async (_title, make) => {
    expect(await recallOf(make(), traces)).toBeGreaterThanOrEqual(0.99 * words);
  });
});

const { rows, probes } = paraphraseSet("other");
const stored = rows.map(({ text }, place) => toRow({ doc_id: "", text, ns: "foo" }, place));
function open(embedder: Embedder, openIndex?: OpenIndex) {
  const memory = openLongTermMemory({
    store: {
      memories: async (_agent, after, limit) => stored.slice(after, after + limit),
      memory: async (_agent, id) => stored.find((row) => row.id === id),
      saveVectors: async () => {},
    },
    embedder,
    report: (problem) => expect(problem).toBe(""),
    ...(openIndex ? { openIndex } : {}),
  });
  const ask = (texts: readonly string[]) =>
    memory.recall({ agent: "bench", texts, count: 10, excludeSteps: new Set() }, live);
  return { memory, ask };
}

describe("a fact that is asked for in other words", () => {
  async function countFound(embedder: Embedder, before: readonly string[] = []) {
    const { ask } = open(embedder);
    let found = 0;
    for (const { question, answers } of probes)
      if ((await ask([...before, question])).some(({ text }) => text.includes(answers[0] ?? "none"))) found++;
    return found;
  }

  it("is recalled in more than half of the cases by the table, and in fewer by words alone", async () => {
    expect(await countFound(openWordEmbedder())).toBeGreaterThan(16);
    expect(await countFound(openHashEmbedder())).toBeLessThan(8);
  });

  it("is recalled as the newest of fifteen texts too", async () => {
    const before = rows.slice(40, 54).map(({ text }) => text);
    expect(await countFound(openWordEmbedder(), before)).toBeGreaterThan(10);
  });

  it("comes first with an embedder that knows it, though it shares no word with the question", async () => {
    const [fact, question] = ["Zorbl quinx vellamy.", "Hmpf trask ooligan?"];
    const table = openWordEmbedder();
    const knowing: Embedder = {
      ...table,
      embed: (texts, signal) =>
        table.embed(
          texts.map((text) => (text === question ? fact : text)),
          signal,
        ),
    };
    // Words find nothing, and then the newest row comes first.
    for (const text of [fact, "The kettle whistles."])
      stored.push(toRow({ doc_id: "", text, ns: "foo" }, stored.length));
    expect((await open(knowing).ask([question]))[0]?.text).toBe(fact);
    expect((await open(openHashEmbedder()).ask([question]))[0]?.text).not.toBe(fact);
    stored.length -= 2;
  });
});

describe("exact and remote indexes", () => {
  it("give the same ids, although a remote one rounds its scores", async () => {
    const rounding: OpenIndex = ({ dimensions }) => {
      const index = plainIndex(dimensions);
      const round = (score: number) => Math.round(score * 1e4) / 1e4;
      return {
        ...index,
        search: async (query, count) =>
          (await index.search(query, count)).map(({ slot, score }) => ({ slot, score: round(score) })),
      };
    };
    const systems = [open(openWordEmbedder()), open(openWordEmbedder(), rounding)];
    for (const { question } of probes.slice(0, 12)) {
      const ids = await Promise.all(systems.map(async ({ ask }) => (await ask([question])).map(({ id }) => id)));
      expect(ids[1]).toEqual(ids[0]);
    }
    for (const { memory } of systems) await memory.close();
  });
});
