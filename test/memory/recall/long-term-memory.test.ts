import { describe, expect, it } from "@jest/globals";
import type { RecallQuery } from "#core/ports/recall.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { type MemoryRows, memoryRows } from "../../helpers/memory-rows.ts";
import { randomNumbers } from "../../helpers/random-vectors.ts";

const live = new AbortController().signal;
const steps = (...numbers: number[]): ReadonlySet<number> => new Set(numbers);
const query = (change: Partial<RecallQuery> = {}): RecallQuery => ({
  agent: "foo",
  texts: ["What did the shop say about strings?"],
  count: 10,
  excludeSteps: steps(),
  ...change,
});

function open(store: MemoryRows = memoryRows()) {
  const reports: string[] = [];
  const memory = openLongTermMemory({
    store,
    embedder: openHashEmbedder(),
    report: (problem) => reports.push(problem),
  });
  const recall = (change: Partial<RecallQuery> = {}) => memory.recall(query(change), live);
  return { store, memory, reports, recall };
}

const letters = (seed: number) => {
  const next = randomNumbers(seed);
  return () =>
    Array.from({ length: 4 + Math.floor(next() * 5) }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join(
      "",
    );
};
/** A text that shares no word with the others. */
const distinct = (number: number) => Array.from({ length: 8 }, letters(number)).join(" ");
const nearIdentical = (number: number) =>
  `Command: write_to_file\nResult (ok): Wrote ${number} bytes to part-${number}.txt`;

describe("recall", () => {
  it("finds nothing in an empty memory or for an unknown agent", async () => {
    const { recall, reports } = open();
    expect(await recall()).toEqual([]);
    expect(await recall({ agent: "nobody" })).toEqual([]);
    expect(reports).toEqual([]);
  });

  it("returns the fields that a prompt needs, best first", async () => {
    const { recall, store } = open();
    store.add("foo", "The shop says the red strings are out of stock.", { trust: "web", step: 4 });
    store.add("foo", "A bowl of soup.");
    const [first, second, ...more] = await recall();
    expect(first).toEqual({
      id: "foo/1",
      seq: 1,
      step: 4,
      at: "2026-11-20T10:00:00.000Z",
      kind: "step",
      trust: "web",
      text: "The shop says the red strings are out of stock.",
      score: expect.any(Number),
      around: { before: [], after: [expect.objectContaining({ id: "foo/2" })] },
    });
    expect(first?.score).toBeGreaterThan(second?.score ?? Number.NaN);
    expect(more).toEqual([]);
  });

  it("never mixes the memories of two agents", async () => {
    const { recall, store } = open();
    store.add("foo", "The shop sells strings.");
    store.add("bar", "The shop sells strings, says bar.");
    expect((await recall()).map(({ id }) => id)).toEqual(["foo/1"]);
    expect((await recall({ agent: "bar" })).map(({ id }) => id)).toEqual(["bar/1"]);
  });

  it("reads each row once, and finds rows added since", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 600; row++) store.add("foo", distinct(row));
    await recall();
    expect(store.counts.read).toBe(600);
    store.add("foo", "The shop says: no strings today.");
    expect((await recall())[0]?.id).toBe("foo/601");
    expect(store.counts.read).toBe(601);
  });

  it("returns the same after a restart", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 300; row++) store.add("foo", `${distinct(row)} strings`);
    const before = await recall({ excludeSteps: steps(300, 299) });
    expect(await open(store).recall({ excludeSteps: steps(300, 299) })).toEqual(before);
  });

  it("returns the same whatever the earlier queries", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 300; row++)
      store.add("foo", `${row % 3 === 0 ? distinct(row) : nearIdentical(row)} strings`);
    for (const text of ["bytes", "Wrote 7 bytes to part-7.txt", "strings"]) await recall({ texts: [text] });
    expect(await recall()).toEqual(await open(store).recall());
  });

  it("returns the same after its agent was released", async () => {
    const { recall, store, memory } = open();
    for (let row = 1; row <= 300; row++) store.add("foo", `${distinct(row)} strings`);
    const before = await recall();
    await memory.release("foo");
    await memory.release("nobody");
    expect(await recall()).toEqual(before);
    expect(store.counts.read).toBe(600);
  });

  it("answers two concurrent queries", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 30; row++) store.add("foo", distinct(row));
    const [one, two] = await Promise.all([recall(), recall()]);
    expect(one).toHaveLength(10);
    expect(two).toEqual(one);
  });
});

describe("a step that the prompt shows", () => {
  const shown = steps(28, 29, 30);
  const filled = () => {
    const opened = open();
    for (let row = 1; row <= 30; row++)
      opened.store.add("foo", `${distinct(row)} strings in the shop ${row > 27 ? "strings shop" : ""}`);
    return opened;
  };

  it("is never recalled, however similar it is", async () => {
    const found = await filled().recall({ excludeSteps: shown });
    expect(found.filter(({ step }) => shown.has(step ?? 0))).toEqual([]);
    expect(found).toHaveLength(10);
  });

  it("would be recalled first if it were not excluded", async () => {
    const found = await filled().recall();
    expect(found.filter(({ step }) => shown.has(step ?? 0)).length).toBeGreaterThan(0);
  });

  it("is not recalled from another step that left the same text", async () => {
    const { recall, store } = open();
    for (const text of ["Strings: none.", "soup", "strings:  NONE."]) store.add("foo", text);
    expect((await recall({ excludeSteps: steps(3) })).map(({ step }) => step)).toEqual([2]);
    expect((await recall({ excludeSteps: steps(1) })).map(({ step }) => step)).toEqual([2]);
  });

  it("is left out with all its rows", async () => {
    const { recall, store } = open();
    store.add("foo", "strings", { step: 1 });
    store.add("foo", "Ada said: strings!", { step: 1 });
    store.add("foo", "soup", { step: 2 });
    expect((await recall({ excludeSteps: steps(1) })).map(({ id }) => id)).toEqual(["foo/3"]);
  });

  it("may change from one recall to the next without losing a row", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 120; row++) store.add("foo", `${distinct(row)} strings`);
    for (const first of [1, 41, 81, 21]) {
      const excludeSteps = new Set(Array.from({ length: 80 }, (_, at) => first + at));
      const found = await recall({ excludeSteps });
      expect(found).toHaveLength(10);
      expect(found.filter(({ step }) => excludeSteps.has(step ?? 0))).toEqual([]);
    }
  });
});

describe("ten recalls", () => {
  it.each([
    [10, 0, 10],
    [11, 1, 10],
    [15, 5, 10],
    [12, 5, 7],
    [5, 5, 0],
    [500, 9, 10],
    [1_000, 5, 10],
  ])("of %i distinct rows with %i shown: %i", async (rows, shown, expected) => {
    const { recall, store } = open();
    for (let row = 1; row <= rows; row++) store.add("foo", distinct(row));
    const excludeSteps = new Set(Array.from({ length: shown }, (_, at) => rows - at));
    expect(await recall({ excludeSteps })).toHaveLength(expected);
  });

  it.each([
    ["30 rows that differ in numbers only", 30, 0, 10],
    ["30 such rows and 4 others", 30, 4, 10],
    ["200 such rows and 9 others", 200, 9, 10],
    ["3 such rows and 2 others", 3, 2, 5],
  ])("are returned from %s, all the others among them", async (_title, near, others, expected) => {
    const { recall, store } = open();
    for (let row = 1; row <= others; row++) store.add("foo", distinct(row));
    for (let row = 1; row <= near; row++) store.add("foo", nearIdentical(row));
    const texts = ["Command: write_to_file", "Result (ok): Wrote 7 bytes to part-7.txt"];
    const found = await recall({ texts });
    expect(found).toHaveLength(expected);
    expect(new Set(found.map(({ id }) => id)).size).toBe(expected);
    if (near + others <= 50) expect(found.filter(({ id }) => Number(id.slice(4)) <= others)).toHaveLength(others);
  });

  it("are returned while an agent repeats itself, distinct rows before near-duplicates", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 12; row++) store.add("foo", `${distinct(row)} Wrote bytes`);
    for (let row = 13; row <= 90; row++) {
      const { text, step: stepOfRow } = store.add("foo", nearIdentical(row));
      const step = stepOfRow ?? 0;
      const found = await recall({ texts: [text], excludeSteps: steps(step, step - 1, step - 2) });
      expect(found).toHaveLength(10);
      expect(found.filter(({ text }) => text.startsWith("Command"))).toHaveLength(row > 15 ? 1 : 0);
    }
  });

  it("hold each text once, as its newest row", async () => {
    const { recall, store } = open();
    for (let row = 1; row <= 60; row++)
      store.add("foo", row % 2 === 0 ? "Strings are SOLD out." : `strings are  sold out. `);
    store.add("foo", "soup");
    expect((await recall()).map(({ step }) => step)).toEqual([60, 61]);
  });

  it.each([
    ["no texts", []],
    ["blank texts", ["", " \n"]],
    ["texts without a word", ["!!!", "🎾"]],
    ["a text of a megabyte", ["shop ".repeat(200_000)]],
    ["a hundred texts", Array.from({ length: 100 }, (_, at) => `text ${at}`)],
    ["the same text nine times", Array(9).fill("shop")],
  ])("are returned for %s", async (_title, texts) => {
    const { recall, store } = open();
    for (let row = 1; row <= 20; row++) store.add("foo", distinct(row));
    expect(await recall({ texts })).toHaveLength(10);
  });

  it.each([0, 1, 3, 25, 100])("may be %i instead", async (count) => {
    const { recall, store } = open();
    for (let row = 1; row <= 150; row++) store.add("foo", distinct(row));
    expect(await recall({ count })).toHaveLength(count);
  });
});
