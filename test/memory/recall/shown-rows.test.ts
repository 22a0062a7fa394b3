import { describe, expect, it } from "@jest/globals";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall, RecallQuery } from "#core/ports/recall.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";

const live = new AbortController().signal;

const step = (seq: number, text: string, change: Partial<MemoryRow> = {}): MemoryRow => ({
  id: `foo/${seq}`,
  ...{ seq, step: seq, change: seq, text, namespace: "foo", kind: "step", trust: "agent", importance: 0.4 },
  ...{ at: "2026-11-20T10:00:00.000Z", supersedes: null, supersededBy: null, key: null, source: null },
  ...{ pinned: false, forgotten: null, embedder: null, vector: null },
  ...change,
});

/** Recalls for one question; `rows` in the order of their changes. */
async function recall(rows: readonly MemoryRow[], text: string, change: Partial<RecallQuery> = {}) {
  const memory = openLongTermMemory({
    store: {
      memories: async (_agent, after, limit) => rows.filter((row) => row.change > after).slice(0, limit),
      memory: async (_agent, id) => rows.findLast((row) => row.id === id),
      saveVectors: async () => undefined,
    },
    embedder: openHashEmbedder(),
    report: (problem) => {
      throw new Error(problem);
    },
  });
  const found = await memory.recall(
    { agent: "foo", texts: [text], count: 1, excludeSteps: new Set(), ...change },
    live,
  );
  await memory.close();
  return found;
}
const ids = (rows: readonly { readonly id: string }[] = []): readonly string[] => rows.map(({ id }) => id);
const around = ({ around: { before, after } = { before: [], after: [] } }: Recall) => [ids(before), ids(after)];

const TEXTS = ["alpha", "beta", "gamma", "delta", "a red kite", "epsilon", "zeta", "eta"];
const steps = (change: (seq: number) => Partial<MemoryRow> = () => ({})): readonly MemoryRow[] =>
  TEXTS.map((text, at) => step(at + 1, text, change(at + 1)));

describe("the rows around a recall", () => {
  it.each<[title: string, rows: readonly MemoryRow[], excluded: readonly number[], before: string, after: string]>([
    ["two on each side, the nearest first", steps(), [], "4 3", "6 7"],
    ["no idle step", steps((seq) => (seq === 4 ? { importance: 0 } : {})), [], "3 2", "6 7"],
    ["no forgotten row", steps((seq) => (seq === 6 ? { text: "", forgotten: "person" } : {})), [], "4 3", "7 8"],
    ["no replaced row", steps((seq) => (seq === 6 ? { supersededBy: "foo/9" } : {})), [], "4 3", "7 8"],
    ["no memory of a turn", steps((seq) => (seq === 6 ? { kind: "turn" } : {})), [], "4 3", "7 8"],
    ["nothing of the prompt, and nothing from there on", steps(), [7, 8], "4 3", "6"],
  ])("are %s", async (_title, rows, excluded, before, after) => {
    const [found] = await recall(rows, "red kite", { excludeSteps: new Set(excluded) });
    expect(found && around(found)).toEqual([before, after].map((list) => list.split(" ").map((seq) => `foo/${seq}`)));
  });

  it("are the same after a restart, when a row that was pinned is read last", async () => {
    const pinned = steps((seq) => (seq === 4 ? { change: 99, pinned: true } : {})).toSorted(
      (a, b) => a.change - b.change,
    );
    const found = await recall(pinned, "red kite", { count: 2 });
    const kite = found.find(({ id }) => id === "foo/5");
    expect(kite && around(kite)).toEqual([
      ["foo/4", "foo/3"],
      ["foo/6", "foo/7"],
    ]);
  });

  it("are those of its newest copy when the text came twice", async () => {
    const [found] = await recall([...steps(), step(9, "A red kite"), step(10, "theta")], "red kite");
    expect(found && around(found)).toEqual([["foo/8", "foo/7"], ["foo/10"]]);
  });

  it("of a piece of a text are the pieces beside it, and no other row has pieces around it", async () => {
    const piece = (n: number, text: string, source: string) =>
      step(0, text, { id: `foo/+${n}`, change: 20 + n, kind: "file_chunk", step: null, source });
    const pieces = [
      piece(1, "iota", "a.md"),
      piece(2, "kappa", "a.md"),
      piece(3, "a blue boat", "a.md"),
      piece(4, "mu", "b.md"),
    ];
    const rows = [...steps(), ...pieces];
    const [found] = await recall(rows, "blue boat");
    expect(found && around(found)).toEqual([["foo/+2", "foo/+1"], []]);
    const [first] = await recall(rows, "alpha");
    expect(first && around(first)).toEqual([[], ["foo/2", "foo/3"]]);
  });
});

describe("a series", () => {
  const listing = (seq: number, change: Partial<MemoryRow> = {}) =>
    step(seq, `Listing ${300 + seq}: the price is ${seq * 7} euros.`, change);
  const rows = [1, 2, 3, 4].map((seq) => listing(seq));

  it("is recalled as its newest row with the others, the newest first", async () => {
    const [found, ...more] = await recall([...rows, step(5, "a red kite")], "Which prices of listings do I know?");
    expect([found?.id, ids(found?.series?.rows), more]).toEqual(["foo/4", ["foo/3", "foo/2", "foo/1"], []]);
  });

  it("begins with the row whose number the query has", async () => {
    const [found] = await recall(rows, "What is the price of listing 302?");
    expect([found?.id, ids(found?.series?.rows)]).toEqual(["foo/2", ["foo/4", "foo/3", "foo/1"]]);
  });

  it.each([
    ["listing 305", "foo/5"],
    // The newest has the price alone, and an older one both numbers.
    ["listing 344 for 308 euros", "foo/44"],
    ["listing 99999, which none is", "foo/2000"],
  ])("begins with that row also far back in a long series: the price of %s", async (asked, id) => {
    const many = Array.from({ length: 2_000 }, (_, at) => listing(at + 1));
    const [found] = await recall(many, `What is the price of ${asked}?`);
    expect([found?.id, found?.series?.others]).toEqual([id, 1_975]);
  });

  it("has no forgotten row, none of the prompt, none from elsewhere, and none with the words in another order", async () => {
    const others = [
      listing(5, { text: "", forgotten: "person" }),
      listing(6),
      listing(7, { trust: "web" }),
      step(8, "The price is 9 euros: listing 308."),
    ];
    const [found] = await recall([...rows, ...others], "price of listing 302", { excludeSteps: new Set([6]) });
    expect(ids(found?.series?.rows)).toEqual(["foo/4", "foo/3", "foo/1"]);
  });

  it("has no fact with a subject and an attribute, in which only the number may say that it holds no longer", async () => {
    const facts = [1, 2, 3].map((seq) => listing(seq, { kind: "fact", factKey: `listing ${seq}` }));
    const found = await recall(facts, "prices of listings", { count: 3 });
    expect(found.map(({ id, series }) => [id, series])).toEqual(
      ["foo/3", "foo/2", "foo/1"].map((id) => [id, undefined]),
    );
    const [plain] = await recall([...facts, listing(4, { kind: "fact" })], "price of listing 304");
    expect([plain?.id, plain?.series]).toEqual(["foo/4", undefined]);
    const [newest] = await recall([listing(1, { kind: "fact" }), ...facts.slice(1)], "prices of listings");
    expect([newest?.id, newest?.series]).toEqual(["foo/3", undefined]);
    const notes = facts.map(({ factKey: _, ...row }) => row);
    const [note] = await recall(notes, "prices of listings", { count: 3 });
    expect(ids(note?.series?.rows)).toEqual(["foo/2", "foo/1"]);
  });

  it("is bounded, and counts the rest", async () => {
    const many = Array.from({ length: 100 }, (_, at) => listing(at + 1));
    const [found] = await recall(many, "prices of listings");
    expect(found?.series?.rows).toHaveLength(24);
    expect(found?.series?.others).toBe(75);
  });

  it("needs changing numbers", async () => {
    const [found] = await recall([step(1, "One kite, red."), step(2, "red: one kite")], "red kite");
    expect(found?.series).toBeUndefined();
  });
});

describe("rows that say nothing", () => {
  const question = "What do I know about Ada?";
  const asked = step(1, `Thought: ${question}`);
  const idle = step(2, `Thought: Ada, Ada. What do I know? Command: do_nothing`, { importance: 0 });
  const told = step(3, "Thought: Ada plays the cello on Mondays and lives near the old harbour.");
  const other = step(4, "Thought: soup with beans");

  it("come after all that say something, even if they are more like the query", async () => {
    const found = ids(await recall([asked, idle, told, other], question, { count: 4 }));
    expect([found.slice(0, 2), found.slice(2).toSorted()]).toEqual([
      ["foo/3", "foo/4"],
      ["foo/1", "foo/2"],
    ]);
  });

  it("are not those that add a word or a number, those of a person, and statements", async () => {
    const kept = [
      step(1, "Thought: What do I know about Ada since Bruges?"),
      step(2, "Thought: What do I know about Ada 7?"),
      step(3, `ada said: ${question}`, { trust: "person" }),
      step(4, "Thought: I know about Ada"),
    ];
    const soup = step(9, "soup with beans");
    for (const row of kept) expect(ids(await recall([row, soup], question, { count: 2 }))).toEqual([row.id, "foo/9"]);
    expect(ids(await recall([asked, soup], question, { count: 2 }))).toEqual(["foo/9", "foo/1"]);
  });
});

describe("rows that one of several texts repeats", () => {
  const said = step(1, "Thought: Ada plays the cello.");
  const soup = step(9, "Thought: soup with beans");
  const search = async (...texts: string[]) => ids(await recall([said, soup], "", { texts, count: 2 }));

  it("come last, and rows with another word do not", async () => {
    expect(await search("Ada plays the cello on Mondays.", "Who plays?")).toEqual(["foo/9", "foo/1"]);
    expect(await search("Ada plays the trumpet on Mondays.", "Who plays?")).toEqual(["foo/1", "foo/9"]);
  });

  it("come first when that text is the whole query", async () => {
    expect(await search("Ada plays the cello on Mondays.")).toEqual(["foo/1", "foo/9"]);
  });
});
