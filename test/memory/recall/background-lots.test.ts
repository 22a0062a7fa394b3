/** Vectors that a recall's request has no room for are made in the background. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { BackgroundLots } from "#memory/recall/background-lots.ts";
import { type LongTermMemoryParts, openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { type FixedEmbedder, fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { type MemoryRows, memoryRows } from "../../helpers/memory-rows.ts";

const live = new AbortController().signal;
const QUESTION = "Where is the cellar key?";
const PLANTED = "The caretaker keeps the cellar key under the blue pot.";
const asking = (texts: readonly string[] = [QUESTION]) => ({
  agent: "foo",
  texts,
  count: 10,
  excludeSteps: new Set<number>(),
});

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function filled(rows: number): MemoryRows {
  const store = memoryRows();
  store.add("foo", PLANTED);
  for (let row = 2; row <= rows; row++) store.add("foo", `Report ${"abcdefghij"[row % 10]}${row} about weather`);
  return store;
}
function open(store: MemoryRows, parts: Partial<LongTermMemoryParts> & { embedder?: FixedEmbedder } = {}) {
  const reports: string[] = [];
  const embedder = parts.embedder ?? fixedEmbedder();
  const report = (problem: string) => void reports.push(problem);
  const memory = openLongTermMemory({ store, report, lots: new BackgroundLots(0), ...parts, embedder });
  opened.push(memory);
  return { memory, embedder, reports };
}
const savedIn = (store: MemoryRows) => store.rows.get("foo")?.filter(({ vector }) => vector !== null).length ?? 0;
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 2_000) throw new Error(`Waited in vain for ${isSo}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
describe("vectors that a recall has no room for", () => {
  it("are made in the background after one recall, each once, and each lot is saved", async () => {
    const store = filled(400);
    const { memory, embedder, reports } = open(store);
    await memory.recall(asking(), live);
    await until(() => savedIn(store) === 400);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, ...Array(9).fill(32), 16]);
    expect(new Set(embedder.requests.flat()).size).toBe(401);
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    expect(embedder.requests).toHaveLength(11);
    expect(reports).toEqual([]);
  });

  it("wait for further recalls without a background", async () => {
    const store = filled(400);
    const memory = openLongTermMemory({ store, embedder: fixedEmbedder(), report: () => undefined });
    await memory.recall(asking(), live);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await memory.flush();
    expect(savedIn(store)).toBe(96);
  });

  it("do not delay recalls, which embed their own rows meanwhile", async () => {
    const store = filled(130);
    const { memory, embedder } = open(store);
    const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
    embedder.instead = async (texts) => {
      if (embedder.requests.length === 2) await gate;
      return texts.map(embedder.vectorOf);
    };
    await memory.recall(asking(), live);
    await until(() => embedder.requests.length === 2);
    const { text } = store.add("foo", "The gardener waters the roses.");
    const found = await memory.recall(asking(["Who waters the roses?"]), live);
    expect(found[0]?.text).toBe(text);
    expect(embedder.requests[2]).toEqual(["Who waters the roses?", PLANTED, "Report c2 about weather", text]);
    letGo();
    await memory.flush();
    await until(() => savedIn(store) === 131);
    expect(embedder.requests.flat()).toHaveLength(133);
  });

  it("are dropped when a person forgets the row during the request", async () => {
    const store = filled(120);
    const { memory, embedder } = open(store);
    const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
    embedder.instead = async (texts) => {
      if (embedder.requests.length === 2) await gate;
      return texts.map(embedder.vectorOf);
    };
    await memory.recall(asking(), live);
    await until(() => embedder.requests.length === 2);
    expect(embedder.requests[1]).toContain(PLANTED);
    store.forget("foo", "foo/1");
    await memory.recall(asking(), live);
    letGo();
    await until(() => savedIn(store) === 119);
    expect((await memory.recall(asking(), live)).map(({ text }) => text)).not.toContain(PLANTED);
    expect(store.rows.get("foo")?.find(({ id }) => id === "foo/1")?.vector).toBeNull();
  });

  it("are tried again by the next recall that reaches the embedder, not before", async () => {
    const store = filled(200);
    const { memory, embedder, reports } = open(store);
    embedder.instead = async (texts) => {
      if (embedder.requests.length >= 2) throw new Error("HTTP 500");
      return texts.map(embedder.vectorOf);
    };
    await memory.recall(asking(), live);
    await until(() => reports.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(embedder.requests).toHaveLength(2);
    embedder.instead = undefined;
    // The first recall after a failure makes no request.
    for (const text of ["one", "two"]) await memory.recall(asking([text]), live);
    await until(() => savedIn(store) === 200);
    expect(embedder.requests.flat().filter((text) => text === PLANTED)).toHaveLength(1);
  });

  it("are not made after memory is closed, and an embedder that never answers does not keep it open", async () => {
    const store = filled(400);
    const { memory, embedder } = open(store);
    embedder.instead = (texts) =>
      embedder.requests.length < 3
        ? Promise.resolve(texts.map(embedder.vectorOf))
        : new Promise<never>(() => undefined);
    await memory.recall(asking(), live);
    await until(() => embedder.requests.length === 3);
    await memory.close();
    expect([savedIn(store), embedder.requests.length]).toEqual([96 + 32, 3]);
  });

  it("are counted with the agent's next recall that counts", async () => {
    const store = filled(400);
    const embedder = fixedEmbedder();
    const counting: FixedEmbedder = {
      ...embedder,
      async embed(texts, signal, countTokens) {
        countTokens?.(texts.length);
        return embedder.embed(texts, signal);
      },
    };
    const { memory } = open(store, { embedder: counting });
    const counts: number[] = [];
    const countTokens = (tokens: number) => void counts.push(tokens);
    await memory.recall({ ...asking(), countTokens }, live);
    await until(() => savedIn(store) === 400);
    expect(counts).toEqual([97]);
    await memory.recall(asking(["a person's search"]), live);
    await memory.recall({ ...asking(), countTokens }, live);
    expect(counts).toEqual([97, 304]);
  });

  it("replace those of another embedder, which are compared with nothing, while words answer", async () => {
    const store = filled(200);
    const before = open(store, { embedder: fixedEmbedder({ id: "old@64" }) });
    await before.memory.recall(asking(), live);
    await until(() => savedIn(store) === 200);
    await before.memory.close();
    const embedder = fixedEmbedder({ id: "new@64" });
    // Its axes are in another order.
    embedder.vectorOf("zero one two three four five six seven eight nine");
    const { memory } = open(store, { embedder });
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
    const madeBy = (id: string) => store.rows.get("foo")?.filter((row) => row.embedder === id).length ?? 0;
    await until(() => madeBy("new@64") === 200);
    expect(embedder.requests.map(({ length }) => length)).toEqual([97, 32, 32, 32, 8]);
    expect(
      store.rows.get("foo")?.every(({ text, vector }) => vector?.every((n, at) => n === embedder.vectorOf(text)[at])),
    ).toBe(true);
    expect((await memory.recall(asking(), live))[0]?.text).toBe(PLANTED);
  });
});
