/**
 * read-rows.ts -- reads from the store what a recall shows, because main memory holds no texts: the found rows, the rows
 * around them, and the other rows of their series.
 */
import { toError } from "#core/errors.ts";
import { isPast } from "#core/memory.ts";
import { formOfSeries, isSeries, numbersIn } from "#core/number-series.ts";
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
  const readRow = createRowReader();
  const recalls: Recall[] = [];
  let problem: unknown;
  for (const row of found)
    try {
      const recall = await readRecall(row, parts, readRow);
      if (recall) recalls.push(recall);
    } catch (error) {
      problem ??= error;
    }
  if (problem === undefined) outage.recovered();
  else outage.failed(`Memory leaves out rows that it cannot read: ${toError(problem).message}`);
  return recalls;
}

/** Returns undefined for a row that may not be recalled any more. */
type ReadRow = (slot: number, rows: AgentRows) => Promise<RecalledRow | undefined>;

/** Reads each row once: the rows around one recall are often those around the next. */
function createRowReader(): ReadRow {
  const known = new Map<string, RecalledRow | undefined>();
  return async (slot, rows) => {
    const { id } = rows.at(slot);
    if (known.has(id)) return known.get(id);
    const row = await rows.read(id);
    const recalled = row && toRecalledRow(row);
    known.set(id, recalled);
    return recalled;
  };
}

async function readRecall(
  { slot, score, memory: { rows, excluded } }: FoundRow,
  parts: readonly QueryPart[],
  readRow: ReadRow,
): Promise<Recall | undefined> {
  const row = await readRow(slot, rows);
  if (!row) return undefined;
  const ranges = row.kind === "turn" ? undefined : excerptOf(row.text, parts);
  const readSlots = async (slots: readonly number[]): Promise<readonly RecalledRow[]> => {
    const found: RecalledRow[] = [];
    for (const near of slots) {
      const other = await readRow(near, rows);
      if (other) found.push(other);
    }
    return found;
  };
  const { before, after } = rows.neighbours.around(slot, rows, excluded);
  const hasAround = before.length + after.length > 0;
  const series = ranges ? undefined : await readSeries(slot, row, rows, excluded, readRow);
  return {
    ...row,
    score,
    ...(ranges ? { ranges } : {}),
    ...(hasAround ? { around: { before: await readSlots(before), after: await readSlots(after) } } : {}),
    ...(series ? { series } : {}),
  };
}

/**
 * Returns the other rows of the row's series, newest first: same words in the same order, same kind, same source of words.
 * Facts with a subject and an attribute are left out: the list of numbers does not show which of them holds.
 */
async function readSeries(
  slot: number,
  row: RecalledRow,
  rows: AgentRows,
  excluded: SearchedMemory["excluded"],
  readRow: ReadRow,
): Promise<Recall["series"] | undefined> {
  if (numbersIn(row.text).length === 0 || rows.facts.has(slot)) return undefined;
  const { slots, others } = rows.groups.rowsLike(slot, MAX_SERIES_ROWS, excluded);
  const form = formOfSeries(row.text);
  const found: RecalledRow[] = [];
  for (const near of slots) {
    const other = rows.facts.has(near) ? undefined : await readRow(near, rows);
    if (!other || other.kind !== row.kind || other.trust !== row.trust || formOfSeries(other.text) !== form) continue;
    found.push(other);
    // Further rows only add changing numbers, so that the first other row mostly tells that this is not a series.
    if (!isSeries([row.text, other.text])) return undefined;
  }
  return found.length === 0 ? undefined : { rows: found, others };
}

function toRecalledRow(row: MemoryRow): RecalledRow {
  const { id, seq, step, at, kind, trust, text, outside, closed } = row;
  return {
    ...{ id, seq, step, at, kind, trust, text },
    ...(outside ? { outside } : {}),
    ...(closed && isPast(row) ? { closed } : {}),
  };
}
