/** A process that starts anew recalls what one recalls that went on. */
import { expect, it } from "@jest/globals";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openWordEmbedder } from "#memory/vectors/word-embedder.ts";
import { makeTexts } from "../../../bench/memory-size/fill.ts";
import { type MemoryRows, memoryRows } from "../../helpers/memory-rows.ts";

const ROWS = 9_000;
const live = new AbortController().signal;
const fail = (problem: string): never => {
  throw new Error(problem);
};
const open = (store: MemoryRows) => openLongTermMemory({ store, embedder: openWordEmbedder(), report: fail });
const asking = (text: string) => ({ agent: "foo", texts: [text], count: 10, excludeSteps: new Set<number>() });

it("recalls the same from 9,000 rows with the word table in its first recall", async () => {
  const store = memoryRows();
  const makeText = makeTexts(4);
  const add = (row: number) => store.add("foo", makeText(200), { kind: row % 3 === 0 ? "piece" : "step" });
  for (let row = 0; row < ROWS - 30; row++) add(row);
  const going = open(store);
  await going.recall(asking("Good morning"), live);
  for (let row = 0; row < 30; row += 3) {
    for (const kind of [0, 1, 2]) add(kind);
    await going.recall(asking(makeText(80)), live);
  }
  const restarted = open(store);
  for (let question = 0; question < 10; question++) {
    const text = makeText(120);
    const [expected, found] = [await going.recall(asking(text), live), await restarted.recall(asking(text), live)];
    expect(found).toHaveLength(10);
    expect(found.map(({ id, score }) => [id, score])).toEqual(expected.map(({ id, score }) => [id, score]));
  }
});
