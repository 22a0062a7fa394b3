/** Recall respects forgotten, superseded and pinned memories, and shared namespaces. */
import { describe, expect, it } from "@jest/globals";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { RecallQuery } from "#core/ports/recall.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { memoryRows } from "../../helpers/memory-rows.ts";

const live = new AbortController().signal;

function open(embedder = openHashEmbedder() as Parameters<typeof openLongTermMemory>[0]["embedder"]) {
  const store = memoryRows();
  const memory = openLongTermMemory({ store, embedder, report: (problem) => expect(problem).toBe("") });
  const recall = (text: string, change: Partial<RecallQuery> = {}) =>
    memory.recall({ agent: "foo", texts: [text], count: 10, excludeSteps: new Set(), ...change }, live);
  const texts = async (text: string, change: Partial<RecallQuery> = {}) =>
    (await recall(text, change)).map((found) => found.text);
  /** As in the store, a changed row comes again with the next change number. */
  const change = (row: MemoryRow, to: Partial<MemoryRow>) => {
    const rows = store.rows.get(row.namespace) as MemoryRow[];
    const last = Math.max(...rows.map((other) => other.change));
    rows.splice(
      rows.findIndex(({ id }) => id === row.id),
      1,
    );
    rows.push({ ...row, ...to, change: last + 1 });
  };
  return { store, recall, texts, change };
}
const forgotten = { forgotten: "person", text: "" } as const;
/** A row that shares two words with all others. */
const filler = (row: number) =>
  `Report on the weather of ${"abcdefgh"[row % 8]?.repeat(4)} ${"ijklmnop"[row >> 3]?.repeat(4)}`;

describe.each([
  ["words", () => openHashEmbedder()],
  ["meanings", () => fixedEmbedder({ local: true })],
])("with an embedder of %s", (_title, embedder) => {
  it("a forgotten memory is never recalled, whether it was read before or not", async () => {
    for (const isReadBefore of [true, false]) {
      const { store, texts, change } = open(embedder());
      const row = store.add("foo", "The cellar key is under the pot.");
      store.add("foo", "Soup.");
      if (isReadBefore) expect(await texts("cellar key")).toHaveLength(2);
      change(row, forgotten);
      expect(await texts("cellar key")).toEqual(["Soup."]);
      store.add("foo", "The cellar key is under the pot.");
      expect((await texts("cellar key"))[0]).toBe("The cellar key is under the pot.");
    }
  });

  it("the other of two equal rows stays when one is forgotten", async () => {
    const { store, recall, change } = open(embedder());
    const [older, newer] = [store.add("foo", "The key."), store.add("foo", "the  KEY.")];
    expect((await recall("key")).map(({ id }) => id)).toEqual([newer.id]);
    change(newer, forgotten);
    expect((await recall("key")).map(({ id }) => id)).toEqual([older.id]);
    change(older, forgotten);
    expect(await recall("key")).toEqual([]);
  });

  it("a superseded row is not recalled, and a person's correction ranks above rows with the error", async () => {
    const { store, texts, change } = open(embedder());
    const wrong = store.add("foo", "The caretaker keeps the cellar key under the blue pot.");
    for (let row = 1; row < 20; row++) store.add("foo", filler(row));
    store.add("foo", "Thought: the cellar key is kept under the blue pot, I go there.");
    const right = "The caretaker keeps the cellar key on the red hook.";
    store.add("foo", right, { supersedes: wrong.id, trust: "person", kind: "fact", importance: 1 });
    change(wrong, { supersededBy: "foo/+1" });
    const found = await texts("Where is the cellar key kept, under the pot?");
    expect(found[0]).toBe(right);
    expect(found).not.toContain(wrong.text);
  });

  it("a pinned row is recalled for every query until it is unpinned", async () => {
    const { store, texts, change } = open(embedder());
    const row = store.add("foo", "Hans keeps the spare key behind the mirror.");
    // Keeps the pinned row apart from the rows of the query.
    for (const text of ["Soup.", "Rice.", "Bread."]) store.add("foo", text);
    for (let number = 1; number < 60; number++) store.add("foo", filler(number));
    expect(await texts("weather report")).not.toContain(row.text);
    change(row, { pinned: true });
    const found = await texts("weather report");
    expect(found).toHaveLength(10);
    expect(found[0]).toBe(row.text);
    expect(await texts("weather report", { excludeSteps: new Set([1]) })).not.toContain(row.text);
    change(row, { pinned: false });
    expect(await texts("weather report")).not.toContain(row.text);
  });

  it("other namespaces are searched on a par with its own, if the query allows them", async () => {
    const { store, recall, texts } = open(embedder());
    for (let row = 1; row < 40; row++) store.add("foo", filler(row));
    store.add("shared", "The warehouse closes at six.", { kind: "fact", trust: "person" });
    store.add("parent", "The warehouse has a ramp.");
    expect(await texts("When does the warehouse close?")).not.toContain("The warehouse closes at six.");
    const found = await recall("When does the warehouse close?", { others: ["shared"], excludeSteps: new Set([1]) });
    expect(found[0]).toMatchObject({ id: "shared/1", text: "The warehouse closes at six." });
    expect(found.filter(({ id }) => id.startsWith("parent/"))).toEqual([]);
    expect(found).toHaveLength(10);
    expect((await texts("warehouse", { others: ["shared", "parent", "foo"] })).slice(0, 2).sort()).toEqual([
      "The warehouse closes at six.",
      "The warehouse has a ramp.",
    ]);
  });

  it("agents that read each other's memory at the same time do not deadlock", async () => {
    const { store, recall } = open(embedder());
    for (const agent of ["foo", "bar"]) store.add(agent, `The key of ${agent}.`);
    const both = await Promise.all([
      recall("key", { others: ["bar"] }),
      recall("key", { agent: "bar", others: ["foo"] }),
    ]);
    expect(both.map((found) => found.length)).toEqual([2, 2]);
  });
});
