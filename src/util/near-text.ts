/**
 * near-text.ts -- finds the lines of a file that are most similar to a text, and names the difference. Lines are
 * compared by their trigrams, without white space and case, in one pass over the bytes. The pass takes time linear in
 * the file and memory linear in the text, so a hostile file or text costs no more than another.
 */
import { clean } from "./outside-text.ts";

const NEWLINE = 10;
const TABLE_BITS = 20;
/** Similarity below this is chance. */
const MIN_LIKENESS = 0.4;
/** Longer lines are compared in parts. */
const MIN_PART_BYTES = 160;
/** Differences of longer texts are not named. */
const MAX_NAMED_CHARS = 100_000;

/** Returns as many lines as `text` has; undefined when nothing is similar. */
export function findNearLines(content: Uint8Array, text: string): LineSpan | undefined {
  const wanted = Buffer.from(text.replace(/[\r\n]+$/, ""));
  const table = new Uint8Array(1 << TABLE_BITS);
  let wantedCount = 0;
  let wantedLines = 0;
  scanParts(wanted, table, Number.POSITIVE_INFINITY, 1, (part) => {
    wantedCount += part.trigrams;
    wantedLines += 1;
  });
  if (wantedCount === 0) return undefined;
  const window = openWindow(wantedLines);
  let best: LineSpan | undefined;
  let bestLikeness = MIN_LIKENESS;
  scanParts(content, table, Math.max(MIN_PART_BYTES, 2 * wanted.length), 0, (part) => {
    const sums = window.add(part);
    const hits = Math.min(sums.hits, wantedCount);
    const likeness = (0.8 * hits) / wantedCount + (0.4 * hits) / (sums.trigrams + wantedCount);
    if (likeness <= bestLikeness) return;
    bestLikeness = likeness;
    best = { ...window.first(), end: part.end };
  });
  return best;
}

/** A line, or a part of a long one. `end` is before the line end. */
interface Part {
  start: number;
  end: number;
  line: number;
  /** Number of trigrams, and of those that the table has. */
  trigrams: number;
  hits: number;
}

/**
 * Calls `use` for each part, with an object that changes at the next call. Skips white space and controls, and folds
 * ASCII case. `mark` 1 adds the trigrams to the table.
 */
function scanParts(bytes: Uint8Array, table: Uint8Array, maxBytes: number, mark: 0 | 1, use: (part: Part) => void) {
  const part: Part = { start: 0, end: 0, line: 1, trigrams: 0, hits: 0 };
  let trigram = 0;
  let letters = 0;
  const close = (end: number): void => {
    part.end = end;
    use(part);
    part.trigrams = part.hits = trigram = letters = 0;
  };
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === NEWLINE) {
      close(at);
      part.start = at + 1;
      part.line += 1;
    } else if (at - part.start >= maxBytes) {
      close(at);
      part.start = at;
    }
    if (byte <= 32) continue;
    trigram = ((trigram << 8) | (byte >= 65 && byte <= 90 ? byte + 32 : byte)) & 0xffffff;
    letters += 1;
    if (letters < 3) continue;
    const slot = Math.imul(trigram, 0x9e3779b1) >>> (32 - TABLE_BITS);
    table[slot] = (table[slot] ?? 0) | mark;
    part.hits += table[slot] ?? 0;
    part.trigrams += 1;
  }
  if (part.start < bytes.length) close(bytes.length);
}

/** Sums over the last `size` parts. */
function openWindow(size: number) {
  const hits = new Int32Array(size);
  const trigrams = new Int32Array(size);
  const starts = new Int32Array(size);
  const lines = new Int32Array(size);
  const sums = { hits: 0, trigrams: 0 };
  let added = 0;
  return {
    add(part: Part): { readonly hits: number; readonly trigrams: number } {
      const slot = added % size;
      sums.hits += part.hits - (hits[slot] ?? 0);
      sums.trigrams += part.trigrams - (trigrams[slot] ?? 0);
      hits[slot] = part.hits;
      trigrams[slot] = part.trigrams;
      starts[slot] = part.start;
      lines[slot] = part.line;
      added += 1;
      return sums;
    },
    /** Of the oldest part in the window. */
    first(): { readonly start: number; readonly firstLine: number } {
      const slot = added >= size ? added % size : 0;
      return { start: starts[slot] ?? 0, firstLine: lines[slot] ?? 1 };
    },
  };
}

/** Says in words how `text` differs from the file around `near`; empty when that takes more than a few words. */
export function nameDifference(content: Uint8Array, near: LineSpan, text: string): string {
  const { start, end } = widenSpan(content, near, 2);
  if (text.length > MAX_NAMED_CHARS || end - start > 4 * MAX_NAMED_CHARS) return "";
  const found = decodeText(content.subarray(start, end));
  for (const mistake of MISTAKES) {
    const mended = mistake.mend(text);
    if (mended !== text && mended.trim() !== "" && fold(found).includes(fold(mended))) return mistake.words;
  }
  // Indentation counts only at the start of a line.
  const from = /^[ \t]/.test(text) ? "\n" : "";
  const first = FOLDS.find(({ fold: change }) => `\n${change(found)}\n`.includes(from + change(text)));
  if (first) return `They differ only in ${first.words}${first.words === INDENTATION ? nameIndent(found, text) : ""}.`;
  if (fold(found).includes(fold(text))) return "They differ only in white space, quotation marks, dashes or case.";
  return nameFirstDifference(decodeText(content.subarray(near.start, near.end)), text, near.firstLine);
}

const INDENTATION = "indentation";
const mapLines = (text: string, change: (line: string) => string): string => text.split("\n").map(change).join("\n");
const straighten = (text: string): string =>
  text
    .replace(/[\u2018\u2019\u201a\u2032\u00b4`]/g, "'")
    .replace(/[\u201c\u201d\u201e\u2033\u00ab\u00bb]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-");
const showOnly = (text: string): string =>
  clean(text)
    .replace(/[\u200b-\u200d\u2060\ufeff]/g, "")
    .replace(/[\u00a0\u2007\u202f]/g, " ");

/** What both texts have in common if nothing else differs, the smallest difference first. */
const FOLDS: readonly { readonly words: string; fold(text: string): string }[] = [
  { words: "a line break at the beginning or the end of the file", fold: (text) => text },
  { words: "line ends (CRLF and LF)", fold: (text) => text.replaceAll("\r\n", "\n") },
  { words: "trailing spaces", fold: (text) => mapLines(text, (line) => line.trimEnd()) },
  { words: INDENTATION, fold: (text) => mapLines(text, (line) => line.trim()) },
  { words: "invisible or unusual spaces", fold: showOnly },
  { words: "spaces and line breaks", fold: (text) => text.replace(/\s+/g, " ").trim() },
  { words: "quotation marks or dashes", fold: straighten },
  { words: "upper and lower case", fold: (text) => text.toLowerCase() },
];

/** Everything that `FOLDS` ignores. */
const fold = (text: string): string => straighten(showOnly(text)).toLowerCase().replace(/\s+/g, " ").trim();

const MISTAKES: readonly { readonly words: string; mend(text: string): string }[] = [
  {
    words: "`old` has the line numbers of an answer; the file does not have them.",
    mend: (text) => mapLines(text, (line) => line.replace(/^ *\d+: ?/, "")),
  },
  {
    words: "`old` has a backslash before n, t or a quote where the file has the character itself.",
    mend: (text) => text.replace(/\\([nt"'])/g, (_all, name: string) => ESCAPED[name] ?? name),
  },
];
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t" };

function nameIndent(found: string, text: string): string {
  const uses = (indent: RegExp): boolean => indent.test(found) && !indent.test(text);
  if (uses(/^ *\t/m)) return ": the file uses tabs";
  return uses(/^ /m) && /^\t/m.test(text) ? ": the file uses spaces" : "";
}

function nameFirstDifference(found: string, text: string, firstLine: number): string {
  const wanted = text.split("\n");
  const at = found.split("\n").findIndex((line, index) => fold(line) !== fold(wanted[index] ?? ""));
  if (at < 0 || wanted.length === 1) return "";
  return `Line ${firstLine + at} differs first: \`old\` has ${JSON.stringify(cutLine(wanted[at] ?? ""))} there.`;
}

/** Longer lines are shown in part. */
const MAX_LINE_CHARS = 200;
/** A place farther from the start of its line is shown with `LEAD_BYTES` before it. */
const MAX_LEAD_BYTES = 120;
const LEAD_BYTES = 40;

/** `start` and `end` are byte offsets; `firstLine` is the number of the line that contains `start`. */
export interface LineSpan {
  readonly start: number;
  readonly end: number;
  readonly firstLine: number;
}

/** Counts a last line without a line end too. */
export function countLines(content: Uint8Array): number {
  const ends = countLineEnds(content, 0, content.length);
  return content.length === 0 || content.at(-1) === NEWLINE ? ends : ends + 1;
}

export function countLineEnds(content: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if (content[at] === NEWLINE) count += 1;
  return count;
}

/** Widens the span to whole lines and by `context` lines at both ends. A place deep in a long line keeps a short lead. */
export function widenSpan(content: Uint8Array, span: LineSpan, context: number): LineSpan {
  let { start, end, firstLine } = span;
  if (start - findLineStart(content, start) > MAX_LEAD_BYTES) start -= LEAD_BYTES;
  else {
    start = findLineStart(content, start);
    for (let left = context; left > 0 && start > 0; left -= 1) {
      start = findLineStart(content, start - 1);
      firstLine -= 1;
    }
  }
  // A span that ends in a line end contains its last line.
  if (end > start && content[end - 1] === NEWLINE) end -= 1;
  end = findLineEnd(content, end);
  for (let left = context; left > 0 && end < content.length; left -= 1) end = findLineEnd(content, end + 1);
  return { start, end, firstLine };
}

const findLineStart = (content: Uint8Array, at: number): number =>
  at === 0 ? 0 : content.lastIndexOf(NEWLINE, at - 1) + 1;
function findLineEnd(content: Uint8Array, at: number): number {
  const found = content.indexOf(NEWLINE, at);
  return found < 0 ? content.length : found;
}

/** One `number: text` for each line of the span. */
export function numberLines(content: Uint8Array, { start, end, firstLine }: LineSpan, maxLines: number): string[] {
  const shown: string[] = [];
  let at = start;
  for (let line = firstLine; shown.length < maxLines && at <= end; line += 1) {
    const stop = Math.min(end, findLineEnd(content, at));
    if (at === content.length && at > 0) break;
    const isPart = at === start && findLineStart(content, at) < at;
    const text = decodeText(content.subarray(at, Math.min(stop, at + 4 * MAX_LINE_CHARS)));
    shown.push(`${line}: ${isPart ? "…" : ""}${cutLine(text)}`);
    at = stop + 1;
  }
  if (at < end) shown.push(`[… ${countLineEnds(content, at, end) + 1} more lines]`);
  return shown;
}

const decodeText = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** Omits the line end and a byte order mark. */
function cutLine(line: string): string {
  const text = line.replace(/\r$/, "").replace(/^\uFEFF/, "");
  return text.length <= MAX_LINE_CHARS ? text : `${text.slice(0, MAX_LINE_CHARS).toWellFormed()}…`;
}
