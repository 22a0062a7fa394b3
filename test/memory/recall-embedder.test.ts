import { describe, expect, it, jest } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import type { OpenIndex, Recall } from "#core/ports/memory.ts";
import type { LongTermMemoryParts } from "#memory/recall/long-term-memory.ts";
import { BackgroundLots } from "#memory/recall/row-embedder.ts";
import { fallbackEmbedder } from "#memory/vectors/server-embedder.ts";
import { useOpened } from "../helpers/folder.ts";
import { plainIndex, SettledGraph } from "../helpers/indexes.ts";
import {
  type FixedEmbedder,
  fixedEmbedder,
  LIVE,
  type MemoryRows,
  memoryRows,
  openRecall,
  recallQuery,
} from "../helpers/memory-rows.ts";
import { waitUntil } from "../helpers/waits.ts";

const keep = useOpened();
const QUESTION = "Where is the cellar key?";
const PLANTED = "The caretaker keeps the cellar key under the blue pot.";
function filled(rows = 30): MemoryRows {
  const store = memoryRows();
  store.add("foo", PLANTED);
  for (let row = 2; row <= rows; row++) store.add("foo", `Report ${"abcdefghij"[row % 10]}${row} about weather`);
  return store;
}
function open(store: MemoryRows, embedder = fixedEmbedder(), parts: Omit<Partial<LongTermMemoryParts>, "store"> = {}) {
  const { memory, reports, recall } = openRecall({ store, embedTimeoutMs: 1_000, ...parts, embedder });
  const ask = (texts: readonly string[] = [QUESTION], excluded: readonly number[] = []) =>
    recall(texts, { excludeSteps: new Set(excluded) });
  return { memory: keep(memory), ask, embedder, reports, store };
}
/** Its axes are in another order, so that vectors of this embedder and of another one do not compare. */
function turn(embedder: FixedEmbedder): FixedEmbedder {
  embedder.vectorOf("zero one two three four five six seven eight nine");
  return embedder;
}

describe("a remote embedder", () => {
  it("gets only new texts at the next step, and none that an earlier row has", async () => {
    const { ask, embedder, store } = open(filled());
    await ask(["one", "two"]);
    const { text } = store.add("foo", "a new row");
    store.add("foo", PLANTED.toUpperCase());
    await ask(["two", "three"]);
    expect(embedder.requests.at(-1)).toEqual(["three", text]);
    await ask(["two", "three"]);
    expect(embedder.requests).toHaveLength(2);
  });

  it("has its vectors saved in batches, the rest by flush, and computes none twice", async () => {
    const { memory, ask, store } = open(filled(10));
    await ask();
    expect(store.counts.saved).toBe(0);
    for (let row = 0; row < 5; row++) store.add("foo", `more ${row}`);
    await ask();
    expect(store.counts.saved).toBe(0);
    store.add("foo", "the sixteenth");
    await ask();
    expect(store.counts.saved).toBe(1);
    store.add("foo", "one more");
    await ask();
    await memory.flush();
    await memory.flush();
    expect(store.counts.saved).toBe(2);
    const again = open(store);
    await again.ask();
    expect(again.embedder.requests).toEqual([[QUESTION]]);
  });

  it("gets the query and rows without a vector, many request by request, while ten are recalled", async () => {
    const store = filled(400);
    const { memory, ask, embedder } = open(store);
    expect(memory.remote).toBe(true);
    for (let step = 0; step < 6; step++) expect(await ask()).toHaveLength(10);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, 96, 96, 96, 16]);
    expect((await ask())[0]?.text).toBe(PLANTED);
  });
});

const never = () => new Promise<never>(() => {});

describe("a failing embedder never makes recall fail", () => {
  const answers = (make: (text: string) => Float32Array) => async (texts: readonly string[]) => texts.map(make);

  it.each<[title: string, instead: FixedEmbedder["instead"]]>([
    ["fails", async () => Promise.reject(new Error("HTTP 500"))],
    ["throws a string", async () => Promise.reject("no")],
    ["never answers", never],
    ["returns too few vectors", async () => [Float32Array.of(1)]],
    ["returns vectors of another length", answers(() => new Float32Array(63).fill(1))],
    ["returns NaN", answers(() => new Float32Array(64).fill(Number.NaN))],
    ["returns infinite numbers", answers(() => new Float32Array(64).fill(Number.POSITIVE_INFINITY))],
    ["returns zeros", answers(() => new Float32Array(64))],
  ])("when it %s: words find the rows, with one report", async (_title, instead) => {
    const { ask, embedder, reports, store } = open(filled(), fixedEmbedder(), { embedTimeoutMs: 20 });
    embedder.instead = instead;
    for (let step = 0; step < 4; step++) {
      store.add("foo", `later ${step}`);
      const found = await ask(undefined, [31]);
      expect(found).toHaveLength(10);
      expect(found[0]?.text).toBe(PLANTED);
      expect(found.filter((recall) => recall.step === 31)).toEqual([]);
    }
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatch(/shared words for now: (?!.*aborted)/);
  });

  it("and is skipped for more and more recalls, then used again", async () => {
    const { ask, embedder, reports } = open(filled());
    embedder.instead = async () => Promise.reject(new Error("HTTP 500"));
    for (let step = 0; step < 40; step++) await ask();
    expect(embedder.requests).toHaveLength(6);
    embedder.instead = undefined;
    for (let step = 0; step < 40; step++) await ask();
    expect(embedder.requests).toHaveLength(7);
    expect(reports).toHaveLength(1);
  });

  it("and gets no request before the retry time that it named", async () => {
    const embedder = fixedEmbedder();
    let nowMs = 1_000_000;
    const clock = { now: () => new Date(nowMs) };
    const { ask } = open(filled(), embedder, { clock });
    embedder.instead = async () => Promise.reject(Object.assign(new Error("HTTP 429"), { afterMs: 60_000 }));
    for (let step = 0; step < 20; step++) await ask();
    expect(embedder.requests).toHaveLength(1);
    nowMs += 60_000;
    await ask();
    expect(embedder.requests).toHaveLength(2);
  });

  it("and does not delay a person's stop", async () => {
    const { memory, embedder, reports } = open(filled());
    embedder.instead = never;
    const stop = new AbortController();
    const found = memory.recall(recallQuery([QUESTION]), stop.signal);
    stop.abort();
    expect(await found).toHaveLength(10);
    expect(await memory.recall(recallQuery([QUESTION]), AbortSignal.abort())).toHaveLength(10);
    expect(reports).toEqual([]);
  });

  it("and a row that it cannot embed is found by words, and not sent again", async () => {
    const { ask, embedder, reports, store } = open(memoryRows());
    embedder.instead = async (texts) =>
      texts.map((text) => (text === PLANTED ? new Float32Array(64) : embedder.vectorOf(text)));
    store.add("foo", PLANTED);
    store.add("foo", "soup");
    expect((await ask()).map(({ id }) => id).sort()).toEqual(["foo/1", "foo/2"]);
    await ask();
    expect(embedder.requests).toHaveLength(1);
    expect(reports).toEqual([expect.stringContaining("1 of 3 vectors")]);
  });
});

describe("vectors of two embedders", () => {
  it("are never compared: another embedder makes its own, whatever the length", async () => {
    for (const dimensions of [64, 32]) {
      const store = filled();
      const first = open(store);
      await first.ask();
      await first.memory.flush();
      const second = open(store, turn(fixedEmbedder({ id: `other@${dimensions}`, dimensions })));
      expect((await second.ask())[0]?.text).toBe(PLANTED);
      expect(second.embedder.requests[0]).toHaveLength(31);
    }
  });

  it("are not mixed when the server turns out to have no embeddings", async () => {
    const store = filled();
    const earlier = open(store, fixedEmbedder({ id: "server@64" }));
    await earlier.ask();
    await earlier.memory.flush();
    const saved = store.counts.saved;
    const server = fixedEmbedder({ id: "server@64" });
    server.instead = async () => Promise.reject(new GoaldError("GOALD_HTTP_REFUSED", "HTTP 404"));
    const local = fixedEmbedder({ id: "local@64", local: true });
    const reasons: string[] = [];
    const embedder = fallbackEmbedder(server, local, (reason) => reasons.push(reason));
    const { memory, recall } = openRecall({ store, embedder });
    store.add("foo", "something new");
    expect((await recall([QUESTION]))[0]?.text).toBe(PLANTED);
    expect(local.requests.flat()).toEqual(expect.arrayContaining([PLANTED, "something new", QUESTION]));
    expect(memory.remote).toBe(false);
    await memory.flush();
    expect([reasons.length, store.counts.saved]).toEqual([1, saved]);
  });
});

describe("a failing store never makes recall fail", () => {
  it("when it cannot be read: earlier rows are used, with one report", async () => {
    const { ask, store, reports } = open(filled());
    await ask();
    store.trouble.reading = new Error("disk I/O error");
    for (let step = 0; step < 3; step++) expect(await ask()).toHaveLength(10);
    expect(reports).toEqual([expect.stringContaining("disk I/O error")]);
    delete store.trouble.reading;
    const { id } = store.add("foo", "Where is the cellar key? There.");
    expect((await ask()).map((recall) => recall.id)).toContain(id);
  });

  it("when the text of a chosen row cannot be read: it is left out, with one report", async () => {
    // More rows than are kept with their texts, so that the first one is read again.
    const { ask, store, reports } = open(filled(300));
    store.trouble.readingTexts = new Error("disk I/O error");
    for (let step = 0; step < 3; step++) expect((await ask()).map(({ text }) => text)).not.toContain(PLANTED);
    expect(reports).toEqual([expect.stringContaining("disk I/O error")]);
    delete store.trouble.readingTexts;
    expect((await ask()).map(({ text }) => text)).toContain(PLANTED);
  });

  it("when it cannot save vectors: they are kept and saved later", async () => {
    const { memory, ask, store, reports, embedder } = open(filled());
    store.trouble.saving = new Error("disk full");
    for (let step = 0; step < 3; step++) await ask();
    expect(reports).toEqual([expect.stringContaining("disk full")]);
    expect(embedder.requests).toHaveLength(1);
    delete store.trouble.saving;
    await memory.flush();
    expect(store.rows.get("foo")?.every(({ vector }) => vector !== null)).toBe(true);
  });
});

describe("another vector index", () => {
  const withIndex = (openIndex: OpenIndex, store = filled()) => open(store, fixedEmbedder(), { openIndex });

  it("returns the same recalls with a graph, and after the graph's process died", async () => {
    const index = new SettledGraph(fixedEmbedder().dimensions, { waits: false });
    const { memory, ask, reports } = withIndex(() => index);
    const [key, weather] = [[QUESTION], ["What of the weather?"]];
    const expected = [await open(filled()).ask(key), await open(filled()).ask(weather)];
    // The first recall reads the rows; the graph takes them in the background.
    await ask(["Good morning"]);
    await index.settled();
    const before = index.scans;
    const ofGraph = await ask(key);
    expect(index.scans).toBe(before);
    process.kill(index.keeper.pid as number, "SIGKILL");
    const ofScan = await ask(weather);
    expect(index.scans).toBeGreaterThan(before);
    const idsOf = (recalls: readonly Recall[]) => recalls.map(({ id }) => id);
    expect([ofGraph, ofScan].map(idsOf)).toEqual(expected.map(idsOf));
    expect(reports).toEqual([]);
    await memory.close();
  });

  it("drops forgotten rows, and adds them again when their text comes again", async () => {
    const store = filled();
    const index = plainIndex(fixedEmbedder().dimensions);
    const { ask } = withIndex(() => index, store);
    await ask();
    const full = index.size;
    store.forget("foo", "foo/1");
    expect((await ask()).map(({ text }) => text)).not.toContain(PLANTED);
    expect(index.size).toBe(full - 1);
    store.add("foo", PLANTED);
    expect((await ask())[0]?.text).toBe(PLANTED);
    expect(index.size).toBe(full);
  });

  it("is searched once for a text, although the nearest rows differ only in numbers", async () => {
    const store = filled(3);
    for (let row = 1; row <= 60; row++) store.add("foo", `The price of listing ${row} is ${row * 7} euros`);
    const index = plainIndex(fixedEmbedder().dimensions);
    const search = jest.spyOn(index, "search");
    const { ask } = withIndex(() => index, store);
    const found = await ask(["the price of a listing"]);
    expect(found[0]?.series?.rows.length).toBeGreaterThan(0);
    expect(search).toHaveBeenCalledTimes(1);
  });

  it("may fail: words find the rows, with one report", async () => {
    const search = () => Promise.reject(new Error("no route to index"));
    const { ask, reports } = withIndex(({ dimensions }) => ({ ...plainIndex(dimensions), search }));
    for (let step = 0; step < 2; step++) expect((await ask())[0]?.text).toBe(PLANTED);
    expect(reports).toEqual([expect.stringContaining("no route to index")]);
  });
});

const savedIn = (store: MemoryRows) => store.rows.get("foo")?.filter(({ vector }) => vector !== null).length ?? 0;
const areSaved = (store: MemoryRows, count: number) =>
  waitUntil(`${count} vectors are saved`, () => savedIn(store) === count);
/** Memory that makes vectors in the background. */
const openWithLots = (store: MemoryRows, embedder = fixedEmbedder()) =>
  open(store, embedder, { lots: new BackgroundLots(0) });
/** The same after a recall, while the request for vectors of the background is held until the test lets it go. */
async function openHeld(store: MemoryRows) {
  const opened = openWithLots(store);
  const { ask, embedder } = opened;
  const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
  embedder.instead = async (texts) => {
    if (embedder.requests.length === 2) await gate;
    return texts.map(embedder.vectorOf);
  };
  await ask();
  await waitUntil("a second request", () => embedder.requests.length === 2);
  return { ...opened, letGo };
}

describe("vectors that a recall has no room for", () => {
  it("are made in the background after one recall, each once, and each lot is saved", async () => {
    const store = filled(400);
    const { ask, embedder, reports } = openWithLots(store);
    await ask();
    await areSaved(store, 400);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, ...Array(9).fill(32), 16]);
    expect(new Set(embedder.requests.flat()).size).toBe(401);
    expect((await ask())[0]?.text).toBe(PLANTED);
    expect(embedder.requests).toHaveLength(11);
    expect(reports).toEqual([]);
  });

  it("do not delay recalls, which embed their own rows meanwhile", async () => {
    const store = filled(130);
    const { memory, ask, embedder, letGo } = await openHeld(store);
    const { text } = store.add("foo", "The gardener waters the roses.");
    const found = await ask(["Who waters the roses?"]);
    expect(found[0]?.text).toBe(text);
    expect(embedder.requests[2]).toEqual(["Who waters the roses?", PLANTED, "Report c2 about weather", text]);
    letGo();
    await memory.flush();
    await areSaved(store, 131);
    expect(embedder.requests.flat()).toHaveLength(133);
  });

  it("are dropped when a person forgets the row during the request", async () => {
    const store = filled(120);
    const { ask, embedder, letGo } = await openHeld(store);
    expect(embedder.requests[1]).toContain(PLANTED);
    store.forget("foo", "foo/1");
    await ask();
    letGo();
    await areSaved(store, 119);
    expect((await ask()).map(({ text }) => text)).not.toContain(PLANTED);
    expect(store.rows.get("foo")?.find(({ id }) => id === "foo/1")?.vector).toBeNull();
  });

  it("are tried again by the next recall that reaches the embedder, not before", async () => {
    const store = filled(200);
    const { ask, embedder, reports } = openWithLots(store);
    embedder.instead = async (texts) => {
      if (embedder.requests.length >= 2) throw new Error("HTTP 500");
      return texts.map(embedder.vectorOf);
    };
    await ask();
    await waitUntil("a report", () => reports.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(embedder.requests).toHaveLength(2);
    embedder.instead = undefined;
    // The first recall after a failure makes no request.
    for (const text of ["one", "two"]) await ask([text]);
    await areSaved(store, 200);
    expect(embedder.requests.flat().filter((text) => text === PLANTED)).toHaveLength(1);
  });

  it("are not made after memory is closed, and an embedder that never answers does not keep it open", async () => {
    const store = filled(400);
    const { memory, ask, embedder } = openWithLots(store);
    embedder.instead = async (texts) => (embedder.requests.length < 3 ? texts.map(embedder.vectorOf) : never());
    await ask();
    await waitUntil("a third request", () => embedder.requests.length === 3);
    await memory.close();
    expect([savedIn(store), embedder.requests.length]).toEqual([96 + 32, 3]);
  });

  it("are counted with the agent's next recall that counts", async () => {
    const store = filled(400);
    const embedder = fixedEmbedder();
    const counting: FixedEmbedder["embed"] = (texts, signal, countTokens) => {
      countTokens?.(texts.length);
      return embedder.embed(texts, signal);
    };
    const { memory, ask } = openWithLots(store, { ...embedder, embed: counting });
    const counts: number[] = [];
    const countTokens = (tokens: number) => void counts.push(tokens);
    await memory.recall(recallQuery([QUESTION], { countTokens }), LIVE);
    await areSaved(store, 400);
    expect(counts).toEqual([97]);
    await ask(["a person's search"]);
    await memory.recall(recallQuery([QUESTION], { countTokens }), LIVE);
    expect(counts).toEqual([97, 304]);
  });

  it("replace those of another embedder, which are compared with nothing, while words answer", async () => {
    const store = filled(200);
    const before = openWithLots(store, fixedEmbedder({ id: "old@64" }));
    await before.ask();
    await areSaved(store, 200);
    await before.memory.close();
    const embedder = turn(fixedEmbedder({ id: "new@64" }));
    const { ask } = openWithLots(store, embedder);
    expect((await ask())[0]?.text).toBe(PLANTED);
    const madeBy = (id: string) => store.rows.get("foo")?.filter((row) => row.embedder === id).length ?? 0;
    await waitUntil("all vectors are new", () => madeBy("new@64") === 200);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, 32, 32, 32, 8]);
    for (const { text, vector } of store.rows.get("foo") ?? []) expect(vector).toEqual(embedder.vectorOf(text));
    expect((await ask())[0]?.text).toBe(PLANTED);
  });
});
