/** The cache of row texts never shows what was forgotten, replaced or marked since. */
import { describe, expect, it } from "@jest/globals";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall } from "#core/ports/recall.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { RowTexts } from "#memory/recall/row-texts.ts";
import { fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { memoryRows } from "../../helpers/memory-rows.ts";

const live = new AbortController().signal;
const ROWS = 400;
const asking = (text: string) => ({ agent: "foo", texts: [text], count: 10, excludeSteps: new Set<number>() });
const shownIds = (recalls: readonly Recall[]): readonly string[] =>
  recalls.flatMap(({ id, around, series }) => [
    id,
    ...[...(around?.before ?? []), ...(around?.after ?? []), ...(series?.rows ?? [])].map((row) => row.id),
  ]);

/** A memory that has shown rows once. `meanwhile` is called when the next recall has read the changes and searches. */
async function openShown() {
  const store = memoryRows();
  for (let row = 1; row <= ROWS; row++)
    store.add(
      "foo",
      row % 2 ? `The price of listing ${row} is ${row * 7} euros` : `Report ${"abcdefghij"[row % 10]}${row}`,
    );
  let meanwhile: (() => void) | undefined;
  const embedder = fixedEmbedder();
  embedder.instead = async (texts) => {
    meanwhile?.();
    return texts.map(embedder.vectorOf);
  };
  let textsRead = 0;
  const memory = openLongTermMemory({
    store: {
      ...store,
      memory: (agent, id) => {
        textsRead++;
        return store.memory(agent, id);
      },
    },
    embedder,
    report: () => undefined,
  });
  // Embeds all rows, so that later requests have the query alone.
  for (let recall = 0; recall < 6; recall++) await memory.recall(asking("prices of listings"), live);
  const shown = [...new Set(shownIds(await memory.recall(asking("the price of listings"), live)))];
  return {
    ...{ memory, store, shown },
    textsRead: () => textsRead,
    setMeanwhile(change: () => void) {
      meanwhile = change;
    },
  };
}

/** Changes `count` rows: others first and the best recall last, so that it is on the last page of the changes. */
function changeRows(store: ReturnType<typeof memoryRows>, shown: readonly string[], count: number): readonly string[] {
  const all = (store.rows.get("foo") ?? []).map(({ id }) => id);
  const others = all.filter((id) => !shown.includes(id));
  const own = Math.min(shown.length, Math.ceil(count / 2));
  const changed = [...others.slice(0, count - own), ...shown.slice(0, own).reverse()];
  for (const [at, id] of changed.entries()) store[at % 2 === 0 ? "supersede" : "forget"]("foo", id);
  return changed;
}

describe("rows that a recall has shown", () => {
  it("are not read again at the next recall", async () => {
    const { memory, shown, textsRead } = await openShown();
    const before = textsRead();
    expect(shownIds(await memory.recall(asking("what is the price of listings"), live))).toEqual(
      expect.arrayContaining([...shown]),
    );
    expect(textsRead() - before).toBeLessThan(shown.length / 2);
  });

  it("have the mark of a fact that was closed since", async () => {
    const { memory, store, shown } = await openShown();
    const [id = ""] = shown;
    store.change("foo", id, { closed: { by: "foo/9999", step: 41 } });
    const found = await memory.recall(asking("the price of listings"), live);
    expect(found.find((recall) => recall.id === id)?.closed).toEqual({ by: "foo/9999", step: 41 });
  });

  describe.each(["between two recalls", "while a recall searches"])("%s", (when) => {
    it.each([1, 64, 65, 300])("are not shown when %i rows are forgotten or replaced", async (count) => {
      const { memory, store, shown, setMeanwhile } = await openShown();
      let changed: readonly string[] = [];
      const change = () => {
        if (changed.length === 0) changed = changeRows(store, shown, count);
      };
      if (when === "between two recalls") change();
      else setMeanwhile(change);
      const ids = shownIds(await memory.recall(asking("what does a listing cost, the price?"), live));
      expect(changed).toHaveLength(count);
      expect(ids.filter((id) => changed.includes(id))).toEqual([]);
    });

    it("are not shown when they are forgotten and the changes cannot be read", async () => {
      const { memory, store, shown, setMeanwhile } = await openShown();
      const change = () => {
        store.trouble.reading = new Error("disk I/O error");
        for (const id of shown) store.forget("foo", id);
      };
      if (when === "between two recalls") change();
      else setMeanwhile(change);
      const ids = shownIds(await memory.recall(asking("what does a listing cost, the price?"), live));
      expect(ids.filter((id) => shown.includes(id))).toEqual([]);
    });
  });
});

describe("the cache", () => {
  const row = (id: string, text: string): MemoryRow => ({
    ...{ id, seq: 1, step: 1, change: 1, text, namespace: "foo", kind: "fact", trust: "agent", importance: 0.4 },
    ...{ at: "2026-11-20T10:00:00.000Z", supersedes: null, supersededBy: null, key: null, source: null },
    ...{ pinned: false, forgotten: null, embedder: null, vector: null },
  });

  it("does not keep a row that changed while it was read", async () => {
    const reading = Promise.withResolvers<MemoryRow>();
    let text = "new";
    const texts = new RowTexts(async () => (text === "old" ? reading.promise : row("a", text)));
    text = "old";
    const read = texts.read("a");
    texts.drop("a");
    text = "new";
    reading.resolve(row("a", "old"));
    expect((await read)?.text).toBe("old");
    expect((await texts.read("a"))?.text).toBe("new");
  });

  it("keeps the 256 rows shown last, and counts their texts", async () => {
    const read: string[] = [];
    const texts = new RowTexts(async (id) => {
      read.push(id);
      return row(id, "x".repeat(100));
    });
    for (let at = 0; at < 256; at++) await texts.read(`${at}`);
    const full = texts.bytes;
    expect(full).toBeGreaterThan(256 * 200);
    await texts.read("0");
    await texts.read("256");
    expect(texts.bytes).toBe(full);
    read.length = 0;
    await texts.read("0");
    await texts.read("1");
    expect(read).toEqual(["1"]);
    await texts.dropChanged(async () => [{ id: "0" }, { id: "1" }]);
    expect(texts.bytes).toBe((full * 254) / 256);
    await texts.dropChanged(async () => Promise.reject(new Error("disk I/O error")));
    expect(texts.bytes).toBe(0);
  });
});
