/**
 * shown-recalls.ts -- what a prompt shows of its recalls, and its record in the log.
 *
 * The record has ids and ranges of characters, never texts. With the rows it gives the same lines again.
 */
import type { RecalledRow, ShownRecall, ShownRow, TextRange } from "#core/ports/memory.ts";

export interface RowPart {
  readonly row: RecalledRow;
  /** Absent: the whole text. */
  readonly ranges?: readonly TextRange[];
}

export interface RecallPart extends RowPart {
  /** Rows right before and after it; one of them may be another recall. */
  readonly around: readonly RowPart[];
  /** Rows whose numbers its line lists, the newest first. */
  readonly series: readonly RecalledRow[];
  /** Further rows of the series, which the line counts. */
  readonly others: number;
}

/** Returns every row of the parts, once. */
export const rowsOfParts = (parts: readonly RecallPart[]): readonly RecalledRow[] => [
  ...new Map(
    parts
      .flatMap(({ row, around, series }) => [row, ...around.map((near) => near.row), ...series])
      .map((row) => [row.id, row]),
  ).values(),
];

/** Leaves out recalls that are shown whole and alone. */
export const recordShown = (parts: readonly RecallPart[]): readonly ShownRecall[] =>
  parts
    .map(({ around, series, others, ...part }) => ({
      ...recordRow(part),
      ...(around.length > 0 ? { with: around.map(recordRow) } : {}),
      ...(series.length > 0 ? { series: series.map(({ id }) => id), ...(others > 0 ? { others } : {}) } : {}),
    }))
    .filter((recall) => Object.keys(recall).length > 1);

const recordRow = ({ row, ranges }: RowPart): ShownRow => ({ id: row.id, ...(ranges ? { ranges } : {}) });

/** Returns the parts of a record. Leaves out rows that `rows` lacks. */
export function readShown(
  recallIds: readonly string[],
  shown: readonly ShownRecall[],
  rows: ReadonlyMap<string, RecalledRow>,
): readonly RecallPart[] {
  const recorded = new Map(shown.map((recall) => [recall.id, recall]));
  const readRow = ({ id, ranges }: ShownRow): readonly RowPart[] => {
    const row = rows.get(id);
    return row ? [{ row, ...(ranges ? { ranges } : {}) }] : [];
  };
  return recallIds.flatMap((id) => {
    const recall: ShownRecall = recorded.get(id) ?? { id };
    const series = (recall.series ?? []).flatMap((other) => rows.get(other) ?? []);
    const around = (recall.with ?? []).flatMap(readRow);
    return readRow(recall).map((part) => ({ ...part, around, series, others: recall.others ?? 0 }));
  });
}
