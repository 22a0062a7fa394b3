/**
 * chunk-text.ts -- a long text in pieces that can be read by themselves, cut where its author paused.
 *
 * Cuts are looked for in this order: before a heading, between blocks (paragraphs, tables, code), between lines, sentences,
 * words, and at last between characters, never inside a surrogate pair. What a chunk repeats of the one before is its first
 * `overlap` characters; without those the chunks are the text, unchanged and whole. No chunk is empty and none is longer
 * than `maxChars`, what it repeats included. Time is linear in the text for any options, an overlap as long as a chunk included.
 *
 * A run of white space that is longer than a chunk makes chunks of white space: leave those out that trim to nothing.
 */
import { type Block, readBlocks } from "./text-blocks.ts";

export interface ChunkOptions {
  /** Of a chunk, with what it repeats. A token is about four characters of English. */
  readonly maxChars: number;
  /** Room for what is repeated: the last paragraph where it fits, else its last sentences. Half of `maxChars` at most. */
  readonly overlapChars: number;
  /** `markdown` knows headings, fenced code and tables; `plain` only paragraphs. */
  readonly format: "markdown" | "plain";
}

export interface Chunk {
  readonly text: string;
  /** Where `text` begins in the whole. */
  readonly start: number;
  /** How many of its first characters are the last ones of the chunk before. */
  readonly overlap: number;
  /** Above its first new line, outermost first; a heading in `text` itself is not repeated here. */
  readonly headings: readonly string[];
  /** What to put before a piece of a table or of code so that it can be read: its heading rows, its opening fence. Empty for none. */
  readonly lead: string;
}

export function chunkText(text: string, options: ChunkOptions): Chunk[] {
  const maxChars = Math.max(1, Math.floor(options.maxChars) || 1);
  // Room for a surrogate pair is left over in any case.
  const roomToRepeat = Math.max(0, Math.min(Math.floor(maxChars / 2), maxChars - 2));
  const overlapChars = Math.min(Math.max(0, Math.floor(options.overlapChars) || 0), roomToRepeat);
  const blocks = readBlocks(text, options.format);
  const chunks: Chunk[] = [];
  let index = 0;
  for (let from = 0; from < text.length; ) {
    while ((blocks[index] as Block).end <= from) index += 1;
    const block = blocks[index] as Block;
    const lowest = Math.max(chunks.at(-1)?.start ?? 0, from - overlapChars);
    const start = block.start === from && block.isHeading ? from : startOfOverlap(text, blocks, index, from, lowest);
    const end = findEnd(text, blocks, index, from, start + maxChars);
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

// ---------------------------------------------------------------- where a chunk ends

/** The end of a chunk whose new text begins at `from`, in block `index`, and that must not reach beyond `limit`. */
function findEnd(text: string, blocks: readonly Block[], index: number, from: number, limit: number): number {
  const half = (limit - from) / 2;
  let next = index;
  for (; next < blocks.length && (blocks[next] as Block).end <= limit; next++) {
    const { start, isHeading } = blocks[next] as Block;
    if (isHeading && start - from >= half) return start;
  }
  if (next === blocks.length) return text.length;
  // A heading goes with what it is the heading of.
  let kept = next;
  while (kept > index && blocks[kept - 1]?.isHeading) kept -= 1;
  const { start, end } = blocks[kept] as Block;
  const fits = kept > index ? start : from;
  const isWorthFilling = fits - from < half && end - start > half;
  return fits > from && !isWorthFilling ? fits : cutBefore(text, Math.max(from, fits), limit);
}

/** The best place for a cut in the second half of the room, after `from`. */
function cutBefore(text: string, from: number, limit: number): number {
  const lowest = from + Math.floor((limit - from) / 2);
  for (const after of [afterParagraph, afterLine, afterSentence, afterSpace]) {
    for (let at = limit; at > lowest; at--) if (after(text, at)) return at;
  }
  return isInsidePair(text, limit) ? (limit - 1 > from ? limit - 1 : limit + 1) : limit;
}

// ---------------------------------------------------------------- what is repeated

/** The last paragraph before `from`, or as much of it as there is room for above `lowest`. */
function startOfOverlap(text: string, blocks: readonly Block[], index: number, from: number, lowest: number): number {
  const block = blocks[index] as Block;
  const paragraph = block.start < from ? block : blocks[index - 1];
  if (!paragraph || lowest >= from) return from;
  if (paragraph.isHeading) return from;
  if (paragraph.start >= lowest) return paragraph.start;
  for (const after of [afterLine, afterSentence, afterSpace]) {
    for (let at = lowest; at < from; at++) if (after(text, at)) return at;
  }
  return isInsidePair(text, lowest) ? lowest + 1 : lowest;
}

// ---------------------------------------------------------------- places for a cut

const isSpace = (unit: string | undefined): boolean => unit === " " || unit === "\n" || unit === "\t" || unit === "\r";
/** Each tells whether `at` stands behind the white space that ends such a thing. */
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
