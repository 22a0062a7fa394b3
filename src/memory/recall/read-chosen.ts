/**
 * read-chosen.ts -- makes recalls of the chosen rows: their texts, the rows around them, and the other rows of their series.
 *
 * Choosing uses no text; this is the only place where a recall reads any.
 */
import { formOfSeries, numbersIn } from "#core/number-series.ts";
import type { Recall, RecalledRow } from "#core/ports/recall.ts";
import type { AgentRows, RecallableRow } from "./agent-rows.ts";
import type { ChosenRow } from "./choose-recalls.ts";
import { excerptOf } from "./excerpt.ts";
import type { QueryPart } from "./query-parts.ts";

/** A memory whose slots are numbered from `firstSlot`. */
export interface ChosenMemory {
  readonly rows: AgentRows;
  readonly firstSlot: number;
  readonly excluded: ReadonlySet<number>;
}

/** Rows of a series that are read; the prompt has room for fewer. */
const MAX_SERIES_ROWS = 24;

export function readChosen(
  { slot: mergedSlot, score }: ChosenRow,
  { rows, firstSlot, excluded }: ChosenMemory,
  parts: readonly QueryPart[],
): Recall {
  const slot = mergedSlot - firstSlot;
  const row = toRecalledRow(rows.at(slot));
  const ranges = row.kind === "turn" ? undefined : excerptOf(row.text, parts);
  const { before, after } = rows.neighbours.around(slot, rows, excluded);
  const read = (slots: readonly number[]) => slots.map((near) => toRecalledRow(rows.at(near)));
  const hasAround = before.length + after.length > 0;
  const series = readSeries(slot, row, rows, excluded);
  return {
    ...row,
    score,
    ...(ranges ? { ranges } : {}),
    ...(hasAround ? { around: { before: read(before), after: read(after) } } : {}),
    ...(series ? { series } : {}),
  };
}

/** Only rows of the same words in the same order, of the same kind and from the same source of words. */
function readSeries(
  slot: number,
  row: RecalledRow,
  rows: AgentRows,
  excluded: ReadonlySet<number>,
): Recall["series"] | undefined {
  const { slots, others } = rows.groups.rowsLike(slot, MAX_SERIES_ROWS, excluded);
  if (slots.length === 0 || numbersIn(row.text).length === 0) return undefined;
  const form = formOfSeries(row.text);
  const like = slots.map((other) => toRecalledRow(rows.at(other)));
  const found = like.filter(
    ({ kind, trust, text }) => kind === row.kind && trust === row.trust && formOfSeries(text) === form,
  );
  return found.length === 0 ? undefined : { rows: found, others };
}

const toRecalledRow = ({ id, seq, step, at, kind, trust, text, outside }: RecallableRow): RecalledRow => ({
  ...{ id, seq, step, at, kind, trust, text },
  ...(outside ? { outside } : {}),
});
