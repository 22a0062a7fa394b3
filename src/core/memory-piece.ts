/**
 * memory-piece.ts -- the text of a piece, a memory that holds a part of a long text: a line with its place, then the part.
 *
 *   notes.md, lines 12 to 40 of 300:
 *   The first line of the part …
 */

/** Lines of a file from 1. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
  /** Number of lines of the whole file. */
  readonly all: number;
}

/** Place among the pieces of one text, from 1. */
export interface PieceNumber {
  readonly number: number;
  readonly count: number;
}

/** Source of the pieces that hold what the agent thought. */
export const THOUGHTS = "thoughts";

const HEAD = /^(.{1,300}), (?:lines (\d+) to (\d+) of (\d+)|piece \d+ of \d+):\n/;

/** `source`: one line of at most 300 characters. */
export const formatPiece = (source: string, place: LineRange | PieceNumber, part: string): string =>
  `${source}, ${formatPlace(place)}:\n${part}`;

const formatPlace = (place: LineRange | PieceNumber): string =>
  "first" in place
    ? `lines ${place.first} to ${place.last} of ${place.all}`
    : `piece ${place.number} of ${place.count}`;

function linesOfPiece(text: string): LineRange | undefined {
  const [, , first, last, all] = HEAD.exec(text) ?? [];
  return first === undefined ? undefined : { first: Number(first), last: Number(last), all: Number(all) };
}

/**
 * True for a piece that a newer text of its source replaces. `lines`: the lines of the source that the newer text has; absent:
 * it has all.
 */
export function isReplacedPiece(text: string, lines: LineRange | undefined): boolean {
  if (!lines) return true;
  const own = linesOfPiece(text);
  return own !== undefined && (own.first > lines.all || (own.first <= lines.last && own.last >= lines.first));
}

/** Returns the part with the source of a piece, without its place. */
export function dropPiecePlace(text: string): string {
  const [head = "", source = ""] = HEAD.exec(text) ?? [];
  const part = text.slice(head.length);
  return source === "" || source === THOUGHTS ? part : `${source}\n${part}`;
}
