/** Embedders of every strength on all traces and chats; fusion.test.ts has the rest. */
import { expect, it } from "@jest/globals";
import type { Embedder } from "#core/ports/vectors.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { type Doc, type Query, readLines, type Space, toSpaces } from "../../../bench/memory-quality/data.ts";
import { measureQuality } from "../../../bench/memory-quality/measure.ts";
import { fullRecall } from "../../../bench/memory-quality/own.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { constantEmbedder, noisyEmbedder } from "../../helpers/poor-embedders.ts";

const read = (set: string): Space[] => [
  ...toSpaces(
    readLines<Doc>(`test/data/memory/${set}-docs.jsonl`),
    readLines<Query>(`test/data/memory/${set}-queries.jsonl`),
  ).values(),
];
const [traces, chats] = [read("agent"), read("chat")];
const recallOf = async (embedder: Embedder, spaces: readonly Space[]) =>
  (await measureQuality(fullRecall("", embedder), spaces)).recall;

it.each<[title: string, make: () => Embedder]>([
  ["with one vector for all texts", constantEmbedder],
  ["with random vectors", () => noisyEmbedder(Number.POSITIVE_INFINITY)],
  ["with vectors that are noise by two thirds", () => noisyEmbedder(1.5)],
  ["with vectors of spellings, which agree with shared words", () => ({ ...openHashEmbedder(), semantic: true })],
])("an embedder %s costs at most 1 %% of the evidence that words alone find", async (_title, make) => {
  expect(await recallOf(make(), traces)).toBeGreaterThanOrEqual(0.99 * (await recallOf(openHashEmbedder(), traces)));
});

it("the offline embedder finds more than words alone in traces, and loses nothing in chats", async () => {
  const words = openHashEmbedder();
  expect(await recallOf(openWordEmbedder(), traces)).toBeGreaterThan(1.1 * (await recallOf(words, traces)));
  expect(await recallOf(openWordEmbedder(), chats)).toBeGreaterThanOrEqual(await recallOf(words, chats));
});
