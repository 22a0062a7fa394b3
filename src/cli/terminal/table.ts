/** table.ts -- rows as aligned columns, by the width that a terminal gives each character. */
import { stripVTControlCharacters } from "node:util";

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join("  ")
      .trimEnd();
  return [head, ...rows].map(line).join("\n");
}

/** As much of a line as fits, so that it stays one. */
export function fitLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let width = 0;
  let shown = "";
  for (const { segment } of segmentsOf(line)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** Made for the first text that needs it: it takes some 8 ms, and most tables are plain. */
let segmenter: Intl.Segmenter | undefined;

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Han, kana, hangul, fullwidth forms and most pictures take two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(stripVTControlCharacters(text))) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
