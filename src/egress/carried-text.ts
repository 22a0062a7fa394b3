/**
 * carried-text.ts -- finds text of the folder, memory or people in what a call sends, with earlier calls to the same destination.
 *
 * A stretch counts when it has MIN_CARRIED_CHARS characters where it came from. Pieces of several calls count together when
 * they adjoin there; a piece that also stands in text of the web does not.
 */
import { type CarriedText, MIN_CARRIED_CHARS } from "#core/leaving.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import type { SentCall } from "./corpus.ts";
import { indexNeedles } from "./find-shared.ts";
import { measureText, sliceLetters } from "./fold-text.ts";
import { formsOfCall, formsOfParts, formsOfStreams } from "./sent-forms.ts";
import type { SentPart } from "./sent-text.ts";
import { markQuotes, type ShelfText, type TextShelf } from "./text-shelf.ts";

const EXCERPT_CHARS = 60;
/** Minimum of different letters. A text with fewer is a ruler or a row of zeros. */
const MIN_DIFFERENT_LETTERS = 5;

export interface CarriedSearch {
  readonly kept: Iterable<ShelfText>;
  readonly open: TextShelf;
  readonly own: TextShelf;
  /** The parts that the call sends, without the beginning of an address that a page, a person or a setting has. */
  readonly parts: readonly SentPart[];
  /** Calls to the same destination, oldest first. */
  readonly earlier: readonly SentCall[];
  /** True for words that may leave in this call although a person wrote them. */
  isExempt(letters: string, readStretch: () => string): boolean;
}

/** Letters of a source; `isNow`: this call sends them. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly isNow: boolean;
}

/** The longest such text; undefined when there is none. */
export function findCarriedText(search: CarriedSearch): CarriedText | undefined {
  const { parts, earlier } = search;
  const now = formsOfCall(parts);
  const sentBefore = earlier.map(({ sent }) => sent.parts);
  const streams = earlier.length === 0 ? [] : formsOfStreams([...sentBefore, parts]);
  const pieces = sentBefore.flatMap(formsOfParts);
  const needles = indexNeedles([...new Set([...now, ...streams, ...pieces])]);
  // A form may be in two lists; the first one counts.
  const streamsBegin = now.length;
  const piecesBegin = new Set([...now, ...streams]).size;
  let found: CarriedText | undefined;
  for (const source of search.kept) {
    const spans = needles.findIn(source.letters);
    if (spans.length === 0) continue;
    const inStream = spans.filter(({ needle }) => needle >= streamsBegin && needle < piecesBegin);
    const alone = spans.filter(({ needle }) => needle < streamsBegin || needle >= piecesBegin);
    const stretches = [
      ...inStream.map((span) => ({ ...span, isNow: true })),
      ...joinStretches(
        alone.map((span) => ({ ...span, isNow: span.needle < streamsBegin })),
        source,
        search,
      ),
    ];
    for (const stretch of stretches) {
      const carried = weighStretch(stretch, source, search);
      if (carried && carried.chars > (found?.chars ?? 0)) found = carried;
    }
  }
  return found;
}

/** Joins what adjoins or overlaps, and keeps what this call adds to. */
function joinStretches(stretches: readonly Stretch[], source: ShelfText, search: CarriedSearch): readonly Stretch[] {
  const isShort = ({ start, end }: Stretch): boolean => end - start < MIN_CARRIED_CHARS / 2;
  const judged = stretches.filter(({ start, end }) => {
    const letters = source.letters.slice(start, end);
    return !search.isExempt(letters, () => sliceLetters(source.text, start, end));
  });
  const joined = join(judged);
  const isLong = (stretch: Stretch): boolean => stretch.isNow && !isShort(stretch);
  if (!joined.some(isLong)) return [];
  const rare = judged.filter(
    (stretch) => measureStretch(stretch, source) >= MIN_CARRIED_CHARS || !isCommon(stretch, source, search),
  );
  return join(rare).filter(isLong);
}

function join(stretches: readonly Stretch[]): readonly Stretch[] {
  const joined: Stretch[] = [];
  for (const stretch of stretches.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (!last || stretch.start > last.end) joined.push(stretch);
    else
      joined[joined.length - 1] = {
        start: last.start,
        end: Math.max(last.end, stretch.end),
        isNow: last.isNow || stretch.isNow,
      };
  }
  return joined;
}

/** True for a piece that the web has too, or that the model wrote before it read it. */
function isCommon({ start, end }: Stretch, source: ShelfText, { open, own }: CarriedSearch): boolean {
  const letters = source.letters.slice(start, end);
  return open.holds(letters) || own.holds(letters, ({ seq }) => seq < source.seq);
}

function weighStretch({ start, end }: Stretch, source: ShelfText, search: CarriedSearch): CarriedText | undefined {
  if (end - start < MIN_CARRIED_CHARS / 2) return undefined;
  const letters = source.letters.slice(start, end);
  if (new Set(letters).size < MIN_DIFFERENT_LETTERS) return undefined;
  const stretch = sliceLetters(source.text, start, end);
  const chars = measureText(stretch);
  if (chars < MIN_CARRIED_CHARS || search.isExempt(letters, () => stretch)) return undefined;
  const left = countHidden(letters, source, search);
  if (left < letters.length && (left * chars) / letters.length < MIN_CARRIED_CHARS) return undefined;
  const excerpt = oneLine(clean(stretch), EXCERPT_CHARS);
  return { from: source.from ?? "folder", where: oneLine(clean(source.where ?? ""), EXCERPT_CHARS), chars, excerpt };
}

/** Number of letters that stand in no page, in nothing that the model wrote before, and in no call that a person approved. */
function countHidden(letters: string, source: ShelfText, { open, own, earlier }: CarriedSearch): number {
  const marks = new Uint8Array(letters.length);
  open.markQuotes(letters, marks);
  own.markQuotes(letters, marks, ({ seq }) => seq < source.seq);
  const approved = earlier.filter(({ isApproved }) => isApproved).flatMap(({ sent }) => formsOfCall(sent.parts));
  markQuotes(
    letters,
    marks,
    approved.map((form) => ({ letters: form })),
  );
  return countUnmarked(marks);
}

export const countUnmarked = (marks: Uint8Array): number => marks.reduce((count, mark) => count - mark, marks.length);

const measureStretch = ({ start, end }: Stretch, { text }: ShelfText): number =>
  measureText(sliceLetters(text, start, end));
