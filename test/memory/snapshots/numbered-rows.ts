/** numbered-rows.ts -- a memory whose rows follow from their number, so that two processes have the same without a common store. */
import { join } from "node:path";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { IndexSnapshots } from "#memory/snapshots/index-snapshots.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";
import { memoryRows } from "../../helpers/memory-rows.ts";

interface NumberedOptions {
  readonly isSaved: boolean;
  /** Ids of rows that were forgotten or replaced after all rows were left. */
  readonly gone?: readonly string[];
}

/** Recalls in a memory of `count` rows. Returns the ids, the number of rows read, and what the snapshots noted. */
export async function recallNumbered(folder: string, count: number, options: NumberedOptions) {
  const store = memoryRows();
  for (let row = 1; row <= count; row++)
    store.add("foo", `The gardener of house ${row} sells soup ${(row * 7_919) % 997}`, { seq: row });
  for (const [at, id] of (options.gone ?? []).entries()) store[at % 2 === 0 ? "supersede" : "forget"]("foo", id);
  const notes: string[] = [];
  const snapshots = new IndexSnapshots({
    store: { memories: store.memories, memoryVersion: async () => ({ seq: 1, curation: 0, sha: "same" }) },
    folderOf: (namespace) => join(folder, namespace),
    note: (text) => notes.push(text),
    isWriter: options.isSaved,
    leastRows: 100,
  });
  const memory = openLongTermMemory({
    store,
    embedder: openHashEmbedder(),
    snapshots,
    report: (text) => notes.push(text),
  });
  const query = { agent: "foo", texts: ["the gardener of house 7"], count: 10, excludeSteps: new Set<number>() };
  const recalls = await memory.recall(query, new AbortController().signal);
  await memory.close();
  const shown = recalls.flatMap(({ id, around, series }) => [
    id,
    ...[...(around?.before ?? []), ...(around?.after ?? []), ...(series?.rows ?? [])].map((row) => row.id),
  ]);
  return { shown, recalls: recalls.map(({ id, score }) => `${id} ${score}`), read: store.counts.read, notes };
}
