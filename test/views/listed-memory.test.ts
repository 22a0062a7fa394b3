/** What a person's list of memories says of facts and of rows that the agent has hidden. */
import { expect, it } from "@jest/globals";
import type { StagedWrite } from "#core/ports/store.ts";
import { listMemories, memoryCells, recallCells, validityOf, viewMemory } from "#views/memory-view.ts";
import { NOTHING, SPEC, stamped } from "../contracts/store-builders.ts";
import { AT, finished } from "../helpers/events.ts";
import { MemoryStore } from "../helpers/memory-store.ts";

async function noted(...writes: readonly Partial<StagedWrite & { readonly kind: "memory" }>[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.create(SPEC, "k", AT);
  const lease = await store.claim("foo");
  for (const [index, write] of writes.entries())
    await store.commit(lease, index + 1, {
      ...NOTHING,
      events: stamped(index + 2, { ...finished(1), step: index + 1 }),
      staged: [{ kind: "memory", memoryKind: "fact", text: "", importance: 1, ...write }],
    });
  return store;
}
const list = async (store: MemoryStore, all = false) => {
  const { memories, count } = await listMemories({ name: "foo" }, { all, limit: 50 }, store);
  expect(count).toBe(memories.length);
  return memories.map((row) => [row.id, validityOf(row)]);
};

it("a past fact is listed with the step until which it was so", async () => {
  const store = await noted({ text: "a: b: 1", factKey: "k" }, { text: "a: b: 2", factKey: "k" });
  expect(await list(store)).toEqual([
    ["foo/3.1", ""],
    ["foo/2.1", "until step 2"],
  ]);
});

it("a row that the agent hid is listed as hidden, its mark only with all, and neither after a person forgot it", async () => {
  const store = await noted({ text: "a: b: 1" }, { memoryKind: "forgetting", text: "hid", supersedes: "foo/2.1" });
  expect(await list(store)).toEqual([["foo/2.1", "hidden by the agent in step 2"]]);
  expect(await list(store, true)).toEqual([
    ["foo/3.1", ""],
    ["foo/2.1", "hidden by the agent in step 2"],
  ]);
  await store.curate("foo", [{ op: "forget", id: "foo/2.1", by: "person" }], "k", AT);
  expect(await list(store)).toEqual([]);
});

it("a row that is shown again is listed as any other", async () => {
  const store = await noted({ text: "a: b: 1" }, { memoryKind: "forgetting", text: "hid", supersedes: "foo/2.1" });
  await store.curate("foo", [{ op: "forget", id: "foo/3.1", by: "person" }], "k", AT);
  expect(await list(store)).toEqual([["foo/2.1", ""]]);
});

it("a row that the agent left after it read the web is listed so, and found so", async () => {
  const outside = [{ from: "web", name: "evil.example" }] as const;
  const store = await noted({ text: "a: b: 1" }, { text: "c: d: 2", outside });
  const originsOf = async (id: string) => {
    const row = await store.memory("foo", id);
    if (!row) return undefined;
    const view = viewMemory(row);
    return [memoryCells(view)[4], recallCells({ ...view, score: 1 })[4]];
  };
  expect(await originsOf("foo/2.1")).toEqual(["agent", "agent"]);
  const after = "agent, after the web";
  expect(await originsOf("foo/3.1")).toEqual([after, after]);
});
