import { describe, expect, it } from "@jest/globals";
import type { Recall } from "#core/ports/recall.ts";
import type { OpenIndex } from "#core/ports/vectors.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { fallbackEmbedder } from "#memory/vectors/choose-embedder.ts";
import { type FixedEmbedder, fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { type MemoryRows, memoryRows } from "../../helpers/memory-rows.ts";
import { plainIndex } from "../../helpers/plain-index.ts";
import { openSettledGraph } from "../../helpers/settled-graph.ts";

const live = new AbortController().signal;
const PLANTED = "The caretaker keeps the cellar key under the blue pot.";
const asking = (texts: readonly string[] = ["Where is the cellar key?"], excluded: readonly number[] = []) => ({
  agent: "foo",
  texts,
  count: 10,
  excludeSteps: new Set(excluded),
});

function filled(rows = 30): MemoryRows {
  const store = memoryRows();
  store.add("foo", PLANTED);
  for (let row = 2; row <= rows; row++) store.add("foo", `Report ${"abcdefghij"[row % 10]}${row} about weather`);
  return store;
}
function open(store: MemoryRows, embedder: FixedEmbedder = fixedEmbedder(), embedTimeoutMs = 1_000) {
  const reports: string[] = [];
  const memory = openLongTermMemory({ store, embedder, embedTimeoutMs, report: (problem) => reports.push(problem) });
  return { memory, embedder, reports, store };
}

describe("a remote embedder", () => {
  it("gets one request for the query and all rows without a vector", async () => {
    const { memory, embedder } = open(filled());
    expect(memory.remote).toBe(true);
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(embedder.requests).toHaveLength(1);
    expect(embedder.requests[0]).toHaveLength(31);
  });

  it("gets only new texts at the next step", async () => {
    const { memory, embedder, store } = open(filled());
    await memory.recall(asking(["one", "two"]), live);
    const { text } = store.add("foo", "a new row");
    await memory.recall(asking(["two", "three"]), live);
    expect(embedder.requests.at(-1)).toEqual(["three", text]);
    await memory.recall(asking(["two", "three"]), live);
    expect(embedder.requests).toHaveLength(2);
  });

  it("has its vectors saved in batches, the rest by flush, and computes none twice", async () => {
    const { memory, store } = open(filled(10));
    await memory.recall(asking(), live);
    expect(store.counts.saved).toBe(0);
    for (let row = 0; row < 5; row++) store.add("foo", `more ${row}`);
    await memory.recall(asking(), live);
    expect(store.counts.saved).toBe(0);
    store.add("foo", "the sixteenth");
    await memory.recall(asking(), live);
    expect(store.counts.saved).toBe(1);
    store.add("foo", "one more");
    await memory.recall(asking(), live);
    await memory.flush();
    await memory.flush();
    expect(store.counts.saved).toBe(2);
    const again = open(store);
    await again.memory.recall(asking(), live);
    expect(again.embedder.requests).toEqual([["Where is the cellar key?"]]);
  });

  it("catches up with many rows request by request, and ten rows are recalled at every step", async () => {
    const store = filled(400);
    const { memory, embedder } = open(store);
    for (let step = 0; step < 6; step++) expect(await memory.recall(asking(), live)).toHaveLength(10);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, 96, 96, 96, 16]);
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
  });

  it("embeds a repeated text once", async () => {
    const { memory, embedder, store } = open(filled());
    await memory.recall(asking(), live);
    store.add("foo", PLANTED.toUpperCase());
    await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(1);
  });
});

describe("a failing embedder never makes recall fail", () => {
  const never = () => new Promise<never>(() => {});
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
    const { memory, embedder, reports, store } = open(filled(), fixedEmbedder(), 20);
    embedder.instead = instead;
    for (let step = 0; step < 4; step++) {
      store.add("foo", `later ${step}`);
      const found = await memory.recall(asking(undefined, [31]), live);
      expect(found).toHaveLength(10);
      expect(found[0]?.text).toBe(PLANTED);
      expect(found.filter((recall) => recall.step === 31)).toEqual([]);
    }
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("shared words");
  });

  it("and is skipped for more and more recalls, then used again", async () => {
    const { memory, embedder, reports } = open(filled());
    embedder.instead = async () => Promise.reject(new Error("HTTP 500"));
    for (let step = 0; step < 40; step++) await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(6);
    embedder.instead = undefined;
    for (let step = 0; step < 40; step++) await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(7);
    expect(reports).toHaveLength(1);
  });

  it("and gets no request before the retry time that it named", async () => {
    const embedder = fixedEmbedder();
    let nowMs = 1_000_000;
    const clock = { now: () => new Date(nowMs) };
    const memory = openLongTermMemory({ store: filled(), embedder, report: () => undefined, clock });
    embedder.instead = async () => Promise.reject(Object.assign(new Error("HTTP 429"), { afterMs: 60_000 }));
    for (let step = 0; step < 20; step++) await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(1);
    nowMs += 60_000;
    await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(2);
  });

  it("and does not delay a person's stop", async () => {
    const { memory, embedder, reports } = open(filled());
    embedder.instead = never;
    const stop = new AbortController();
    const found = memory.recall(asking(), stop.signal);
    stop.abort();
    expect(await found).toHaveLength(10);
    expect(await memory.recall(asking(), AbortSignal.abort())).toHaveLength(10);
    expect(reports).toEqual([]);
  });

  it("and a row that it cannot embed is found by words, and not sent again", async () => {
    const { memory, embedder, reports, store } = open(memoryRows());
    embedder.instead = async (texts) =>
      texts.map((text) => (text === PLANTED ? new Float32Array(64) : embedder.vectorOf(text)));
    store.add("foo", PLANTED);
    store.add("foo", "soup");
    expect((await memory.recall(asking(), live)).map(({ id }) => id).sort()).toEqual(["foo/1", "foo/2"]);
    await memory.recall(asking(), live);
    expect(embedder.requests).toHaveLength(1);
    expect(reports).toEqual([expect.stringContaining("1 of 3 vectors")]);
  });
});

describe("vectors of two embedders", () => {
  it("are never compared: another embedder makes its own, whatever the length", async () => {
    for (const dimensions of [64, 32]) {
      const store = filled();
      const first = open(store);
      await first.memory.recall(asking(), live);
      await first.memory.flush();
      const second = open(store, fixedEmbedder({ id: `other@${dimensions}`, dimensions }));
      // Its axes are in another order, so stored vectors do not compare.
      second.embedder.vectorOf("zero one two three four five six seven eight nine");
      expect((await second.memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
      expect(second.embedder.requests[0]).toHaveLength(31);
    }
  });

  it("are not mixed when the server turns out to have no embeddings", async () => {
    const store = filled();
    const earlier = open(store, fixedEmbedder({ id: "server@64" }));
    await earlier.memory.recall(asking(), live);
    await earlier.memory.flush();
    const saved = store.counts.saved;
    const server = fixedEmbedder({ id: "server@64" });
    server.instead = async () => Promise.reject(Object.assign(new Error("HTTP 404"), { status: 404 }));
    const local = fixedEmbedder({ id: "local@64", local: true });
    const reasons: string[] = [];
    const embedder = fallbackEmbedder(server, local, (reason) => reasons.push(reason));
    const memory = openLongTermMemory({ store, embedder, report: () => {} });
    store.add("foo", "something new");
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(local.requests.flat()).toEqual(
      expect.arrayContaining([PLANTED, "something new", "Where is the cellar key?"]),
    );
    expect(memory.remote).toBe(false);
    await memory.flush();
    expect([reasons.length, store.counts.saved]).toEqual([1, saved]);
  });

  it("would be taken for its own under the same id, and even then words find the row", async () => {
    const store = filled();
    const first = open(store);
    await first.memory.recall(asking(), live);
    await first.memory.flush();
    const liar = open(store, fixedEmbedder());
    liar.embedder.vectorOf("zero one two three four five six seven eight nine");
    expect((await liar.memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(liar.embedder.requests).toEqual([["Where is the cellar key?"]]);
  });
});

describe("a failing store never makes recall fail", () => {
  it("when it cannot be read: earlier rows are used, with one report", async () => {
    const { memory, store, reports } = open(filled());
    await memory.recall(asking(), live);
    store.trouble.reading = new Error("disk I/O error");
    for (let step = 0; step < 3; step++) expect(await memory.recall(asking(), live)).toHaveLength(10);
    expect(reports).toEqual([expect.stringContaining("disk I/O error")]);
    delete store.trouble.reading;
    const { id } = store.add("foo", "Where is the cellar key? There.");
    expect((await memory.recall(asking(), live)).map((recall) => recall.id)).toContain(id);
  });

  it("when the texts of the chosen rows cannot be read: nothing is recalled, with one report", async () => {
    const { memory, store, reports } = open(filled());
    store.trouble.readingTexts = new Error("disk I/O error");
    for (let step = 0; step < 3; step++) expect(await memory.recall(asking(), live)).toEqual([]);
    expect(reports).toEqual([expect.stringContaining("disk I/O error")]);
    delete store.trouble.readingTexts;
    expect(await memory.recall(asking(), live)).toHaveLength(10);
  });

  it("when a row is forgotten after the rows were read: it is left out", async () => {
    const { memory, store } = open(filled());
    const [first] = await memory.recall(asking(), live);
    store.trouble.reading = new Error("Memory uses the rows read before.");
    expect((await memory.recall(asking(), live))[0]?.id).toBe(first?.id);
    store.forget("foo", first?.id ?? "");
    const ids = (await memory.recall(asking(), live)).map(({ id }) => id);
    expect(ids).toHaveLength(9);
    expect(ids).not.toContain(first?.id);
  });

  it("when it cannot save vectors: they are kept and saved later", async () => {
    const { memory, store, reports, embedder } = open(filled());
    store.trouble.saving = new Error("disk full");
    for (let step = 0; step < 3; step++) await memory.recall(asking(), live);
    expect(reports).toEqual([expect.stringContaining("disk full")]);
    expect(embedder.requests).toHaveLength(1);
    delete store.trouble.saving;
    await memory.flush();
    expect(store.rows.get("foo")?.every(({ vector }) => vector !== null)).toBe(true);
  });
});

describe("another vector index", () => {
  const withIndex = (openIndex: OpenIndex, store = filled()) => {
    const reports: string[] = [];
    const parts = {
      store,
      embedder: fixedEmbedder(),
      report: (problem: string) => reports.push(problem),
      openIndex,
    };
    return { memory: openLongTermMemory(parts), reports };
  };

  it("returns the same recalls", async () => {
    const expected = await open(filled()).memory.recall(asking(), live);
    const found = await withIndex(({ dimensions }) => plainIndex(dimensions)).memory.recall(asking(), live);
    expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
  });

  it("returns the same recalls with a graph, and after the graph's process died", async () => {
    const index = openSettledGraph(fixedEmbedder().dimensions, { waits: false });
    const { memory, reports } = withIndex(() => index);
    const [key, weather] = [asking(["Where is the cellar key?"]), asking(["What of the weather?"])];
    const expected = [await open(filled()).memory.recall(key, live), await open(filled()).memory.recall(weather, live)];
    // The first recall reads the rows; the graph takes them in the background.
    await memory.recall(asking(["Good morning"]), live);
    await index.settled();
    const before = index.scans();
    const ofGraph = await memory.recall(key, live);
    expect(index.scans()).toBe(before);
    process.kill(index.keeper.pid as number, "SIGKILL");
    const ofScan = await memory.recall(weather, live);
    expect(index.scans()).toBeGreaterThan(before);
    const idsOf = (recalls: readonly Recall[]) => recalls.map(({ id }) => id);
    expect([ofGraph, ofScan].map(idsOf)).toEqual(expected.map(idsOf));
    expect(reports).toEqual([]);
    await memory.close();
  });

  it("drops forgotten rows, and adds them again when their text comes again", async () => {
    const store = filled();
    const index = plainIndex(fixedEmbedder().dimensions);
    const { memory } = withIndex(() => index, store);
    await memory.recall(asking(), live);
    const full = index.size;
    const [planted] = store.rows.get("foo")?.filter(({ text }) => text === PLANTED) ?? [];
    store.forget("foo", planted?.id ?? "");
    expect((await memory.recall(asking(), live)).map(({ text }) => text)).not.toContain(PLANTED);
    expect(index.size).toBe(full - 1);
    store.add("foo", PLANTED);
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(index.size).toBe(full);
  });

  it("is searched once for a text, although the nearest rows differ only in numbers", async () => {
    const store = filled(3);
    for (let row = 1; row <= 60; row++) store.add("foo", `The price of listing ${row} is ${row * 7} euros`);
    const searches: number[] = [];
    const { memory } = withIndex(({ dimensions }) => {
      const index = plainIndex(dimensions);
      return {
        ...index,
        search: (query, count) => {
          searches.push(count);
          return index.search(query, count);
        },
      };
    }, store);
    const found = await memory.recall(asking(["the price of a listing"]), live);
    expect(found[0]?.series?.rows.length).toBeGreaterThan(0);
    expect(searches).toHaveLength(1);
  });

  it("may fail: words find the rows, with one report", async () => {
    const { memory, reports } = withIndex(({ dimensions }) => ({
      ...plainIndex(dimensions),
      search: async () => Promise.reject(new Error("no route to index")),
    }));
    for (let step = 0; step < 2; step++) expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(reports).toEqual([expect.stringContaining("no route to index")]);
  });
});
