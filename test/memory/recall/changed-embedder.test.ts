import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, jest } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { BackgroundLots } from "#memory/recall/background-lots.ts";
import { openChangedEmbedder } from "#memory/recall/changed-embedder.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "../../contracts/store-builders.ts";
import { AT } from "../../helpers/events.ts";
import { type FixedEmbedder, fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";

const live = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "goald-embedder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let closing: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of closing.reverse()) await one.close();
  closing = [];
});
const QUESTION = "Where is the cellar key?";
const PLANTED = "The caretaker keeps the cellar key under the blue pot.";
const asking = { agent: "foo", texts: [QUESTION], count: 5, excludeSteps: new Set<number>() };

async function filled(store: Store = new MemoryStore(), rows = 70): Promise<Store> {
  await store.create(SPEC, "key-1", AT);
  const lease = await store.claim("foo");
  const events = stamped(2, ...Array.from({ length: rows }, (_, row) => said(`${row}`)));
  const texts = Array.from({ length: rows }, (_, row) =>
    row === 0 ? PLANTED : `Report ${"abcdefghij"[row % 10]}${row}`,
  );
  const memories = texts.map((text, row) => ({ ...memoryOf(row + 2), text }));
  await store.commit(lease, 1, { ...NOTHING, events, memories });
  return store;
}
async function embedAll(store: Store, embedder: Embedder): Promise<void> {
  const memory = openLongTermMemory({ store, embedder, report: () => undefined });
  await memory.recall(asking, live);
  await memory.close();
}
/** Its axes are in another order, so its vectors do not compare with those of another embedder. */
function other(id: string, dimensions = 64): FixedEmbedder {
  const embedder = fixedEmbedder({ id: `${id}@${dimensions}`, dimensions });
  embedder.vectorOf("zero one two three four five six seven eight nine");
  return embedder;
}
function open(store: Store, embedder: FixedEmbedder, old: FixedEmbedder | undefined) {
  const reports: string[] = [];
  const report = (problem: string) => void reports.push(problem);
  const memory = openChangedEmbedder({
    store,
    embedder,
    current: openLongTermMemory({ store, embedder, report }),
    openEarlier: (id) => (old?.id === id ? openLongTermMemory({ store, embedder: old, report }) : undefined),
    report,
    lots: new BackgroundLots(1),
  });
  closing.push(memory);
  return { memory, reports };
}
/** All stored vectors are of the old embedder; the new one waits until it is released. */
async function heldUp(store: Store) {
  const old = fixedEmbedder({ id: "old@64" });
  await embedAll(store, old);
  const embedder = other("new");
  const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
  embedder.instead = async (texts) => gate.then(() => texts.map(embedder.vectorOf));
  return { old, embedder, letGo };
}
const used = async (store: Store) => Object.fromEntries((await store.vectorCounts("foo")).entries());
async function until(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 3_000 && !(await check()); tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("memory after a change of embedders", () => {
  it.each([64, 32])(
    "uses the old embedder until all vectors of the new one, of %i dimensions, are made",
    async (dimensions) => {
      const store = await filled();
      const old = fixedEmbedder({ id: "old@64" });
      await embedAll(store, old);
      const embedder = other("new", dimensions);
      const { promise: gate, resolve: open_ } = Promise.withResolvers<void>();
      embedder.instead = async (texts) => {
        if (embedder.requests.length > 1) await gate;
        return texts.map(embedder.vectorOf);
      };
      const { memory, reports } = open(store, embedder, old);
      expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
      await until(async () => (await store.nextVectorIds("foo", embedder.id)).length === 32);
      expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
      expect(await used(store)).toEqual({ "old@64": 70 });
      // The old embedder embeds the query; the new one only texts of rows.
      expect(old.requests.at(-1)).toEqual([QUESTION]);
      expect(embedder.requests.flat()).not.toContain(QUESTION);
      open_();
      await until(async () => (await used(store))[embedder.id] === 70);
      expect(await used(store)).toEqual({ [embedder.id]: 70 });
      expect(embedder.requests.map(({ length }) => length)).toEqual([32, 32, 6]);
      const asked = old.requests.length;
      expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
      expect([embedder.requests.at(-1), old.requests.length, reports]).toEqual([[QUESTION], asked, []]);
    },
  );

  it("flushes unsaved vectors of the old embedder before it adopts the new ones", async () => {
    const store = await filled();
    const { old, embedder, letGo } = await heldUp(store);
    const { memory } = open(store, embedder, old);
    await memory.recall(asking, live);
    const meanwhile = { ...memoryOf(72), text: "Said meanwhile" };
    await store.commit(await store.claim("foo"), 71, {
      ...NOTHING,
      events: stamped(72, said("x")),
      memories: [meanwhile],
    });
    await memory.recall(asking, live);
    expect(old.requests.at(-1)).toContain("Said meanwhile");
    letGo();
    await until(async () => (await used(store))[embedder.id] === 71);
    await memory.close();
    expect(await used(store)).toEqual({ [embedder.id]: 71 });
  });

  it("continues after a crash, in the real store", async () => {
    const path = join(folder, "goald.db");
    const store = await filled(await openSqliteStore(path));
    const old = fixedEmbedder({ id: "old@64" });
    await embedAll(store, old);
    const embedder = other("new");
    let requests = 0;
    embedder.instead = async (texts) =>
      requests++ === 0 ? texts.map(embedder.vectorOf) : new Promise<never>(() => {});
    // As after kill -9, nothing is closed or flushed.
    void openChangedEmbedder({
      store,
      embedder,
      current: openLongTermMemory({ store, embedder, report: () => undefined }),
      openEarlier: () => openLongTermMemory({ store, embedder: old, report: () => undefined }),
      report: () => undefined,
      lots: new BackgroundLots(1),
    }).recall(asking, live);
    await until(async () => (await store.nextVectorIds("foo", "new@64")).length === 32);
    const later = await openSqliteStore(path);
    closing.push(store, later);
    expect(await used(later)).toEqual({ "old@64": 70 });
    const again = other("new");
    again.instead = async (texts) => texts.map(embedder.vectorOf);
    const { memory } = open(later, again, old);
    expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
    await until(async () => (await used(later))["new@64"] === 70);
    expect(again.requests.map(({ length }) => length)).toEqual([32, 6]);
    expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
  });

  it("reports once that the new embedder fails, and keeps using the old one", async () => {
    const store = await filled();
    const old = fixedEmbedder({ id: "old@64" });
    await embedAll(store, old);
    const embedder = other("new");
    embedder.instead = async () => Promise.reject(new Error("HTTP 500"));
    const { memory, reports } = open(store, embedder, old);
    for (let step = 0; step < 3; step++) {
      expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(reports).toEqual([expect.stringContaining("HTTP 500")]);
    expect(await used(store)).toEqual({ "old@64": 70 });
  });

  it("adds new vectors at each recall when the old embedder cannot be opened, and words find the rest", async () => {
    const store = await filled();
    await embedAll(store, fixedEmbedder({ id: "old@64" }));
    const embedder = other("new");
    const { memory } = open(store, embedder, undefined);
    expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
    await memory.flush();
    expect(await used(store)).toEqual({ "new@64": 70 });
  });

  it("ignores dimensions that are not known yet", async () => {
    const store = await filled();
    await embedAll(store, fixedEmbedder({ id: "same@64" }));
    const embedder = { ...fixedEmbedder({ id: "same@0" }) };
    const { memory } = open(store, embedder, fixedEmbedder({ id: "same@64" }));
    await memory.recall(asking, live);
    expect(await store.nextVectorIds("foo", "same@0")).toEqual([]);
  });

  it("closes even when the new embedder never answers", async () => {
    const store = await filled();
    const old = fixedEmbedder({ id: "old@64" });
    await embedAll(store, old);
    const embedder = other("new");
    embedder.instead = () => new Promise<never>(() => {});
    const { memory } = open(store, embedder, old);
    await memory.recall(asking, live);
    await memory.close();
    expect(await used(store)).toEqual({ "old@64": 70 });
  });

  it("uses the new embedder for a new agent with the name of a removed one", async () => {
    const store = await filled();
    const { old, embedder, letGo } = await heldUp(store);
    const { memory } = open(store, embedder, old);
    await memory.recall(asking, live);
    await store.remove("foo");
    await memory.release("foo");
    letGo();
    await filled(store, 3);
    await memory.recall(asking, live);
    await memory.flush();
    expect(await used(store)).toEqual({ "new@64": 3 });
  });

  it("changes once, however often the agent is released meanwhile", async () => {
    const store = (await filled()) as MemoryStore;
    const { old, embedder, letGo } = await heldUp(store);
    const adopted = jest.spyOn(store, "adoptNextVectors");
    const { memory } = open(store, embedder, old);
    for (let rest = 0; rest < 3; rest++) {
      expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
      await memory.release("foo");
    }
    letGo();
    await until(async () => (await used(store))[embedder.id] === 70);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(adopted).toHaveBeenCalledTimes(1);
    expect((await memory.recall(asking, live))[0]?.text).toBe(PLANTED);
  });

  it("would find wrong rows if vectors of both were mixed", () => {
    const [old, embedder] = [fixedEmbedder({ id: "old@64" }), other("new")];
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
    const row = old.vectorOf(PLANTED);
    expect(dot(old.vectorOf(QUESTION), row)).toBeGreaterThan(0.3);
    expect(dot(embedder.vectorOf(QUESTION), row)).toBeLessThan(dot(old.vectorOf(QUESTION), row));
  });
});
