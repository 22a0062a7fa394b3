/**
 * cut-pieces.ts -- cuts the long texts of a step into pieces, each a memory of its own.
 *
 * A piece has up to 500 characters, those of a text over 15,000 up to 700; lines that fit are never cut. A step has at most
 * 40 pieces: of the longest texts the first seven tenths and the last three are kept.
 */
import { hash } from "node:crypto";
import { formatPiece, type LineRange, type PieceNumber } from "#core/memory.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import { oneLine } from "#core/text.ts";
import { chunkText } from "#util/chunk-text.ts";

export interface LongText extends Pick<NewMemory, "trust" | "outside"> {
  /** The file, page or command that the text is of. */
  readonly source: string;
  readonly text: string;
  readonly format: "markdown" | "plain";
  /** The lines that the text has in its source. */
  readonly lines?: LineRange;
}

export const MAX_PIECES = 40;
const MAX_CHARS = 500;
const MAX_CHARS_OF_LONG = 700;
const LONG_CHARS = 15_000;
const SHARE_OF_BEGINNING = 0.7;
/** Characters of all texts of a step that are cut, more than its pieces can hold; of longer texts the middle is left out. */
const MAX_STEP_CHARS = 40_000;
const MIN_TEXT_CHARS = 1_000;
const TITLE_CHARS = 300;

interface Part {
  readonly place: LineRange | PieceNumber;
  readonly title: string;
  readonly text: string;
}

/** `row`: the row of the step. The pieces have its event, step and importance. */
export function cutPieces(
  row: Pick<NewMemory, "namespace" | "seq" | "step" | "importance">,
  texts: readonly LongText[],
): readonly NewMemory[] {
  const { namespace, seq, step, importance } = row;
  const mostChars = Math.max(MIN_TEXT_CHARS, Math.floor(MAX_STEP_CHARS / texts.length));
  const cut = texts.slice(0, MAX_PIECES).map((text) => ({ text, parts: cutText(text, mostChars) }));
  const counts = share(cut.map(({ parts }) => parts.length));
  return cut.flatMap(({ text: { source, trust, outside }, parts }, at) =>
    keepEnds(parts, counts[at] as number).map(({ place, title, text }) => ({
      ...{ namespace, seq, step, importance, kind: "piece" as const, trust, source },
      text: formatPiece(title, place, text),
      key: hash("sha256", JSON.stringify([source, title, text])),
      ...(outside ? { outside } : {}),
    })),
  );
}

function cutText({ source, text, format, lines }: LongText, mostChars: number): readonly Part[] {
  const length = Math.min(text.length, mostChars);
  const maxChars = length <= LONG_CHARS ? MAX_CHARS : Math.min(MAX_CHARS_OF_LONG, Math.ceil(length / 30));
  const options = { maxChars, overlapChars: 0, format, wholeLines: true };
  const chunks = rangesOf(text, mostChars).flatMap(({ from, to }) =>
    chunkText(text.slice(from, to), options).map((chunk) => ({ ...chunk, start: from + chunk.start })),
  );
  const kept = chunks.filter((chunk) => chunk.text.trim() !== "");
  const lineAt = countLines(text, lines?.first ?? 1);
  return kept.map((chunk, at) => {
    const lead = chunk.lead.length + chunk.text.length <= 1.2 * maxChars ? chunk.lead : "";
    const first = lineAt(chunk.start);
    const last = lineAt(chunk.start + chunk.text.trimEnd().length);
    return {
      place: lines ? { first, last, all: lines.all } : { number: at + 1, count: kept.length },
      title: oneLine([source, ...chunk.headings].join(" > "), TITLE_CHARS),
      text: `${lead}${chunk.text.trimEnd()}`.toWellFormed(),
    };
  });
}

function rangesOf(text: string, mostChars: number): readonly { readonly from: number; readonly to: number }[] {
  if (text.length <= mostChars) return [{ from: 0, to: text.length }];
  const to = Math.floor(mostChars * SHARE_OF_BEGINNING);
  const end = text.length - (mostChars - to);
  const line = text.indexOf("\n", end) + 1;
  const from = line > 0 && line < end + MAX_CHARS ? line : end;
  return [
    { from: 0, to },
    { from, to: text.length },
  ];
}

/** Returns a function that gives the line of a position. Positions must be asked for in ascending order. */
function countLines(text: string, first: number): (position: number) => number {
  let line = first;
  let at = 0;
  return (position) => {
    for (let next = text.indexOf("\n", at); next >= 0 && next < position; next = text.indexOf("\n", at)) {
      line += 1;
      at = next + 1;
    }
    return line;
  };
}

/** Lowers the highest counts until all together are at most MAX_PIECES. */
function share(counts: readonly number[]): readonly number[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all <= MAX_PIECES) return counts;
  let most = MAX_PIECES;
  const limited = (): number => counts.reduce((sum, count) => sum + Math.min(count, most), 0);
  while (limited() > MAX_PIECES) most -= 1;
  return counts.map((count) => Math.min(count, most));
}

function keepEnds<T>(parts: readonly T[], count: number): readonly T[] {
  if (parts.length <= count) return parts;
  const beginning = Math.ceil(count * SHARE_OF_BEGINNING);
  return [...parts.slice(0, beginning), ...parts.slice(parts.length - (count - beginning))];
}
