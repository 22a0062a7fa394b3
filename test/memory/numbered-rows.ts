import { join } from "node:path";
import { IndexSnapshots } from "#memory/recall/snapshots.ts";
import { memoryRows, openRecall, shownIds } from "../helpers/memory-rows.ts";

/** numbered-rows.ts -- a memory whose rows follow from their number, so that two processes have the same without a common store. */

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
  const report = (text: string) => notes.push(text);
  const { memory, recall } = openRecall({ store, snapshots, report });
  const recalls = await recall(["the gardener of house 7"]);
  await memory.close();
  const shown = shownIds(recalls);
  return { shown, recalls: recalls.map(({ id, score }) => `${id} ${score}`), read: store.counts.read, notes };
}
