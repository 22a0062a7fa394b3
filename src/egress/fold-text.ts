/**
 * fold-text.ts -- reduces text to its letters and digits, so that case, accents, punctuation and spacing do not matter.
 *
 * Two texts that differ in nothing else have the same letters. A position in the letters leads back to the text.
 */

/** Lower-case letters and digits of the text, without accents. */
export function foldText(text: string): string {
  if (/^[\x20-\x7e\n]*$/.test(text)) return text.toLowerCase().replace(/[^a-z0-9]+/g, "");
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** The part of the text that holds the letters from `start` to `end`. */
export function sliceLetters(text: string, start: number, end: number): string {
  let seen = 0;
  let from = 0;
  let at = 0;
  for (const character of text) {
    if (seen >= end) break;
    const count = foldText(character).length;
    if (seen <= start && count > 0) from = at;
    seen += count;
    at += character.length;
  }
  return trimSymbols(text.slice(from, at));
}

const trimSymbols = (text: string): string => text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/** Length of the text with each run of white space counted as one character, and of other symbols as at most two. */
export const measureText = (text: string): number =>
  text.replace(/\s+/g, " ").replace(/[^\p{L}\p{N}\s]{3,}/gu, "--").length;
