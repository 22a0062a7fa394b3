/**
 * print.ts -- the one way to standard output and standard error. Control characters and direction marks never pass, and
 * marks without width are written out, whoever made the text. A verb may clean its texts before, so that they fit a
 * line or a table.
 */
import { styleText } from "node:util";
import { clean, showUnseen } from "#util/outside-text.ts";
import { columnWidths, fitLine, LivingText, STYLE, widthOf, wrapText } from "./living-text.ts";

export const printable = (text: string): string => showUnseen(clean(text));

export const printLine = (line: string): void => printWhole(printable(line));

/** Writes a line to standard error. */
export const printNote = (line: string): void => {
  if (living && process.stderr.isTTY) printLine(line);
  else console.error(printable(line));
};

export type Style = "bold" | "dim" | "cyan" | "green" | "yellow" | "red" | "underline";

/** `text`: cleaned. */
export const paint = (isColoured: boolean, style: Style, text: string): string =>
  isColoured ? styleText(style, text, { validateStream: false }) : text;

const printableInStyle = (text: string): string =>
  text
    .split(STYLE)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join("");

export const printStyledLine = (line: string): void => printWhole(printableInStyle(line));

/** Writes a part of a line. Lines that are printed meanwhile follow at its end. */
export const printStyledPart = (text: string): void => {
  const part = printableInStyle(text);
  process.stdout.write(living ? living.write(part) : part);
};

const printWhole = (line: string): void => void process.stdout.write(living ? living.writeLine(line) : `${line}\n`);

/** Set while the text on the terminal has changing lines below it. */
let living: LivingText | undefined;

/** Lines below the text of this terminal. Each text that is printed goes above them. */
export type LinesBelow = ReturnType<typeof openLinesBelow>;

/** From now on text on this terminal breaks between words. Requires that standard output is a terminal. */
export function openLinesBelow() {
  const { stdout } = process;
  const opened = new LivingText(() => stdout.columns || Number.POSITIVE_INFINITY);
  living = opened;
  /** Replaces the lines. They may have goald's own styles, and must fit into the terminal. */
  const show = (lines: readonly string[]): void => {
    if (living === opened) stdout.write(opened.show(lines.map(printableInStyle)));
  };
  /** Removes them. Text is no longer broken at words. Further calls do nothing. */
  const end = (): void => {
    if (living === opened) stdout.write(opened.end());
    if (living === opened) living = undefined;
    process.off("exit", end);
  };
  process.on("exit", end);
  return { show, end };
}

/** Moves the cursor to the top left and clears the screen. */
const CLEAR = "\u001b[H\u001b[2J";

export const redrawScreen = (text: string): void => void process.stdout.write(`${CLEAR}${printableInStyle(text)}`);

export interface Look {
  /** Cells before the further rows of a line that is broken; default 2. */
  indentOf?(line: string): number;
  styleOf?(line: string): Style | undefined;
  /** True for a line with the words of others, whose times stay as they are written. */
  isExact?(line: string): boolean;
}

type Layout = Look & { readonly columns: number; readonly colour: boolean; readonly now: Date };

/** Breaks lines between words, writes times as local ones, and paints. `text`: cleaned, with goald's own styles. */
export function layOut(text: string, { columns, colour, now, indentOf, styleOf, isExact }: Layout): string {
  return text
    .split("\n")
    .map((line) => {
      const style = styleOf?.(line);
      const said = isExact?.(line) ? line : line.replace(UTC_TIME, (iso) => localTime(iso, now));
      const wrapped = wrapText(said, columns, indentOf?.(line));
      return style ? paint(colour, style, wrapped) : wrapped;
    })
    .join("\n");
}

const UTC_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z/g;

/** `12:36:06` today, `24 Nov 12:36` on another day of this year, else with the year. `iso`: a time in UTC. */
export function localTime(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const clock = at.toTimeString();
  if (at.toDateString() === now.toDateString()) return clock.slice(0, 8);
  const [, month = "", day = "", year = ""] = at.toDateString().split(" ");
  return [`${Number(day)}`, month, ...(year === `${now.getFullYear()}` ? [] : [year]), clock.slice(0, 5)].join(" ");
}

export function shortSpan(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

const LEAST_CELL = 8;

/** `shrinks`: the column whose cells are shortened when a row takes more than `columns` cells. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
  shrinks = 0,
): string {
  const widths = columnWidths(head, rows);
  const over = widths.reduce((sum, width) => sum + width + 2, -2) - columns;
  const shrink = (width: number): number => Math.min(width, Math.max(LEAST_CELL, width - over));
  const fitting = widths.map((width, at) => (at === shrinks ? shrink(width) : width));
  const pad = (cell: string, width: number): string => cell + " ".repeat(Math.max(0, width - widthOf(cell)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => pad(fitLine(cell, fitting[column] ?? 0), fitting[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [head, ...rows].map(line).join("\n");
}
