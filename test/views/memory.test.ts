/** What a person's list of memories says of facts and of rows that the agent has hidden. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type IngestSource, type KnownPiece, piecesOf, planSource } from "#cli/verbs/ingest.ts";
import type { MemoryChange } from "#core/ports/memory.ts";
import type { StagedWrite } from "#core/ports/store.ts";
import { listMemories, memoryCells, recallCells, validityOf, viewRow } from "#views/memory-view.ts";
import { AT, finished, NOTHING, SPEC, stamped } from "../helpers/events.ts";
import { type MemoryStore, openMemoryStore } from "../helpers/memory-store.ts";

async function noted(...writes: readonly Partial<StagedWrite & { readonly kind: "memory" }>[]): Promise<MemoryStore> {
  const store = openMemoryStore();
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

it("a forgotten row is listed with all, and says who forgot it", async () => {
  const store = await noted({ text: "a: b: 1" }, { text: "c: d: 2" });
  await store.curate("foo", [{ op: "forget", id: "foo/2.1", by: "person" }], "k", AT);
  await store.curate("foo", [{ op: "forget", id: "foo/3.1", by: "source" }], "l", AT);
  expect(await list(store, true)).toEqual([
    ["foo/3.1", "gone from its source"],
    ["foo/2.1", "forgotten"],
  ]);
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
    const view = viewRow(row);
    const when = "2026-11-20 10:00Z";
    expect([memoryCells(view)[1], recallCells({ ...view, score: 1 })[2]]).toEqual([when, when]);
    return [memoryCells(view)[4], recallCells({ ...view, score: 1 })[4]];
  };
  expect(await originsOf("foo/2.1")).toEqual(["agent", "agent"]);
  const after = "agent, after the web";
  expect(await originsOf("foo/3.1")).toEqual([after, after]);
});

const source = (text: string, name = "/docs/a.md"): IngestSource => ({ name, text, format: "markdown", trust: "file" });
const NONE = { pieces: [], settled: new Set<string>() };

/** Returns the rows that a store would have after these changes. */
function applied(pieces: readonly KnownPiece[], changes: readonly MemoryChange[]): KnownPiece[] {
  const gone = new Set(changes.flatMap((change) => (change.op === "add" ? (change.supersedes ?? []) : change.id)));
  const added = changes.flatMap((change, place) =>
    change.op === "add" ? { id: `${pieces.length}/${place}`, key: change.key ?? null, text: change.text } : [],
  );
  return [...pieces.filter(({ id }) => !gone.has(id)), ...added];
}

const texts = fc.array(fc.lorem({ mode: "sentences", maxCount: 12 }), { maxLength: 8 }).map((all) => all.join("\n\n"));

describe("the changes to memory when a text is taken in", () => {
  it("leave exactly the pieces of the newest text, and are empty a second time", () => {
    fc.assert(
      fc.property(texts, texts, texts, (...versions) => {
        let pieces: KnownPiece[] = [];
        for (const text of versions) {
          const plan = planSource(source(text), { ...NONE, pieces });
          pieces = applied(pieces, plan.changes);
          expect(new Set(pieces.map((piece) => piece.text))).toEqual(new Set(piecesOf(source(text))));
          expect(plan.added + plan.changed + plan.unchanged).toBe(pieces.length);
        }
        const again = planSource(source(versions[2]), { ...NONE, pieces });
        expect(again).toMatchObject({ changes: [], added: 0, changed: 0, removed: 0 });
      }),
      { numRuns: 60 },
    );
  });

  it("replace each old piece by the new piece that resembles it most", () => {
    const [ovens, yeast] = ["The ovens are lit at four in the morning", "The yeast comes on Mondays by bicycle"];
    const { changes } = planSource(source(`${ovens}, not at five.`, "/a.txt"), {
      ...NONE,
      pieces: [
        { id: "1", key: "x", text: `a.txt\n${yeast}.` },
        { id: "2", key: "y", text: `a.txt\n${ovens}.` },
      ],
    });
    expect(changes).toMatchObject([
      { op: "add", supersedes: "2" },
      { op: "forget", id: "1", by: "source" },
    ]);
  });

  it("keep pieces that a person forgot or corrected away, and use them for no replacement", () => {
    const [first] = planSource(source("Ovens are hot."), NONE).changes;
    const settled = new Set([(first as { key: string }).key]);
    const pieces = [{ id: "1", key: "old", text: "a.md\nOvens are hot indeed." }];
    const plan = planSource(source("Ovens are hot."), { pieces, settled });
    expect(plan.changes).toEqual([{ op: "forget", id: "1", by: "source" }]);
  });

  it("name each piece by its file and headings, in 1,000 characters at most", () => {
    const text = `# Bakery\n\n## Ovens\n\n${"They are hot and must be watched. ".repeat(60)}`;
    const pieces = piecesOf(source(text));
    expect(pieces.length).toBeGreaterThan(2);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(1_000);
    expect(pieces[1]).toMatch(/^a\.md > Bakery > Ovens\n/);
  });

  it.each(
    (JSON.parse(readFileSync("test/data/chunk_cases.json", "utf8")) as { golden: { name: string; text: string }[] })
      .golden,
  )("lose nothing of $name", ({ text }) => {
    const said = piecesOf(source(text, "/a.txt")).map((piece) => piece.slice("a.txt\n".length));
    expect(said.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
  });
});
