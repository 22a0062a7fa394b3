/**
 * word-set.ts -- the words of a row as a set, and the similarity of two sets.
 *
 * Numbers are kept apart, because they tell rows of one kind from each other.
 */
import { hashOf, stemOf } from "#util/words.ts";

export interface WordSet {
  /** Distinct hashes of the stemmed words without their digits, ascending. */
  readonly hashes: Uint32Array;
  /** Distinct hashes of the whole words that have digits. */
  readonly numbers: Uint32Array;
}

/** `words` are those of `wordsOf`. */
export function createWordSet(words: readonly string[]): WordSet {
  const hashes = new Set<number>();
  for (const word of words) {
    const hash = hashLetters(word);
    if (hash !== NO_LETTERS) hashes.add(hash);
  }
  return { hashes: Uint32Array.from(hashes).sort(), numbers: hashNumbers(words) };
}

export const hashNumbers = (words: readonly string[]): Uint32Array =>
  Uint32Array.from(new Set(words.filter(hasDigit).map((word) => hashOf(word))));

export const hasDigit = (word: string): boolean => /\d/.test(word);

/** Returns a 53-bit hash of the words without the numbers; other words collide hardly ever. */
export function hashWordSet({ hashes }: WordSet): number {
  let low = hashes.length;
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

const NO_LETTERS = -1;
/** Words whose hashes are cached; the cache is emptied when full. */
const MAX_CACHED_WORDS = 8_192;
const cachedHashes = new Map<string, number>();

function hashLetters(word: string): number {
  const cached = cachedHashes.get(word);
  if (cached !== undefined) return cached;
  const letters = word.replace(/\d+/g, "");
  const hash = letters === "" ? NO_LETTERS : hashOf(stemOf(letters));
  if (cachedHashes.size >= MAX_CACHED_WORDS) cachedHashes.clear();
  cachedHashes.set(word, hash);
  return hash;
}
