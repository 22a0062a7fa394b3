/**
 * chunk-text.ts -- splits a long text into chunks that can be read on their own.
 *
 * It prefers to cut before a heading, then between blocks (paragraphs, tables, code), lines, sentences, words and
 * characters, and never inside a surrogate pair. A chunk begins with up to `overlapChars` characters of the chunk
 * before; without these, the chunks joined are the text unchanged. No chunk is empty or longer than `maxChars`, overlap
 * included. Time is linear in the text for all options.
 *
 * White space longer than a chunk becomes chunks of white space; callers should skip those.
 */

export interface ChunkOptions {
  /** Maximum length of a chunk with its overlap. A token is about four characters of English. */
  readonly maxChars: number;
  /** Maximum overlap: the last paragraph where it fits, else its last sentences. At most half of `maxChars`. */
  readonly overlapChars: number;
  /** `markdown` recognizes headings, fenced code and tables; `plain` only paragraphs. */
  readonly format: "markdown" | "plain";
  /** Never cuts a line that fits into a chunk, such as a row of a table. Chunks may be short then. */
  readonly wholeLines?: boolean;
}

export interface Chunk {
  readonly text: string;
  /** Position of `text` in the whole text. */
  readonly start: number;
  /** Number of first characters that repeat the end of the chunk before. */
  readonly overlap: number;
  /** The headings above its first new line, outermost first. Headings inside `text` are not listed. */
  readonly headings: readonly string[];
  /** Heading rows or opening fence to put before a later part of a table or of code; else empty. */
  readonly lead: string;
}

export function chunkText(text: string, options: ChunkOptions): Chunk[] {
  const maxChars = Math.max(1, Math.floor(options.maxChars) || 1);
  // Leaves room for a surrogate pair of new text.
  const maxOverlap = Math.max(0, Math.min(Math.floor(maxChars / 2), maxChars - 2));
  const overlapChars = Math.min(Math.max(0, Math.floor(options.overlapChars) || 0), maxOverlap);
  const blocks = readBlocks(text, options.format);
  const chunks: Chunk[] = [];
  let index = 0;
  for (let from = 0; from < text.length; ) {
    while ((blocks[index] as TextBlock).end <= from) index += 1;
    const block = blocks[index] as TextBlock;
    const lowest = Math.max(chunks.at(-1)?.start ?? 0, from - overlapChars);
    const start = block.start === from && block.isHeading ? from : findOverlapStart(text, blocks, index, from, lowest);
    const end = findEnd(text, blocks, index, {
      from,
      limit: start + maxChars,
      wholeLines: options.wholeLines === true,
    });
    chunks.push({
      text: text.slice(start, end),
      start,
      overlap: from - start,
      headings: block.headings,
      lead: start > block.start ? block.lead : "",
    });
    from = end;
  }
  return chunks;
}

interface ChunkRange {
  readonly from: number;
  readonly limit: number;
  readonly wholeLines: boolean;
}

/** Finds the end, at most `limit`, of a chunk whose new text begins at `from` in block `index`. */
function findEnd(text: string, blocks: readonly TextBlock[], index: number, range: ChunkRange): number {
  const { from, limit, wholeLines } = range;
  const half = (limit - from) / 2;
  let next = index;
  for (; next < blocks.length && (blocks[next] as TextBlock).end <= limit; next++) {
    const { start, isHeading } = blocks[next] as TextBlock;
    if (isHeading && start - from >= half) return start;
  }
  if (next === blocks.length) return text.length;
  // A heading stays with the text below it.
  let kept = next;
  while (kept > index && blocks[kept - 1]?.isHeading) kept -= 1;
  const { start, end } = blocks[kept] as TextBlock;
  const fits = kept > index ? start : from;
  const isWorthFilling = fits - from < half && end - start > half;
  return fits > from && !isWorthFilling
    ? fits
    : cutBefore(text, Math.max(from, fits), limit, wholeLines ? limit - from : 0);
}

/**
 * Finds the best cut in the second half of the range from `from` to `limit`; in its first half only before a line of at most
 * `maxLineChars` that the range would cut.
 */
function cutBefore(text: string, from: number, limit: number, maxLineChars: number): number {
  const lowest = from + Math.floor((limit - from) / 2);
  const line = from + text.slice(from, limit).lastIndexOf("\n") + 1;
  const isWhole = text.slice(line, line + maxLineChars).includes("\n") || line + maxLineChars >= text.length;
  if (line <= lowest && isWhole) return line;
  for (const after of [afterParagraph, afterLine, afterSentence, afterSpace]) {
    for (let at = limit; at > lowest; at--) if (after(text, at)) return at;
  }
  return isInsidePair(text, limit) ? (limit - 1 > from ? limit - 1 : limit + 1) : limit;
}

/** Returns the start of the last paragraph before `from`, or of its end that begins at or after `lowest`. */
function findOverlapStart(
  text: string,
  blocks: readonly TextBlock[],
  index: number,
  from: number,
  lowest: number,
): number {
  const block = blocks[index] as TextBlock;
  const paragraph = block.start < from ? block : blocks[index - 1];
  if (!paragraph || lowest >= from) return from;
  if (paragraph.isHeading) return from;
  if (paragraph.start >= lowest) return paragraph.start;
  for (const after of [afterLine, afterSentence, afterSpace]) {
    for (let at = lowest; at < from; at++) if (after(text, at)) return at;
  }
  return isInsidePair(text, lowest) ? lowest + 1 : lowest;
}

const isSpace = (unit: string | undefined): boolean => unit === " " || unit === "\n" || unit === "\t" || unit === "\r";
/** Each of these returns whether `at` directly follows the white space that ends a line, paragraph, word or sentence. */
const afterLine = (text: string, at: number): boolean => text[at - 1] === "\n";
const afterParagraph = (text: string, at: number): boolean =>
  text[at - 1] === "\n" && (text[at - 2] === "\n" || (text[at - 2] === "\r" && text[at - 3] === "\n"));
const afterSpace = (text: string, at: number): boolean => isSpace(text[at - 1]) && !isSpace(text[at]);
const afterSentence = (text: string, at: number): boolean =>
  "。！？".includes(text[at - 1] ?? "-") ||
  (afterSpace(text, at) &&
    (".!?".includes(text[at - 2] ?? "-") || /^[.!?]["')\]”’»]$/.test(text.slice(at - 3, at - 1))));

function isInsidePair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const behind = text.charCodeAt(at);
  return before >= 0xd800 && before < 0xdc00 && behind >= 0xdc00 && behind < 0xe000;
}

interface TextBlock {
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

/**
 * Splits a text into blocks: paragraphs, and in Markdown also headings, fenced code and tables. The blocks are adjacent
 * and cover the whole text; blank lines belong to the block above. Any text is accepted: a fence that is never closed
 * ends with the text. Each line is read a bounded number of times.
 */
function readBlocks(text: string, format: "markdown" | "plain"): TextBlock[] {
  const lines = splitLines(text);
  const blocks: TextBlock[] = [];
  let path: readonly Heading[] = [];
  for (let index = 0; index < lines.length; ) {
    const heading = format === "markdown" ? readHeading(lines, index) : undefined;
    const { next, lead } = heading ? { next: index + heading.lines, lead: "" } : measureBlock(lines, index, format);
    const behind = skipBlank(lines, next);
    if (heading) path = path.filter(({ level }) => level < heading.level);
    const headings = path.map(({ title }) => title);
    const start = (lines[index] as TextLine).start;
    blocks.push({ start, end: endOf(lines, behind), isHeading: heading !== undefined, headings, lead });
    if (heading) path = [...path, heading];
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
