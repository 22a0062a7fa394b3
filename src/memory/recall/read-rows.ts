/**
 * read-rows.ts -- reads from the store what a recall shows, because main memory holds no texts: the found rows, the rows
 * around them, and the other rows of their series.
 */
import { toError } from "#core/errors.ts";
import { isPast } from "#core/memory.ts";
import { formOfSeries, numbersIn } from "#core/number-series.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall, RecalledRow } from "#core/ports/recall.ts";
import type { OutageReporter } from "../vectors/guarded-embedder.ts";
import type { AgentRows } from "./agent-rows.ts";
import { excerptOf } from "./excerpt.ts";
import type { FoundRow, SearchedMemory } from "./find-recalls.ts";
import type { QueryPart } from "./query-parts.ts";

/** Rows of a series that are read; the prompt has room for fewer. */
const MAX_SERIES_ROWS = 24;

/** Leaves out rows that were forgotten or superseded since the search, and rows that cannot be read, which it reports. */
export async function readRecalls(
  found: readonly FoundRow[],
  parts: readonly QueryPart[],
  outage: OutageReporter,
): Promise<readonly Recall[]> {
  const recalls: Recall[] = [];
  let problem: unknown;
  for (const row of found)
    try {
      const recall = await readRecall(row, parts);
      if (recall) recalls.push(recall);
    } catch (error) {
      problem ??= error;
    }
  if (problem === undefined) outage.recovered();
  else outage.failed(`Memory leaves out rows that it cannot read: ${toError(problem).message}`);
  return recalls;
}

async function readRecall(
  { slot, score, memory: { rows, excluded } }: FoundRow,
  parts: readonly QueryPart[],
): Promise<Recall | undefined> {
  const [row] = await readSlots([slot], rows);
  if (!row) return undefined;
  const ranges = row.kind === "turn" ? undefined : excerptOf(row.text, parts);
  const { before, after } = rows.neighbours.around(slot, rows, excluded);
  const hasAround = before.length + after.length > 0;
  const series = await readSeries(slot, row, rows, excluded);
  return {
    ...row,
    score,
    ...(ranges ? { ranges } : {}),
    ...(hasAround ? { around: { before: await readSlots(before, rows), after: await readSlots(after, rows) } } : {}),
    ...(series ? { series } : {}),
  };
}

/**
 * Only rows of the same words in the same order, of the same kind and from the same source of words. Facts with a subject and an
 * attribute are left out: the list of numbers does not show which of them holds.
 */
async function readSeries(
  slot: number,
  row: RecalledRow,
  rows: AgentRows,
  excluded: SearchedMemory["excluded"],
): Promise<Recall["series"] | undefined> {
  if (numbersIn(row.text).length === 0 || rows.facts.has(slot)) return undefined;
  const { slots, others } = rows.groups.rowsLike(slot, MAX_SERIES_ROWS, excluded);
  if (slots.length === 0) return undefined;
  const form = formOfSeries(row.text);
  const candidates = slots.filter((other) => !rows.facts.has(other));
  const found = (await readSlots(candidates, rows)).filter(
    ({ kind, trust, text }) => kind === row.kind && trust === row.trust && formOfSeries(text) === form,
  );
  return found.length === 0 ? undefined : { rows: found, others };
}

async function readSlots(slots: readonly number[], rows: AgentRows): Promise<readonly RecalledRow[]> {
  const found: RecalledRow[] = [];
  for (const slot of slots) {
    const row = await rows.read(rows.at(slot).id);
    if (row) found.push(toRecalledRow(row));
  }
  return found;
}

function toRecalledRow(row: MemoryRow): RecalledRow {
  const { id, seq, step, at, kind, trust, text, outside, closed } = row;
  return {
    ...{ id, seq, step, at, kind, trust, text },
    ...(outside ? { outside } : {}),
    ...(closed && isPast(row) ? { closed } : {}),
  };
}
