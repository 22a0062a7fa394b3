/**
 * print.ts -- the one way to standard output and standard error.
 *
 * Control characters and direction marks never pass, and marks without width are written out, whoever made the text. A verb
 * may clean its texts before, so that they fit a line or a table.
 */
import { stripVTControlCharacters } from "node:util";
import { clean, showUnseen } from "#util/outside-text.ts";

export const printable = (text: string): string => showUnseen(clean(text));

export const printLine = (line: string): void => console.log(printable(line));

/** Writes a line to standard error. */
export const printNote = (line: string): void => console.error(printable(line));

/** Colours and weights of goald itself. Texts of others must be cleaned before they are styled. */
const STYLE = /(\u001b\[[0-9;]{1,20}m)/;

const printableInStyle = (text: string): string =>
  text
    .split(STYLE)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join("");

export const printStyledLine = (line: string): void => console.log(printableInStyle(line));

/** Writes a part of a line. */
export const printStyledPart = (text: string): void => void process.stdout.write(printableInStyle(text));

/** Moves the cursor to the top left and clears the screen. */
const CLEAR = "\u001b[H\u001b[2J";

export const redrawScreen = (text: string): void => void process.stdout.write(`${CLEAR}${printable(text)}`);

export function shortSpan(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

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
