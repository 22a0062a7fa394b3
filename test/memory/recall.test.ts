import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isLive } from "#core/memory.ts";
import type { Embedder, Recall, RecallQuery } from "#core/ports/memory.ts";
import { AgentRows } from "#memory/recall/agent-rows.ts";
import { createWordSet } from "#memory/words/vocabulary.ts";
import { wordsOf } from "#util/words.ts";
import {
  fixedEmbedder,
  type MemoryRows,
  memoryRows,
  openHashEmbedder,
  openRecall,
  randomNumbers,
} from "../helpers/memory-rows.ts";

const steps = (...numbers: number[]): ReadonlySet<number> => new Set(numbers);
const QUESTION = "What did the shop say about strings?";

function open(store: MemoryRows = memoryRows()) {
  const { recall, ...opened } = openRecall({ store });
  return { ...opened, recall: ({ texts = [QUESTION], ...change }: Partial<RecallQuery> = {}) => recall(texts, change) };
}

const distinctWord = (next: () => number, length: number): string =>
  Array.from({ length }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("");
/** A text that shares no word with the others. */
function distinct(number: number): string {
  const next = randomNumbers(number);
  return Array.from({ length: 8 }, () => distinctWord(next, 4 + Math.floor(next() * 5))).join(" ");
}
const nearIdentical = (number: number) =>
  `Command: write_to_file\nResult (ok): Wrote ${number} bytes to part-${number}.txt`;
/** A memory with the rows 1 to `count`. */
function openFilled(count: number, textOf: (row: number) => string = distinct) {
  const opened = open();
  for (let row = 1; row <= count; row++) opened.store.add("foo", textOf(row));
  return opened;
}

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
      around: [expect.objectContaining({ id: "foo/2" })],
    });
    expect(first?.score).toBeGreaterThan(second?.score ?? Number.NaN);
    expect(more).toEqual([]);
  });

  it("returns the same after a restart, whatever the earlier queries", async () => {
    const { recall, store } = openFilled(300, (row) => `${row % 3 === 0 ? distinct(row) : nearIdentical(row)} strings`);
    for (const text of ["bytes", "Wrote 7 bytes to part-7.txt", "strings"]) await recall({ texts: [text] });
    expect(await recall()).toEqual(await open(store).recall());
  });

  it("answers two concurrent queries", async () => {
    const { recall } = openFilled(30);
    const [one, two] = await Promise.all([recall(), recall()]);
    expect([one.length, two]).toEqual([10, one]);
  });
});

describe("a step that the prompt shows", () => {
  const shown = steps(28, 29, 30);

  it("is never recalled, however similar it is, and is recalled when it is not shown", async () => {
    const { recall } = openFilled(
      30,
      (row) => `${distinct(row)} strings in the shop ${row > 27 ? "strings shop" : ""}`,
    );
    const shownOf = (found: readonly Recall[]) => found.filter(({ step }) => shown.has(step ?? 0));
    const found = await recall({ excludeSteps: shown });
    expect(found).toHaveLength(10);
    expect(shownOf(found)).toEqual([]);
    expect(shownOf(await recall())).not.toEqual([]);
  });

  it("is left out with all its rows, and is not recalled from another step that left the same text", async () => {
    const { recall, store } = open();
    for (const text of ["Strings: none.", "soup", "strings:  NONE."]) store.add("foo", text);
    store.add("foo", "Ada said: strings!", { step: 3 });
    expect((await recall({ excludeSteps: steps(3) })).map(({ step }) => step)).toEqual([2]);
    expect((await recall({ excludeSteps: steps(1) })).map(({ id }) => id)).toEqual(["foo/4", "foo/2"]);
  });

  it("may change from one recall to the next without losing a row", async () => {
    const { recall } = openFilled(120, (row) => `${distinct(row)} strings`);
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
    [1_000, 5, 10],
  ])("of %i distinct rows with %i shown: %i", async (rows, shown, expected) => {
    const { recall } = openFilled(rows);
    const excludeSteps = new Set(Array.from({ length: shown }, (_, at) => rows - at));
    expect(await recall({ excludeSteps })).toHaveLength(expected);
  });

  it.each([
    ["30 rows that differ in numbers only", 30, 0, 10],
    ["30 such rows and 4 others", 30, 4, 10],
    ["200 such rows and 9 others", 200, 9, 10],
    ["3 such rows and 2 others", 3, 2, 5],
  ])("are returned from %s, all the others among them", async (_title, near, others, expected) => {
    const { recall, store } = openFilled(others);
    for (let row = 1; row <= near; row++) store.add("foo", nearIdentical(row));
    const texts = ["Command: write_to_file", "Result (ok): Wrote 7 bytes to part-7.txt"];
    const found = await recall({ texts });
    expect(found).toHaveLength(expected);
    expect(new Set(found.map(({ id }) => id)).size).toBe(expected);
    if (near + others <= 50) expect(found.filter(({ id }) => Number(id.slice(4)) <= others)).toHaveLength(others);
  });

  it("are returned while an agent repeats itself, distinct rows before near-duplicates", async () => {
    const { recall, store } = openFilled(12, (row) => `${distinct(row)} Wrote bytes`);
    for (let row = 13; row <= 90; row++) {
      const { text, step: stepOfRow } = store.add("foo", nearIdentical(row));
      const step = stepOfRow ?? 0;
      const found = await recall({ texts: [text], excludeSteps: steps(step, step - 1, step - 2) });
      expect(found).toHaveLength(10);
      expect(found.filter(({ text }) => text.startsWith("Command"))).toHaveLength(row > 15 ? 1 : 0);
    }
  });

  it.each([
    ["no texts", []],
    ["blank texts", ["", " \n"]],
    ["texts without a word", ["!!!", "🎾"]],
    ["a text of a megabyte", ["shop ".repeat(200_000)]],
    ["a hundred texts", Array.from({ length: 100 }, (_, at) => `text ${at}`)],
    ["the same text nine times", Array(9).fill("shop")],
  ])("are returned for %s", async (_title, texts) => {
    const { recall } = openFilled(20);
    expect(await recall({ texts })).toHaveLength(10);
  });

  it("may be 0, 1, 3, 25 or 100 instead", async () => {
    const { recall } = openFilled(150);
    for (const count of [0, 1, 3, 25, 100]) expect(await recall({ count })).toHaveLength(count);
  });
});

function openCurated(embedder: Embedder) {
  const { store, recall } = openRecall({ embedder, report: (problem) => expect(problem).toBe("") });
  const find = (text: string, change: Partial<RecallQuery> = {}) => recall([text], change);
  const texts = async (text: string, change: Partial<RecallQuery> = {}) =>
    (await find(text, change)).map((found) => found.text);
  return { store, recall: find, texts };
}
/** A row that shares two words with all others. */
const filler = (row: number) =>
  `Report on the weather of ${"abcdefgh"[row % 8]?.repeat(4)} ${"ijklmnop"[row >> 3]?.repeat(4)}`;

describe.each<[title: string, embedder: () => Embedder]>([
  ["words", () => openHashEmbedder()],
  ["meanings", () => fixedEmbedder({ local: true })],
])("with an embedder of %s", (_title, embedder) => {
  it("a forgotten memory is never recalled, whether it was read before or not", async () => {
    for (const isReadBefore of [true, false]) {
      const { store, texts } = openCurated(embedder());
      const row = store.add("foo", "The cellar key is under the pot.");
      store.add("foo", "Soup.");
      if (isReadBefore) expect(await texts("cellar key")).toHaveLength(2);
      store.forget("foo", row.id);
      expect(await texts("cellar key")).toEqual(["Soup."]);
      store.add("foo", "The cellar key is under the pot.");
      expect((await texts("cellar key"))[0]).toBe("The cellar key is under the pot.");
    }
  });

  it("the other of two equal rows stays when one is forgotten", async () => {
    const { store, recall } = openCurated(embedder());
    const [older, newer] = [store.add("foo", "The key."), store.add("foo", "the  KEY.")];
    expect((await recall("key")).map(({ id }) => id)).toEqual([newer.id]);
    store.forget("foo", newer.id);
    expect((await recall("key")).map(({ id }) => id)).toEqual([older.id]);
    store.forget("foo", older.id);
    expect(await recall("key")).toEqual([]);
  });

  it("a superseded row is not recalled, and a person's correction ranks above rows with the error", async () => {
    const { store, texts } = openCurated(embedder());
    const wrong = store.add("foo", "The caretaker keeps the cellar key under the blue pot.");
    for (let row = 1; row < 20; row++) store.add("foo", filler(row));
    store.add("foo", "Thought: the cellar key is kept under the blue pot, I go there.");
    const right = "The caretaker keeps the cellar key on the red hook.";
    store.add("foo", right, { supersedes: wrong.id, trust: "person", kind: "fact", importance: 1 });
    store.change("foo", wrong.id, { supersededBy: "foo/+1" });
    const found = await texts("Where is the cellar key kept, under the pot?");
    expect(found[0]).toBe(right);
    expect(found).not.toContain(wrong.text);
  });

  it("a pinned row is recalled for every query until it is unpinned", async () => {
    const { store, texts } = openCurated(embedder());
    const row = store.add("foo", "Hans keeps the spare key behind the mirror.");
    // Keeps the pinned row apart from the rows of the query.
    for (const text of ["Soup.", "Rice.", "Bread."]) store.add("foo", text);
    for (let number = 1; number < 60; number++) store.add("foo", filler(number));
    expect(await texts("weather report")).not.toContain(row.text);
    store.change("foo", row.id, { pinned: true });
    const found = await texts("weather report");
    expect(found).toHaveLength(10);
    expect(found[0]).toBe(row.text);
    expect(await texts("weather report", { excludeSteps: new Set([1]) })).not.toContain(row.text);
    store.change("foo", row.id, { pinned: false });
    expect(await texts("weather report")).not.toContain(row.text);
  });

  it("other namespaces are searched on a par with its own, if the query allows them", async () => {
    const { store, recall, texts } = openCurated(embedder());
    const WAREHOUSE = ["The warehouse closes at six.", "The warehouse has a ramp."] as const;
    for (let row = 1; row < 40; row++) store.add("foo", filler(row));
    store.add("shared", WAREHOUSE[0], { kind: "fact", trust: "person" });
    store.add("parent", WAREHOUSE[1]);
    expect(await texts("When does the warehouse close?")).not.toContain(WAREHOUSE[0]);
    const found = await recall("When does the warehouse close?", { others: ["shared"], excludeSteps: new Set([1]) });
    expect(found[0]).toMatchObject({ id: "shared/1", text: WAREHOUSE[0] });
    expect(found.filter(({ id }) => id.startsWith("parent/"))).toEqual([]);
    expect(found).toHaveLength(10);
    const ofAll = await texts("warehouse", { others: ["shared", "parent", "foo"] });
    expect(ofAll.slice(0, 2).sort()).toEqual([...WAREHOUSE]);
  });

  it("agents that read each other's memory at the same time do not deadlock", async () => {
    const { store, recall } = openCurated(embedder());
    for (const agent of ["foo", "bar"]) store.add(agent, `The key of ${agent}.`);
    const [one, other] = [recall("key", { others: ["bar"] }), recall("key", { agent: "bar", others: ["foo"] })];
    const both = [await one, await other];
    expect(both.map((found) => found.length)).toEqual([2, 2]);
  });
});

const PLENTY = 1_000_000_000;

function openKept(keptBytes: number) {
  const { store, memory, recall: ask } = openRecall({ keptBytes });
  const recall = (agent: string, change: Partial<RecallQuery> = {}) =>
    ask(["strings in the shop"], { agent, ...change });
  /** Returns how many rows a recall reads from the store. */
  const rowsRead = async (agent: string, change: Partial<RecallQuery> = {}): Promise<number> => {
    const before = store.counts.read;
    await recall(agent, change);
    return store.counts.read - before;
  };
  const wakeAndIdle = async (agent: string): Promise<number> => {
    const read = await rowsRead(agent);
    await memory.idle(agent);
    return read;
  };
  return { store, memory, recall, rowsRead, wakeAndIdle };
}

/** Adds rows that share no words. */
function fill(store: MemoryRows, agent: string, rows: number): void {
  const next = randomNumbers(rows + agent.length);
  const word = () => distinctWord(next, 7);
  for (let row = 0; row < rows; row++) store.add(agent, `strings ${Array.from({ length: 30 }, word).join(" ")}`);
}

describe("the memory of an idle agent", () => {
  it("is kept, and a wake reads only the rows that came since; without a limit all (negative control)", async () => {
    const { store, recall, rowsRead, wakeAndIdle } = openKept(PLENTY);
    fill(store, "foo", 400);
    expect(await wakeAndIdle("foo")).toBe(400);
    expect(await wakeAndIdle("foo")).toBe(0);
    store.add("foo", "A person says: strings in the shop are green.");
    expect(await rowsRead("foo")).toBe(1);
    expect((await recall("foo"))[0]?.text).toContain("green");
    const bare = openKept(0);
    fill(bare.store, "foo", 40);
    expect([await bare.wakeAndIdle("foo"), await bare.wakeAndIdle("foo")]).toEqual([40, 40]);
  });

  it("is dropped first when it was used least recently, until the others fit", async () => {
    const { store, memory, wakeAndIdle } = openKept(5_300_000);
    const agents = Array.from({ length: 8 }, (_, at) => `agent-${at}`);
    for (const agent of agents) fill(store, agent, 60);
    for (const agent of agents) await wakeAndIdle(agent);
    const kept: string[] = [];
    // Newest first, so that reading a dropped one again drops no kept one before it was counted.
    for (const agent of agents.toReversed()) if ((await wakeAndIdle(agent)) === 0) kept.unshift(agent);
    expect(kept).toEqual(agents.slice(-kept.length));
    // 60 rows of 30 words of their own take about 0.7 MB, with their texts.
    expect(kept).toHaveLength(7);
    await memory.releaseUnused();
    expect(await wakeAndIdle(agents[0] as string)).toBe(60);
  });

  it("makes room for others, however small the limit, but never that of a running agent or its parent", async () => {
    const { store, memory, rowsRead, wakeAndIdle } = openKept(1);
    for (const agent of ["runner", "parent", "other"]) fill(store, agent, 30);
    const others = { others: ["parent"] };
    expect(await rowsRead("runner", others)).toBe(60);
    expect(await wakeAndIdle("other")).toBe(30);
    await memory.idle("parent");
    expect(await rowsRead("runner", others)).toBe(0);
    await memory.idle("runner");
    expect(await rowsRead("runner", others)).toBe(60);
  });

  it("is dropped when the agent is removed, so a new agent of its name starts without it", async () => {
    const { store, memory, recall, wakeAndIdle } = openKept(PLENTY);
    fill(store, "foo", 20);
    await wakeAndIdle("foo");
    await memory.release("foo");
    (store.rows.get("foo") as unknown[]).length = 0;
    store.add("foo", "The shop is new.");
    expect((await recall("foo")).map(({ text }) => text)).toEqual(["The shop is new."]);
  });
});

const word = fc.constantFrom(..."the plan plans lamps v2 x10s 100 100s C++ 钥匙 Bürokeller 12".split(" "));
const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "));
/** Adds a text, or forgets the row at this place. */
const change = fc.oneof(text, fc.nat(30));

const textKey = (said: string): string => said.toLowerCase().replace(/\s+/g, " ").trim();

it("rows in flat columns are those of the store: newest of each text, words, and rows per word", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 4 }), async (rounds) => {
      const store = memoryRows();
      const rows = new AgentRows("foo", store);
      for (const changes of rounds) {
        for (const one of changes)
          if (typeof one === "string") store.add("foo", one);
          else store.forget("foo", `foo/${one}`);
        for await (const _ of rows.readNew());
        const live = (store.rows.get("foo") ?? []).filter(isLive);
        const newest = new Map(live.map((row) => [textKey(row.text), row]));
        const held = Array.from(rows.newestSlots(), (slot) => rows.at(slot));
        expect(held.map(({ id }) => id).sort()).toEqual(Array.from(newest.values(), ({ id }) => id).sort());
        const sets = new Map(Array.from(newest.values(), (row) => [row.id, createWordSet(wordsOf(row.text))]));
        for (const { id, words } of held) expect(words.hashes).toEqual(sets.get(id)?.hashes);
        const hashes = new Set([...sets.values()].flatMap((set) => [...set.hashes]));
        for (const hash of hashes)
          expect([...sets.values()].filter((set) => set.hashes.includes(hash))).toHaveLength(
            rows.groups.rowsWithWord(hash),
          );
        for (const row of live) expect(rows.has(row.id)).toBe(newest.get(textKey(row.text)) === row);
      }
    }),
  );
});

/** An early fact is found among 2,000 rows by words that it shares with the question, which is one of nine messages. */
const ROWS = 2_000;

const NEEDLES: readonly (readonly [title: string, fact: string, question: string])[] = [
  ["a number", "Door 17 opens with the code 4711.", "I need the code that opens door 17."],
  [
    "inflected words",
    "Magnesium suppliers were compared; Leipzig delivers fastest.",
    "Which supplier of magnesium has the fast delivery?",
  ],
  [
    "German",
    "Der Schlüssel für den Bürokeller hängt hinter der Garderobe.",
    "Wo war noch der Schlüssel, den ich hinter die Garderobe hängte?",
  ],
  ["Chinese", "仓库的备用钥匙放在蓝色花盆下面。", "备用钥匙放在哪里？"],
  ["an identifier", "parseRetryAfter() returns seconds, not milliseconds.", "What unit does parse_retry_after give?"],
  [
    "a misspelling",
    "The veterinarian in Grünwald takes no new patients.",
    "Does the vetrinarian of Grunwald take new patients?",
  ],
];

const NOISE =
  "plan report shop review string tension racket price customer delivery table list summary weather market player court ball " +
  "coach budget week month number result search page article source file folder note draft version update check compare write " +
  "read find collect sort count open close start finish ask answer send receive number first second third last next best good";

function noise(next: () => number, length: number): string {
  const words = NOISE.split(" ");
  return Array.from({ length }, () => words[Math.floor(next() * words.length)]).join(" ");
}
const noisyStep = (next: () => number, row: number) =>
  `Thought: I ${noise(next, 12)}.\nCommand: write_to_file {"file":"${noise(next, 1)}-${row}.txt","text":"${noise(next, 15)}"}\n` +
  `Result (ok): ${noise(next, 20)}`;

describe("among 2,000 rows", () => {
  let store: MemoryRows;
  let recall: ReturnType<typeof openRecall>["recall"];
  const at = (needle: number) => 40 + needle * 70;

  beforeAll(() => {
    const next = randomNumbers(9);
    store = memoryRows();
    for (let row = 1; row <= ROWS; row++) {
      const fact = NEEDLES.find((_, needle) => at(needle) === row)?.[1];
      store.add("foo", fact ? `Thought: I keep this: ${fact}` : noisyStep(next, row));
    }
    recall = openRecall({ store, report: (problem) => expect(problem).toBe("") }).recall;
  });

  const window = (question: string, place: number) => {
    const next = randomNumbers(place + 1);
    const texts = Array.from({ length: 9 }, (_, index) => noisyStep(next, ROWS + index));
    texts[place] = question;
    return texts;
  };
  const excludeSteps = new Set([1996, 1997, 1998, 1999, 2000]);
  const ask = async (question: string, place: number) =>
    (await recall(window(question, place), { excludeSteps })).map(({ text }) => text);

  it.each([
    ["when the newest message asks for it", 8],
    ["when a result follows the question", 7],
  ])(`each of ${NEEDLES.length} facts is found %s`, async (_when, place) => {
    const missed: string[] = [];
    for (const [title, fact, question] of NEEDLES)
      if (!(await ask(question, place)).includes(`Thought: I keep this: ${fact}`)) missed.push(title);
    expect(missed).toEqual([]);
  });

  it("hardly a fact is found without a question", async () => {
    const found = await ask("I water the plants.", 8);
    expect(found).toHaveLength(10);
    expect(found.filter((text) => text.includes("I keep this")).length).toBeLessThan(3);
  });
});
