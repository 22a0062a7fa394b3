/**
 * find-shared.ts -- finds every stretch of letters that a text shares with one of several needles.
 *
 * The needles' grams are hashed once; a text is scanned once with a rolling hash. Time is linear in the length of the texts.
 */

/** Shortest stretch that is found, in letters. */
export const GRAM = 8;
/** Places of one gram that are looked at, so that repeated letters stay cheap. */
const MAX_PLACES = 16;
const FILTER_BITS = 18;
/** In a vm context, such as Jest's, each look-up of a global costs more than the hash. */
const { imul } = Math;
const FACTOR = 0x01000193;
/** FACTOR to the power of GRAM, for the letter that leaves the rolling hash. */
const LEAVING = Array.from({ length: GRAM }).reduce<number>((power) => imul(power, FACTOR), 1);

/** Letters `start` to `end` of the text are the letters from `at` of the needle. */
export interface SharedSpan {
  readonly start: number;
  readonly end: number;
  readonly needle: number;
  readonly at: number;
}

export interface Needles {
  findIn(text: string): readonly SharedSpan[];
}

export function indexNeedles(needles: readonly string[]): Needles {
  const places = new Map<number, { readonly needle: number; readonly at: number }[]>();
  const filter = new Uint8Array(1 << (FILTER_BITS - 3));
  for (const [needle, letters] of needles.entries())
    forEachGram(letters, (hash, at) => {
      const known = places.get(hash);
      if (!known) places.set(hash, [{ needle, at }]);
      else if (known.length < MAX_PLACES) known.push({ needle, at });
      setBit(filter, hash);
    });
  const findIn = (text: string): readonly SharedSpan[] => {
    const spans: SharedSpan[] = [];
    /** End of the last stretch of each needle and offset. */
    const ends = new Map<string, number>();
    forEachGram(text, (hash, place) => {
      if (!hasBit(filter, hash)) return;
      for (const { needle, at } of places.get(hash) ?? []) {
        const diagonal = `${needle}:${place - at}`;
        if ((ends.get(diagonal) ?? 0) > place) continue;
        const letters = needles[needle] ?? "";
        if (!letters.startsWith(text.slice(place, place + GRAM), at)) continue;
        let [start, from] = [place, at];
        while (start > 0 && from > 0 && text[start - 1] === letters[from - 1]) [start, from] = [start - 1, from - 1];
        let end = place + GRAM;
        while (end < text.length && text[end] === letters[from + end - start]) end++;
        ends.set(diagonal, end);
        if (end - start >= GRAM && from + end - start <= letters.length) spans.push({ start, end, needle, at: from });
      }
    });
    return spans;
  };
  return { findIn };
}

function forEachGram(text: string, visit: (hash: number, at: number) => void): void {
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = (imul(hash, FACTOR) + text.charCodeAt(at)) | 0;
    if (at >= GRAM) hash = (hash - imul(LEAVING, text.charCodeAt(at - GRAM))) | 0;
    if (at >= GRAM - 1) visit(hash, at - GRAM + 1);
  }
}

const bitOf = (hash: number): number => imul(hash, 0x9e3779b1) >>> (32 - FILTER_BITS);
const setBit = (filter: Uint8Array, hash: number): void => {
  const bit = bitOf(hash);
  filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7));
};
const hasBit = (filter: Uint8Array, hash: number): boolean => {
  const bit = bitOf(hash);
  return ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
};
