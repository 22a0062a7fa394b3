/** grams.ts -- the character n-grams of a word, which words of similar spelling share. */
import { hashOf } from "#util/words.ts";

/** Longer words are data or compounds; only their beginning is compared. */
const MAX_COMPARED_CHARS = 24;

/** Returns hashes of the distinct n-grams of length 3 to 5, word ends marked; none for numbers and the shortest words. */
export function gramsOf(stem: string): number[] {
  if (stem.length < 3 || /\d/.test(stem)) return [];
  const marked = `^${stem.slice(0, MAX_COMPARED_CHARS)}$`;
  const grams = new Set<number>();
  for (let length = 3; length <= 5; length++)
    for (let at = 0; at + length <= marked.length; at++) grams.add(hashOf(marked.slice(at, at + length)));
  return [...grams];
}
