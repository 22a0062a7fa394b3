import { describe, expect, it } from "@jest/globals";
import { orderOf } from "#core/memory.ts";
import type { MemoryRow, Recall, RecallQuery } from "#core/ports/memory.ts";
import { type QueryPart, queryParts } from "#memory/recall/query-parts.ts";
import { findFocus, RowTexts, weighStems } from "#memory/recall/read-rows.ts";
import { SeriesGroups } from "#memory/recall/series-groups.ts";
import { excerptOf } from "#prompt/recalls.ts";
import { wordsOf } from "#util/words.ts";
import { fixedEmbedder, type MemoryRows, memoryRows, openRecall, shownIds } from "../helpers/memory-rows.ts";

const step = (seq: number, text: string, change: Partial<MemoryRow> = {}): MemoryRow => ({
  ...memoryRows().add("foo", text, { seq, step: seq }),
  change: seq,
  ...change,
});

/** Recalls for one question; `rows` in the order of their changes. */
async function recall(rows: readonly MemoryRow[], text: string, change: Partial<RecallQuery> = {}) {
  const store: MemoryRows = {
    ...memoryRows(),
    memories: async (_agent, after, limit) => rows.filter((row) => row.change > after).slice(0, limit),
    memory: async (_agent, id) => rows.findLast((row) => row.id === id),
  };
  const { memory, recall } = openRecall({ store, report: (problem) => expect(problem).toBe("") });
  const found = await recall([text], { count: 1, ...change });
  await memory.close();
  return found;
}
const ids = (rows: readonly { readonly id: string }[] = []): readonly string[] => rows.map(({ id }) => id);
const around = ({ id, around: near = [] }: Recall) => [
  ids(near.filter((row) => orderOf(row.id) < orderOf(id))),
  ids(near.filter((row) => orderOf(row.id) > orderOf(id))),
];

const TEXTS = ["alpha", "beta", "gamma", "delta", "a red kite", "epsilon", "zeta", "eta"];
const steps = (change: (seq: number) => Partial<MemoryRow> = () => ({})): readonly MemoryRow[] =>
  TEXTS.map((text, at) => step(at + 1, text, change(at + 1)));

describe("the rows around a recall", () => {
  it.each<[title: string, rows: readonly MemoryRow[], excluded: readonly number[], before: string, after: string]>([
    ["one on each side", steps(), [], "4", "6"],
    ["no idle step", steps((seq) => (seq === 4 ? { importance: 0 } : {})), [], "3", "6"],
    ["no forgotten row", steps((seq) => (seq === 6 ? { text: "", forgotten: "person" } : {})), [], "4", "7"],
    ["no replaced row", steps((seq) => (seq === 6 ? { supersededBy: "foo/9" } : {})), [], "4", "7"],
    ["no memory of a turn", steps((seq) => (seq === 6 ? { kind: "turn" } : {})), [], "4", "7"],
    ["nothing of the prompt, and nothing from there on", steps(), [6], "4", ""],
  ])("are %s", async (_title, rows, excluded, before, after) => {
    const [found] = await recall(rows, "red kite", { excludeSteps: new Set(excluded) });
    expect(found && around(found)).toEqual([before, after].map((seq) => (seq === "" ? [] : [`foo/${seq}`])));
  });

  it("are the same after a restart, when a row that was pinned is read last", async () => {
    const pinned = steps((seq) => (seq === 4 ? { change: 99, pinned: true } : {}));
    const byChange = pinned.toSorted((a, b) => a.change - b.change);
    const found = await recall(byChange, "red kite", { count: 2 });
    const kite = found.find(({ id }) => id === "foo/5");
    expect(kite && around(kite).map((ids) => ids.join(" "))).toEqual(["foo/4", "foo/6"]);
  });

  it("are those of its newest copy when the text came twice", async () => {
    const [found] = await recall([...steps(), step(9, "A red kite"), step(10, "theta")], "red kite");
    expect(found && around(found)).toEqual([["foo/8"], ["foo/10"]]);
  });

  it("of a piece of a text are the pieces beside it, and no other row has pieces around it", async () => {
    const piece = (n: number, text: string, source: string) =>
      step(0, text, { id: `foo/+${n}`, change: 20 + n, kind: "file_chunk", step: null, source });
    const pieces = ["iota", "kappa", "a blue boat"].map((text, at) => piece(at + 1, text, "a.md"));
    const rows = [...steps(), ...pieces, piece(4, "mu", "b.md")];
    const [found] = await recall(rows, "blue boat");
    expect(found && around(found)).toEqual([["foo/+2"], []]);
    const [first] = await recall(rows, "alpha");
    expect(first && around(first)).toEqual([[], ["foo/2"]]);
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

  it.each([
    ["listing 302", "foo/2"],
    // The newest has the price alone, and an older one both numbers.
    ["listing 344 for 308 euros", "foo/44"],
    ["listing 99999, which none is", "foo/2000"],
  ])(
    "begins with the row whose numbers the query has, far back in a long series: the price of %s",
    async (asked, id) => {
      const many = Array.from({ length: 2_000 }, (_, at) => listing(at + 1));
      const [found] = await recall(many, `What is the price of ${asked}?`);
      expect([found?.id, found?.series?.others]).toEqual([id, 1_975]);
    },
  );

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
    expect(found.map(({ id, series }) => `${id} ${series}`)).toEqual([3, 2, 1].map((seq) => `foo/${seq} undefined`));
    const [plain] = await recall([...facts, listing(4, { kind: "fact" })], "price of listing 304");
    expect([plain?.id, plain?.series]).toEqual(["foo/4", undefined]);
    const [newest] = await recall([listing(1, { kind: "fact" }), ...facts.slice(1)], "prices of listings");
    expect([newest?.id, newest?.series]).toEqual(["foo/3", undefined]);
    const notes = facts.map(({ factKey: _, ...row }) => row);
    const [note] = await recall(notes, "prices of listings", { count: 3 });
    expect(ids(note?.series?.rows)).toEqual(["foo/2", "foo/1"]);
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
    expect(found.slice(0, 2)).toEqual(["foo/3", "foo/4"]);
    expect(found.slice(2).toSorted()).toEqual(["foo/1", "foo/2"]);
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

/** The focus of a text that is the only one of its memory. */
function focusIn(text: string, parts: readonly QueryPart[], kind: "note" | "step" = "note") {
  const memory = new SeriesGroups();
  memory.add(wordsOf(text), "foo");
  return findFocus({ kind, text }, parts, weighStems(parts, memory.lexical));
}
/** The stretches that are shown of a note, joined; undefined without a focus. */
function excerptIn(text: string, parts: readonly QueryPart[], limit = 720): string | undefined {
  const focus = focusIn(text, parts);
  const ranges = focus && excerptOf({ kind: "note", text, focus }, limit);
  return ranges?.map(([from, to]) => text.slice(from, to)).join(" … ");
}
const asked = (...texts: string[]) => queryParts({ texts });
const beginning = "# Terms of the shop. Section four.";
const filling = (word: string) => `Nothing to see here, ${word} goes on and on. `.repeat(60);
const answer = "A racket that was strung wrongly is strung again for nothing within fourteen days.";
const long = `${beginning}\n${filling("lorem")}${answer} ${filling("lorem")}The shop opens at ten.`;

describe("the excerpt of a long memory", () => {
  it("is its beginning and the sentence that shares most words with the query, wherever it is", () => {
    const excerpt = excerptIn(long, asked("What if rackets are strung the wrong way?")) ?? "";
    expect(excerpt.startsWith(beginning)).toBe(true);
    expect(excerpt).toContain(answer);
    expect(excerpt.length).toBeLessThan(760);
  });

  it("follows the heaviest part of the query", () => {
    const parts = queryParts({ texts: ["strung again", "When does it open?"], weights: [0.1, 1] });
    expect(excerptIn(long, parts)).toMatch(/The shop opens at ten\.$/);
  });

  it.each([
    ["a short text", `${beginning} ${answer}`, "racket"],
    ["a text that shares no word with the query", long, "zebras"],
    ["a query of stop words", long, "the of and"],
  ])("is undefined for %s", (_title, text, question) => {
    expect(focusIn(text, asked(question))).toBeUndefined();
  });

  it.each([
    ["one endless line", "racket ".repeat(5_000)],
    ["one word after many signs", `${"!".repeat(20_000)} racket`.slice(-2_000)],
    ["surrogate pairs", "🎾".repeat(2_000).concat(" racket. ", "🎾".repeat(2_000))],
  ])("is short for %s", (_title, text) => {
    const excerpt = excerptIn(text, asked("racket")) ?? "";
    expect(excerpt.length).toBeLessThan(800);
  });
});

describe("a cut of a text", () => {
  const figures = "The total is 14,284,000.50 euros on 2026-11-20 at 09:30:15 for 127.0.0.1:8080 and more of it. ";
  const whole = new Set(figures.match(/\d[\d.,:-]*\d/g));

  it.each([
    ["of a step", "step"],
    ["of a note", "note"],
  ] as const)("divides no number at any length, %s with and without a focus", (_title, kind) => {
    const text = figures.repeat(4);
    for (let limit = 1; limit < text.length; limit++)
      for (const focus of [undefined, [200, 260], [5, 20]] as const) {
        const ranges = excerptOf({ kind, text, ...(focus ? { focus } : {}) }, limit);
        const shown = ranges.flatMap(([from, to]) => text.slice(from, to).match(/\d(?:[\d.,:-]*\d)?/g) ?? []);
        expect(shown.filter((number) => !whole.has(number))).toEqual([]);
        expect(ranges.reduce((sum, [from, to]) => sum + to - from, 0)).toBeLessThanOrEqual(limit);
      }
  });

  it("divides a number that is longer than any figure, so that something is shown", () => {
    expect(excerptOf({ kind: "step", text: "7".repeat(900) }, 100)[0]).toEqual([0, 70]);
  });
});

describe("the focus of a step", () => {
  function focusOf(result: string, thought: string, question: string): string {
    const start = `Command: read_file {"file":"a.md"}\nResult (ok): ${result}\nThought: ${thought}`;
    const text = `${start} ${"I go on and on. ".repeat(12)}`;
    const [from = 0, to] = focusIn(text, asked(question), "step") ?? [];
    return text.slice(from, to);
  }
  const HOURS = "The kiln of Marta needs nineteen hours.";

  const PAGE = "The kiln needs nineteen.\n  Page: The kiln of Marta (https://a.example/kiln)";
  const LOOK = "The kiln of Marta needs a look.";
  const ASK = "I ask about the kiln of Marta.";
  const QUESTION = "How many hours does the kiln of Marta need?";
  const ABOUT = "What is known about the kiln of Marta?";

  it.each<[title: string, result: string, thought: string, question: string, focus: RegExp]>([
    ["in its result rather than in a thought that says the same", HOURS, LOOK, QUESTION, /^Result \(ok\): The kiln/],
    ["the answer of a page, not its title and address", PAGE, "I read it.", ABOUT, /^Result \(ok\): The kiln needs/],
    ["no sentence of the query, which is shown", HOURS, ASK, `${HOURS} Ask about the kiln.`, /^Thought: /],
    ["in the thought when only that answers", "Nothing.", HOURS, QUESTION.replace(" of Marta", ""), /nineteen hours/],
  ])("is %s", (_title, result, thought, question, focus) => {
    expect(focusOf(result, thought, question)).toMatch(focus);
  });
});

/** The cache of row texts never shows what was forgotten, replaced or marked since. */

const ROWS = 400;

/** A memory that has shown rows once. `meanwhile` is called when the next recall has read the changes and searches. */
async function openShown() {
  const store = memoryRows();
  for (let row = 1; row <= ROWS; row++) {
    const listing = `The price of listing ${row} is ${row * 7} euros`;
    store.add("foo", row % 2 ? listing : `Report ${"abcdefghij"[row % 10]}${row}`);
  }
  let meanwhile: (() => void) | undefined;
  const embedder = fixedEmbedder();
  embedder.instead = async (texts) => {
    meanwhile?.();
    return texts.map(embedder.vectorOf);
  };
  let textsRead = 0;
  const memory: MemoryRows["memory"] = (agent, id) => {
    textsRead++;
    return store.memory(agent, id);
  };
  const { recall } = openRecall({ store: { ...store, memory }, embedder });
  const ask = (text: string) => recall([text]);
  // Embeds all rows, so that later requests have the query alone.
  for (let times = 0; times < 6; times++) await ask("prices of listings");
  const shown = [...new Set(shownIds(await ask("the price of listings")))];
  const setMeanwhile = (change: () => void) => {
    meanwhile = change;
  };
  return { ask, store, shown, textsRead: () => textsRead, setMeanwhile };
}

/** Changes `count` rows: others first and the best recall last, so that it is on the last page of the changes. */
function changeRows(store: ReturnType<typeof memoryRows>, shown: readonly string[], count: number): readonly string[] {
  const all = (store.rows.get("foo") ?? []).map(({ id }) => id);
  const others = all.filter((id) => !shown.includes(id));
  const own = Math.min(shown.length, Math.ceil(count / 2));
  const changed = [...others.slice(0, count - own), ...shown.slice(0, own).reverse()];
  for (const [at, id] of changed.entries()) store[at % 2 === 0 ? "supersede" : "forget"]("foo", id);
  return changed;
}

describe("rows that a recall has shown", () => {
  it("are not read again at the next recall", async () => {
    const { ask, shown, textsRead } = await openShown();
    const before = textsRead();
    expect(shownIds(await ask("what is the price of listings"))).toEqual(expect.arrayContaining([...shown]));
    expect(textsRead() - before).toBeLessThan(shown.length / 2);
  });

  it("have the mark of a fact that was closed since", async () => {
    const { ask, store, shown } = await openShown();
    const [id = ""] = shown;
    store.change("foo", id, { closed: { by: "foo/9999", step: 41 } });
    const found = await ask("the price of listings");
    expect(found.find((recall) => recall.id === id)?.closed).toEqual({ by: "foo/9999", step: 41 });
  });

  describe.each(["between two recalls", "while a recall searches"])("%s", (when) => {
    it.each([1, 64, 65, 300, "all, and the changes cannot be read"])(
      "are not shown when they are forgotten or replaced: %s",
      async (count) => {
        const { ask, store, shown, setMeanwhile } = await openShown();
        let changed: readonly string[] = [];
        const change = () => {
          if (changed.length > 0) return;
          changed = changeRows(store, shown, typeof count === "number" ? count : 2 * shown.length);
          if (typeof count === "string") store.trouble.reading = new Error("disk I/O error");
        };
        if (when === "between two recalls") change();
        else setMeanwhile(change);
        const ids = shownIds(await ask("what does a listing cost, the price?"));
        expect(changed.length).toBeGreaterThanOrEqual(Number(count) || shown.length);
        expect(ids.filter((id) => changed.includes(id))).toEqual([]);
      },
    );
  });
});

describe("the cache", () => {
  const row = (id: string, text: string): MemoryRow => step(1, text, { id });

  it("does not keep a row that changed while it was read", async () => {
    const reading = Promise.withResolvers<MemoryRow>();
    let text = "new";
    const texts = new RowTexts(async () => (text === "old" ? reading.promise : row("a", text)));
    text = "old";
    const read = texts.read("a");
    texts.drop("a");
    text = "new";
    reading.resolve(row("a", "old"));
    expect((await read)?.text).toBe("old");
    expect((await texts.read("a"))?.text).toBe("new");
  });

  it("keeps the rows of two recalls, 128 at least, counts their texts, and keeps none when the changes cannot be read", async () => {
    const read: string[] = [];
    const texts = new RowTexts(async (id) => {
      read.push(id);
      return row(id, "x".repeat(100));
    });
    const readAgain = async (...ids: readonly string[]): Promise<readonly string[]> => {
      read.length = 0;
      for (const id of ids) await texts.read(id);
      return [...read];
    };
    const unchanged = async () => [];
    for (let at = 0; at < 200; at++) await texts.read(`${at}`);
    const full = texts.bytes;
    expect(full).toBeGreaterThan(200 * 200);
    await texts.dropChanged(unchanged);
    expect(await readAgain("0", "199")).toEqual([]);
    expect(texts.bytes).toBe(full);
    await texts.dropChanged(unchanged);
    expect(await readAgain("0", "1")).toEqual(["1"]);
    expect(texts.bytes).toBe((full * 128) / 200);
    await texts.dropChanged(async () => [{ id: "0" }]);
    expect(texts.bytes).toBe((full * 127) / 200);
    expect(await readAgain("0", "199")).toEqual(["0"]);
    await texts.dropChanged(async () => Promise.reject(new Error("disk I/O error")));
    expect(texts.bytes).toBe(0);
    expect(await readAgain("0", "199")).toEqual(["0", "199"]);
  });
});
