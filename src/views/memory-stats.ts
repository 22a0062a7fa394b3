/**
 * memory-stats.ts -- counts what a memory holds, and what of it was recalled.
 *
 * Reads every row and, for recalls, the whole log of the agent: about 2 s for 10,000 rows, measured on a busy machine. Nothing is saved
 * for it, because people ask for it rarely.
 */
import { isLive, shownIds } from "#core/memory.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { statementOf } from "#core/same-statement.ts";
import { countNoun, formatSize, oneLine } from "#core/text.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { count, described, listOf, oneOf, open, type Static, text } from "#util/schema.ts";
import { createTurns } from "#util/turns.ts";
import { findNamespace, type MemoryPlace } from "./load-memory.ts";
import { MEMORY_KINDS } from "./memory-view.ts";
import { allEvents } from "./read-log.ts";

const RecalledRow = open({
  id: text,
  prompts: count,
  text: described(text, "Empty when the row is forgotten or not of this memory."),
});

export const MemoryStats = open({
  namespace: text,
  rows: described(count, "Rows that may be recalled."),
  replaced: count,
  forgotten: count,
  pinned: count,
  kinds: listOf(open({ kind: oneOf(...MEMORY_KINDS), rows: count })),
  distinctTexts: described(count, "Rows that say the same count once."),
  textBytes: described(count, "Bytes of the texts, replaced ones included."),
  vectorBytes: count,
  prompts: described(count, "Prompts of the agent that had recalls. 0 for the shared memory."),
  recalledRows: described(count, "Rows, also of other memories, that were in a prompt at least once."),
  mostRecalled: described(listOf(RecalledRow), "The ten that were recalled most, the most first."),
});
export type MemoryStats = Static<typeof MemoryStats>;

const PAGE = 500;
const MOST = 10;

export async function loadMemoryStats(
  place: MemoryPlace,
  reader: Pick<StoreReader, "agents" | "agent" | "memories" | "read">,
): Promise<MemoryStats> {
  const { id, row } = await findNamespace(reader, place);
  const { texts, ...counted } = await countRows(id, reader);
  const recalls =
    row && row.id === id ? await countRecalls(id, reader) : { prompts: 0, ids: new Map<string, number>() };
  const most = [...recalls.ids].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, MOST);
  return {
    namespace: id,
    ...counted,
    prompts: recalls.prompts,
    recalledRows: recalls.ids.size,
    mostRecalled: most.map(([id, prompts]) => ({ id, prompts, text: texts.get(id) ?? "" })),
  };
}

const TEXT_CHARS = 200;

async function countRows(namespace: string, reader: Pick<StoreReader, "memories">) {
  const kinds = new Map<MemoryStats["kinds"][number]["kind"], number>();
  const distinct = new Set<string>();
  const texts = new Map<string, string>();
  const sums = { rows: 0, replaced: 0, forgotten: 0, pinned: 0, textBytes: 0, vectorBytes: 0 };
  const pages = readPages((after, limit) => reader.memories(namespace, after, limit), byChange, { limit: PAGE });
  for await (const page of pages)
    for (const row of page) {
      sums.textBytes += Buffer.byteLength(row.text);
      sums.vectorBytes += row.vector?.byteLength ?? 0;
      texts.set(row.id, oneLine(row.text, TEXT_CHARS));
      if (row.forgotten !== null) sums.forgotten++;
      else if (row.supersededBy !== null) sums.replaced++;
      if (!isLive(row)) continue;
      sums.rows++;
      if (row.pinned) sums.pinned++;
      kinds.set(row.kind, (kinds.get(row.kind) ?? 0) + 1);
      distinct.add(statementOf(row.text).whole);
    }
  const byCount = [...kinds].map(([kind, rows]) => ({ kind, rows })).sort((a, b) => b.rows - a.rows);
  return { ...sums, kinds: byCount, distinctTexts: distinct.size, texts };
}

async function countRecalls(agent: string, reader: Pick<StoreReader, "read">) {
  const ids = new Map<string, number>();
  let prompts = 0;
  const turn = createTurns();
  for await (const event of allEvents(reader, agent)) {
    if (event.type !== "model-asked" || event.recallIds.length === 0) continue;
    prompts++;
    for (const id of shownIds(event)) ids.set(id, (ids.get(id) ?? 0) + 1);
    await turn();
  }
  return { ids, prompts };
}

export function describeMemoryStats(stats: MemoryStats): string {
  const { rows, replaced, forgotten, pinned, kinds, distinctTexts, textBytes, vectorBytes } = stats;
  const { prompts, recalledRows, mostRecalled } = stats;
  const kindList = kinds.map(({ kind, rows: count }) => `${kind} ${count}`).join(", ");
  return [
    `${countNoun(rows, "row")}${kindList === "" ? "" : `: ${kindList}`}`,
    `${countNoun(distinctTexts, "distinct text")}; ${pinned} pinned, ${replaced} replaced, ${forgotten} forgotten`,
    `${formatSize(textBytes)} of text, ${formatSize(vectorBytes)} of vectors`,
    prompts === 0
      ? "No prompt had recalls."
      : `${countNoun(recalledRows, "row")} recalled in ${countNoun(prompts, "prompt")}; most often:`,
    ...mostRecalled.map(({ id, prompts: times, text }) => `  ${times} × ${id}  ${oneLine(text, 70)}`.trimEnd()),
  ].join("\n");
}
