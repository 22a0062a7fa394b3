/**
 * text-blocks.ts -- a text as a row of blocks: paragraphs, and of Markdown headings, fenced code and tables.
 *
 * The blocks lie end to end and cover the whole text; blank lines belong to the block above them. Nothing is too
 * broken: a fence that is never closed ends with the text. Each line is looked at a bounded number of times.
 */

export interface Block {
  readonly start: number;
  readonly end: number;
  /** It is a heading. */
  readonly isHeading: boolean;
  /** Titles of the headings above it, outermost first. */
  readonly headings: readonly string[];
  /** What a later piece of this block needs in front of it: heading rows of a table, opening fence of code. */
  readonly lead: string;
}

interface Line {
  readonly start: number;
  readonly end: number;
  /** Without white space at either end. */
  readonly text: string;
}
interface Heading {
  readonly level: number;
  readonly title: string;
  /** How many lines it takes. */
  readonly lines: number;
}
/** Of a block: index of the line behind it, blank lines not counted, and its lead. */
interface Extent {
  readonly next: number;
  readonly lead: string;
}

/** A longer title or lead is a text of its own. */
const MAX_TITLE_CHARS = 200;
const MAX_LEAD_CHARS = 400;

export function readBlocks(text: string, format: "markdown" | "plain"): Block[] {
  const lines = linesOf(text);
  const blocks: Block[] = [];
  let path: readonly Heading[] = [];
  let titles: readonly string[] = [];
  for (let index = 0; index < lines.length; ) {
    const heading = format === "markdown" ? headingAt(lines, index) : undefined;
    const { next, lead } = heading ? { next: index + heading.lines, lead: "" } : extentOf(lines, index, format);
    const behind = skipBlank(lines, next);
    if (heading) {
      path = path.filter(({ level }) => level < heading.level);
      titles = path.map(({ title }) => title);
    }
    const start = (lines[index] as Line).start;
    blocks.push({ start, end: endOf(lines, behind), isHeading: heading !== undefined, headings: titles, lead });
    if (heading) {
      path = [...path, heading];
      titles = [...titles, heading.title];
    }
    index = behind;
  }
  return blocks;
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline + 1;
    lines.push({ start, end, text: text.slice(start, end).trim() });
    start = end;
  }
  return lines;
}

const endOf = (lines: readonly Line[], behind: number): number => lines[behind - 1]?.end ?? 0;

function skipBlank(lines: readonly Line[], from: number): number {
  let index = from;
  while (index < lines.length && lines[index]?.text === "") index += 1;
  return index;
}

// ---------------------------------------------------------------- headings

/** `## Title` or a line that is underlined. */
function headingAt(lines: readonly Line[], index: number): Heading | undefined {
  const line = lines[index]?.text ?? "";
  const marks = /^#{1,6}(?=\s|$)/.exec(line)?.[0].length;
  if (marks !== undefined) return { level: marks, title: titleOf(line.slice(marks)), lines: 1 };
  const under = lines[index + 1]?.text ?? "";
  if (line === "" || under.length < 3 || opensBlock(line)) return undefined;
  if (isRunOf(under, "=")) return { level: 1, title: titleOf(line), lines: 2 };
  if (isRunOf(under, "-") && !isRunOf(line, "-")) return { level: 2, title: titleOf(line), lines: 2 };
  return undefined;
}

function titleOf(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trim().slice(0, MAX_TITLE_CHARS).toWellFormed();
}

function isRunOf(line: string, mark: string): boolean {
  for (const character of line) if (character !== mark) return false;
  return line !== "";
}

// ---------------------------------------------------------------- other blocks

const fenceOf = (line: string): string | undefined => /^(?:`{3,}|~{3,})/.exec(line)?.[0];
const opensBlock = (line: string): boolean => line.startsWith("|") || fenceOf(line) !== undefined;

function extentOf(lines: readonly Line[], index: number, format: "markdown" | "plain"): Extent {
  const first = lines[index]?.text ?? "";
  const fence = format === "markdown" ? fenceOf(first) : undefined;
  if (fence !== undefined) return extentOfCode(lines, index, fence);
  if (format === "markdown" && first.startsWith("|")) return extentOfTable(lines, index);
  let next = index + 1;
  const ends = ({ text }: Line, at: number): boolean =>
    text === "" || (format === "markdown" && (opensBlock(text) || headingAt(lines, at) !== undefined));
  while (next < lines.length && !ends(lines[next] as Line, next)) next += 1;
  return { next, lead: "" };
}

function extentOfCode(lines: readonly Line[], index: number, fence: string): Extent {
  let next = index + 1;
  const closes = ({ text }: Line): boolean => text.startsWith(fence) && isRunOf(text, fence.charAt(0));
  while (next < lines.length && !closes(lines[next] as Line)) next += 1;
  return { next: Math.min(next + 1, lines.length), lead: leadOf([lines[index] as Line]) };
}

function extentOfTable(lines: readonly Line[], index: number): Extent {
  let next = index + 1;
  while (lines[next]?.text.startsWith("|")) next += 1;
  const [head, rule] = lines.slice(index, index + 2) as [Line, Line?];
  return { next, lead: rule && /^[|:\s-]+$/.test(rule.text) ? leadOf([head, rule]) : "" };
}

function leadOf(rows: readonly Line[]): string {
  const lead = rows.map(({ text }) => `${text}\n`).join("");
  return lead.length <= MAX_LEAD_CHARS ? lead : "";
}
