/**
 * word-set.ts -- the words of a row as a set: how much two rows say the same.
 *
 * Numbers say which one, not what, and stand apart. Beside the set lies a sketch of it, one bit for each word in
 * 512, which tells in a few instructions about how much is shared.
 */
import { hashOf, stemOf } from "#util/words.ts";

export interface WordSet {
  /** Hashes of the stemmed words without their digits, ascending, each once. */
  readonly hashes: Uint32Array;
  readonly sketch: Int32Array;
  /** How many bits of it are set. */
  readonly sketchBits: number;
  /** Hashes of the words with digits, whole. */
  readonly numbers: Uint32Array;
}

const SKETCH_CELLS = 16;

/** `words` as `wordsOf` gives them. */
export function wordSetOf(words: readonly string[]): WordSet {
  const hashes = new Set<number>();
  const sketch = new Int32Array(SKETCH_CELLS);
  for (const word of words) {
    const hash = letterHashOf(word);
    if (hash === NO_LETTERS) continue;
    hashes.add(hash);
    const cell = (hash >>> 5) % SKETCH_CELLS;
    sketch[cell] = (sketch[cell] as number) | (1 << (hash & 31));
  }
  const sketchBits = sketch.reduce((sum, cell) => sum + bitsOf(cell), 0);
  return { hashes: Uint32Array.from(hashes).sort(), sketch, sketchBits, numbers: numbersOf(words) };
}

export const numbersOf = (words: readonly string[]): Uint32Array =>
  Uint32Array.from(new Set(words.filter(hasDigit).map((word) => hashOf(word))));

export const hasDigit = (word: string): boolean => /\d/.test(word);

/** The same for the same words, numbers aside; of other words hardly ever. */
export function keyOf({ hashes }: WordSet): number {
  let low = hashes.length;
  let high = 0;
  for (const hash of hashes) {
    low = Math.imul(low ^ hash, 0x01000193);
    high = Math.imul(high + hash, 0x85ebca6b) ^ (high >>> 13);
  }
  return (low >>> 0) * 2 ** 21 + (high >>> 11);
}

/** Whether shared words over all words are `share` at least; two rows without any share all. Ends as soon as too many stand alone. */
export function sharesAtLeast(share: number, { hashes: a }: WordSet, { hashes: b }: WordSet): boolean {
  const both = a.length + b.length;
  // A hair more, since whole numbers are compared with it.
  const mostAlone = (both * (1 - share)) / (1 + share) + 1e-9;
  let alone = 0;
  let left = 0;
  let right = 0;
  while (left < a.length && right < b.length) {
    const difference = (a[left] as number) - (b[right] as number);
    if (difference !== 0 && ++alone > mostAlone) return false;
    if (difference <= 0) left++;
    if (difference >= 0) right++;
  }
  return alone + (a.length - left) + (b.length - right) <= mostAlone;
}

/** About the same by the sketches; for long rows too high by as much as chance would have them share. */
export function roughLikeness(one: WordSet, other: WordSet): number {
  const [a, b] = [one.sketch, other.sketch];
  let sums = 0;
  for (let cell = 0; cell < SKETCH_CELLS; cell += 2) {
    const nibbles =
      bitsByNibble((a[cell] as number) & (b[cell] as number)) +
      bitsByNibble((a[cell + 1] as number) & (b[cell + 1] as number));
    sums += (nibbles & 0x0f0f0f0f) + ((nibbles >>> 4) & 0x0f0f0f0f);
  }
  // Each of the four bytes holds up to 128.
  const pairs = (sums & 0x00ff00ff) + ((sums >>> 8) & 0x00ff00ff);
  const shared = (pairs + (pairs >>> 16)) & 0xffff;
  const all = one.sketchBits + other.sketchBits - shared;
  return all === 0 ? 1 : shared / all;
}

/** How many bits are set, in each four of 32 apart. */
function bitsByNibble(cell: number): number {
  const pairs = cell - ((cell >>> 1) & 0x55555555);
  return (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
}

/** In all 32. */
function bitsOf(cell: number): number {
  const bits = bitsByNibble(cell);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

const NO_LETTERS = -1;
/** Words whose hashes are kept ready; the store is emptied when it is full. */
const MAX_KNOWN_WORDS = 8_192;
const knownHashes = new Map<string, number>();

function letterHashOf(word: string): number {
  const known = knownHashes.get(word);
  if (known !== undefined) return known;
  const letters = word.replace(/\d+/g, "");
  const hash = letters === "" ? NO_LETTERS : hashOf(stemOf(letters));
  if (knownHashes.size >= MAX_KNOWN_WORDS) knownHashes.clear();
  knownHashes.set(word, hash);
  return hash;
}
