/**
 * word-set.ts -- the words of a row as a set, and the similarity of two sets.
 *
 * Numbers are kept apart, because they tell rows of one kind from each other.
 */
import { hashOf, stemOf } from "#util/words.ts";

export interface WordSet {
  /** Distinct hashes of the stemmed words without their digits, ascending. */
  readonly hashes: Uint32Array;
  /** Distinct hashes of the stems that have digits. */
  readonly numbers: Uint32Array;
}

/** `words` are those of `wordsOf`. */
export function createWordSet(words: readonly string[]): WordSet {
  const hashes = new Set(words.map((word) => hashLetters(stemOf(word))).filter((hash) => hash !== NO_WORD));
  return { hashes: Uint32Array.from(hashes).sort(), numbers: hashNumbers(words) };
}

export const hashNumbers = (words: readonly string[]): Uint32Array =>
  Uint32Array.from(new Set(words.map((word) => hashNumber(stemOf(word))).filter((hash) => hash !== NO_WORD)));

/** A hash that stands for no word. */
export const NO_WORD = 0;

/** Returns the hash of a stem without its digits, NO_WORD when it has nothing else. */
export function hashLetters(stem: string): number {
  const letters = stem.replace(/\d+/g, "");
  return letters === "" ? NO_WORD : hashOf(letters === stem ? stem : stemOf(letters));
}

/** Returns the hash of a stem with digits, NO_WORD for others. */
export const hashNumber = (stem: string): number => (/\d/.test(stem) ? hashOf(stem) : NO_WORD);

/** Writes the distinct numbers of `hashes` into its beginning, ascending, without NO_WORD. Returns how many they are. */
export function sortDistinct(hashes: Uint32Array): number {
  hashes.sort();
  let count = 0;
  let before = NO_WORD;
  for (let at = 0; at < hashes.length; at++) {
    const hash = hashes[at] as number;
    if (hash === before) continue;
    hashes[count++] = hash;
    before = hash;
  }
  return count;
}

/** Returns a 53-bit hash of the words without the numbers; other words collide hardly ever. */
export function hashWords(hashes: Uint32Array, seed = 0): number {
  let low = hashes.length ^ seed;
  let high = 0;
  for (const hash of hashes) {
    low = Math.imul(low ^ hash, 0x01000193);
    high = Math.imul(high + hash, 0x85ebca6b) ^ (high >>> 13);
  }
  return (low >>> 0) * 2 ** 21 + (high >>> 11);
}

/** The weight of a word, by the hash of its stem. */
export type WeighWord = (hash: number) => number;

/** Jaccard similarity by weight: that of the shared words over that of all words; 1 for two empty sets. */
export function weightedJaccard({ hashes: a }: WordSet, { hashes: b }: WordSet, weigh: WeighWord): number {
  let shared = 0;
  let all = 0;
  let left = 0;
  let right = 0;
  while (left < a.length || right < b.length) {
    const one = a[left] ?? Number.POSITIVE_INFINITY;
    const other = b[right] ?? Number.POSITIVE_INFINITY;
    const weight = weigh(Math.min(one, other));
    all += weight;
    if (one === other) shared += weight;
    if (one <= other) left++;
    if (other <= one) right++;
  }
  return all === 0 ? 1 : shared / all;
}
