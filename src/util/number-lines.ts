/** number-lines.ts -- shows lines of a file's bytes with their numbers, within limits. */

const NEWLINE = 10;
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
    const found = content.indexOf(NEWLINE, at);
    const stop = found < 0 || found > end ? end : found;
    if (at === content.length && at > 0) break;
    const isPart = at === start && findLineStart(content, at) < at;
    const text = decodeText(content.subarray(at, Math.min(stop, at + 4 * MAX_LINE_CHARS)));
    shown.push(`${line}: ${isPart ? "…" : ""}${cutLine(text)}`);
    at = stop + 1;
  }
  if (at < end) shown.push(`[… ${countLineEnds(content, at, end) + 1} more lines]`);
  return shown;
}

export const decodeText = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** Omits the line end and a byte order mark. */
export function cutLine(line: string): string {
  const text = line.replace(/\r$/, "").replace(/^\uFEFF/, "");
  return text.length <= MAX_LINE_CHARS ? text : `${text.slice(0, MAX_LINE_CHARS).toWellFormed()}…`;
}
