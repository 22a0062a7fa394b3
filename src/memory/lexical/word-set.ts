/**
 * word-set.ts -- the words of a row as a set, and the Jaccard similarity of two sets: shared words over all words.
 *
 * Numbers are kept apart, because they tell rows of one kind from each other. A sketch of 512 bits, one per hashed word,
 * estimates the similarity in a few instructions.
 */
import { hashOf, stemOf } from "#util/words.ts";

export interface WordSet {
  /** Distinct hashes of the stemmed words without their digits, ascending. */
  readonly hashes: Uint32Array;
  readonly sketch: Int32Array;
  /** Number of bits set in the sketch. */
  readonly sketchBits: number;
  /** Distinct hashes of the whole words that have digits. */
  readonly numbers: Uint32Array;
}

const SKETCH_CELLS = 16;

/** `words` are those of `wordsOf`. */
export function createWordSet(words: readonly string[]): WordSet {
  const hashes = new Set<number>();
  const sketch = new Int32Array(SKETCH_CELLS);
  for (const word of words) {
    const hash = hashLetters(word);
    if (hash === NO_LETTERS) continue;
    hashes.add(hash);
    const cell = (hash >>> 5) % SKETCH_CELLS;
    sketch[cell] = (sketch[cell] as number) | (1 << (hash & 31));
  }
  const sketchBits = sketch.reduce((sum, cell) => sum + countBits(cell), 0);
  return { hashes: Uint32Array.from(hashes).sort(), sketch, sketchBits, numbers: hashNumbers(words) };
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

/** Whether the Jaccard similarity is at least `threshold`; it is 1 for two empty sets. Stops once too many words are unshared. */
export function isJaccardAtLeast(threshold: number, { hashes: a }: WordSet, { hashes: b }: WordSet): boolean {
  const both = a.length + b.length;
  // The margin absorbs rounding: the bound is compared with whole numbers.
  const maxUnshared = (both * (1 - threshold)) / (1 + threshold) + 1e-9;
  let unshared = 0;
  let left = 0;
  let right = 0;
  while (left < a.length && right < b.length) {
    const difference = (a[left] as number) - (b[right] as number);
    if (difference !== 0 && ++unshared > maxUnshared) return false;
    if (difference <= 0) left++;
    if (difference >= 0) right++;
  }
  return unshared + (a.length - left) + (b.length - right) <= maxUnshared;
}

/** Estimates the Jaccard similarity from the sketches. Chance collisions make it too high for long rows. */
export function estimateJaccard(one: WordSet, other: WordSet): number {
  const [a, b] = [one.sketch, other.sketch];
  let sums = 0;
  for (let cell = 0; cell < SKETCH_CELLS; cell += 2) {
    const nibbles =
      countBitsByNibble((a[cell] as number) & (b[cell] as number)) +
      countBitsByNibble((a[cell + 1] as number) & (b[cell + 1] as number));
    sums += (nibbles & 0x0f0f0f0f) + ((nibbles >>> 4) & 0x0f0f0f0f);
  }
  // Each of the four bytes holds at most 128.
  const pairs = (sums & 0x00ff00ff) + ((sums >>> 8) & 0x00ff00ff);
  const shared = (pairs + (pairs >>> 16)) & 0xffff;
  const all = one.sketchBits + other.sketchBits - shared;
  return all === 0 ? 1 : shared / all;
}

/** Counts the set bits of each nibble, within that nibble. */
function countBitsByNibble(cell: number): number {
  const pairs = cell - ((cell >>> 1) & 0x55555555);
  return (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
}

/** Counts the set bits of all 32. */
function countBits(cell: number): number {
  const bits = countBitsByNibble(cell);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
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
