import { expect, it } from "@jest/globals";
import { passageOf } from "#views/memory-passage.ts";
import { loadMemoryStats } from "#views/memory-stats.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";
import { MemoryStore } from "../helpers/memory-store.ts";

it("counts rows by kind, distinct texts, bytes, and the rows that prompts showed", async () => {
  const store = new MemoryStore();
  await store.create(SPEC, "key", AT);
  const asked = (recallIds: readonly string[]) =>
    ({ ...{ type: "model-asked", step: 1, recallIds }, attempt: 1, epoch: 1, model: "m", requestHash: "" }) as never;
  const events = stamped(
    2,
    said("a"),
    said("b"),
    said("c"),
    asked(["foo/2", "shared/+1"]),
    asked(["foo/2"]),
    asked([]),
  );
  const memories = [memoryOf(2, "Tea"), memoryOf(3, "tea."), memoryOf(4, "Jam")];
  await store.commit(await store.claim("foo"), 1, { ...NOTHING, events, memories });
  await store.saveVectors("foo", "e", [{ id: "foo/2", vector: Float32Array.of(1, 0) }]);
  const note = { op: "add", kind: "note", text: "x", importance: 1, trust: "person" } as const;
  await store.curate("foo", [note, { op: "pin", id: "foo/+1" }, { op: "forget", id: "foo/4", by: "person" }], "k", AT);
  expect(await loadMemoryStats({ name: "foo" }, store)).toEqual({
    ...{ namespace: "foo", rows: 3, replaced: 0, forgotten: 1, pinned: 1, distinctTexts: 2 },
    kinds: [
      { kind: "step", rows: 2 },
      { kind: "note", rows: 1 },
    ],
    ...{ textBytes: 8, vectorBytes: 8, prompts: 2, recalledRows: 2 },
    mostRecalled: [
      { id: "foo/2", prompts: 2, text: "Tea" },
      { id: "shared/+1", prompts: 1, text: "" },
    ],
  });
});

it.each([
  [
    "the words of a piece, white space apart",
    `${"a ".repeat(900)}the\ncode is 7731${" b".repeat(900)}`,
    "the code is 7731",
    /^… .*the\ncode is 7731 b.* …$/s,
  ],
  ["what a step's row kept of the result", `x ${"a ".repeat(900)}`, "Thought: t\nResult (ok): x a a a", /^x a a.* …$/s],
  ["the beginning when the memory is not in it", "the whole result", "Thought: only", /^the whole result$/],
])("shows the part of a result with %s", (_what, result, memory, passage) => {
  expect(passageOf(result, memory)).toMatch(passage);
  expect(passageOf("  ", memory)).toBeNull();
});
