import { describe, expect, it } from "@jest/globals";
import type { RecallQuery } from "#core/ports/recall.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { type MemoryRows, memoryRows } from "../../helpers/memory-rows.ts";
import { randomNumbers } from "../../helpers/random-vectors.ts";

const live = new AbortController().signal;
const PLENTY = 1_000_000_000;

function open(keptBytes: number, store: MemoryRows = memoryRows()) {
  const memory = openLongTermMemory({ store, embedder: openHashEmbedder(), report: () => undefined, keptBytes });
  const recall = (agent: string, change: Partial<RecallQuery> = {}) =>
    memory.recall({ agent, texts: ["strings in the shop"], count: 10, excludeSteps: new Set(), ...change }, live);
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
  const word = () => Array.from({ length: 7 }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("");
  for (let row = 0; row < rows; row++) store.add(agent, `strings ${Array.from({ length: 30 }, word).join(" ")}`);
}

describe("the memory of an idle agent", () => {
  it("is kept, and a wake reads only the rows that came since", async () => {
    const { store, recall, rowsRead, wakeAndIdle } = open(PLENTY);
    fill(store, "foo", 40);
    expect(await wakeAndIdle("foo")).toBe(40);
    expect(await wakeAndIdle("foo")).toBe(0);
    store.add("foo", "A person says: strings in the shop are green.");
    expect(await rowsRead("foo")).toBe(1);
    expect((await recall("foo"))[0]?.text).toContain("green");
  });

  it("is read again at each wake without a limit (negative control)", async () => {
    const { store, wakeAndIdle } = open(0);
    fill(store, "foo", 40);
    expect([await wakeAndIdle("foo"), await wakeAndIdle("foo")]).toEqual([40, 40]);
  });

  it("does not recall a row that a person has forgotten meanwhile", async () => {
    const { store, recall, wakeAndIdle } = open(PLENTY);
    fill(store, "foo", 40);
    const { id } = store.add("foo", "The shop sells strings in the shop.");
    expect((await recall("foo"))[0]?.id).toBe(id);
    await wakeAndIdle("foo");
    store.forget("foo", id);
    store.add("foo", "The shop has no strings.");
    const recalls = await recall("foo");
    expect(recalls.map((each) => each.id)).not.toContain(id);
    expect(recalls[0]?.text).toBe("The shop has no strings.");
  });

  it("is dropped first when it was used least recently, until the others fit", async () => {
    const { store, memory, wakeAndIdle } = open(5_200_000);
    const agents = Array.from({ length: 8 }, (_, at) => `agent-${at}`);
    for (const agent of agents) fill(store, agent, 60);
    for (const agent of agents) await wakeAndIdle(agent);
    const kept: string[] = [];
    // Newest first, so that reading a dropped one again drops no kept one before it was counted.
    for (const agent of agents.toReversed()) if ((await wakeAndIdle(agent)) === 0) kept.unshift(agent);
    expect(kept).toEqual(agents.slice(-kept.length));
    // 60 rows of 30 words of their own take about 0.7 MB.
    expect(kept).toHaveLength(7);
    await memory.releaseUnused();
    expect(await wakeAndIdle(agents[0] as string)).toBe(60);
  });

  it("makes room for others, however small the limit, but never that of a running agent or its parent", async () => {
    const { store, memory, rowsRead, wakeAndIdle } = open(1);
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
    const { store, memory, recall, wakeAndIdle } = open(PLENTY);
    fill(store, "foo", 20);
    await wakeAndIdle("foo");
    await memory.release("foo");
    (store.rows.get("foo") as unknown[]).length = 0;
    store.add("foo", "The shop is new.");
    expect((await recall("foo")).map(({ text }) => text)).toEqual(["The shop is new."]);
  });
});
