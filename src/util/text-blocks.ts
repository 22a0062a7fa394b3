/**
 * text-blocks.ts -- splits a text into blocks: paragraphs, and in Markdown also headings, fenced code and tables.
 *
 * The blocks are adjacent and cover the whole text; blank lines belong to the block above. Any text is accepted: a fence
 * that is never closed ends with the text. Each line is read a bounded number of times.
 */

export interface TextBlock {
  readonly start: number;
  readonly end: number;
  readonly isHeading: boolean;
  /** Titles of the headings above the block, outermost first. */
  readonly headings: readonly string[];
  /** Text to repeat before a later part of this block: heading rows of a table, opening fence of code. */
  readonly lead: string;
}

interface TextLine {
  readonly start: number;
  readonly end: number;
  /** Trimmed. */
  readonly text: string;
}
interface Heading {
  readonly level: number;
  readonly title: string;
  /** Number of lines: an underlined heading has two. */
  readonly lines: number;
}
interface BlockExtent {
  /** Index of the first line after the block, not counting blank lines. */
  readonly next: number;
  readonly lead: string;
}

/** Longer titles are cut, and longer leads are dropped. */
const MAX_TITLE_CHARS = 200;
const MAX_LEAD_CHARS = 400;

export function readBlocks(text: string, format: "markdown" | "plain"): TextBlock[] {
  const lines = splitLines(text);
  const blocks: TextBlock[] = [];
  let path: readonly Heading[] = [];
  let titles: readonly string[] = [];
  for (let index = 0; index < lines.length; ) {
    const heading = format === "markdown" ? readHeading(lines, index) : undefined;
    const { next, lead } = heading ? { next: index + heading.lines, lead: "" } : measureBlock(lines, index, format);
    const behind = skipBlank(lines, next);
    if (heading) {
      path = path.filter(({ level }) => level < heading.level);
      titles = path.map(({ title }) => title);
    }
    const start = (lines[index] as TextLine).start;
    blocks.push({ start, end: endOf(lines, behind), isHeading: heading !== undefined, headings: titles, lead });
    if (heading) {
      path = [...path, heading];
      titles = [...titles, heading.title];
    }
    index = behind;
  }
  return blocks;
}

function splitLines(text: string): TextLine[] {
  const lines: TextLine[] = [];
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline + 1;
    lines.push({ start, end, text: text.slice(start, end).trim() });
    start = end;
  }
  return lines;
}

const endOf = (lines: readonly TextLine[], behind: number): number => lines[behind - 1]?.end ?? 0;

function skipBlank(lines: readonly TextLine[], from: number): number {
  let index = from;
  while (index < lines.length && lines[index]?.text === "") index += 1;
  return index;
}

// ---------------------------------------------------------------- headings

/** Reads `## Title` or an underlined line. */
function readHeading(lines: readonly TextLine[], index: number): Heading | undefined {
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

function measureBlock(lines: readonly TextLine[], index: number, format: "markdown" | "plain"): BlockExtent {
  const first = lines[index]?.text ?? "";
  const fence = format === "markdown" ? fenceOf(first) : undefined;
  if (fence !== undefined) return measureCode(lines, index, fence);
  if (format === "markdown" && first.startsWith("|")) return measureTable(lines, index);
  let next = index + 1;
  const ends = ({ text }: TextLine, at: number): boolean =>
    text === "" || (format === "markdown" && (opensBlock(text) || readHeading(lines, at) !== undefined));
  while (next < lines.length && !ends(lines[next] as TextLine, next)) next += 1;
  return { next, lead: "" };
}

function measureCode(lines: readonly TextLine[], index: number, fence: string): BlockExtent {
  let next = index + 1;
  const closes = ({ text }: TextLine): boolean => text.startsWith(fence) && isRunOf(text, fence.charAt(0));
  while (next < lines.length && !closes(lines[next] as TextLine)) next += 1;
  return { next: Math.min(next + 1, lines.length), lead: leadOf([lines[index] as TextLine]) };
}

function measureTable(lines: readonly TextLine[], index: number): BlockExtent {
  let next = index + 1;
  while (lines[next]?.text.startsWith("|")) next += 1;
  const [head, rule] = lines.slice(index, index + 2) as [TextLine, TextLine?];
  return { next, lead: rule && /^[|:\s-]+$/.test(rule.text) ? leadOf([head, rule]) : "" };
}

function leadOf(rows: readonly TextLine[]): string {
  const lead = rows.map(({ text }) => `${text}\n`).join("");
  return lead.length <= MAX_LEAD_CHARS ? lead : "";
}
