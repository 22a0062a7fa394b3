/**
 * word-table.ts -- reads the table of word vectors, which scripts/make-word-table.ts writes.
 *
 * The file holds, in little-endian order: the mark, the number of words and of dimensions as 32-bit numbers; the hashes of the
 * words as 32-bit numbers, ascending; the place of each word by frequency as 16-bit numbers; the vectors as 8-bit numbers, whose
 * lengths are not equal. Words are found by binary search, so that opening the table parses nothing. A word that is not in the
 * table has the hash of another one in 1 of 70,000 cases.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { GoaldError, orUndefined } from "#core/errors.ts";
import { once } from "#util/caches.ts";

const TABLE_FILE = join(import.meta.dirname, "word-table.bin");
const MARK = 0x31_54_57_47;
const HEADER_BYTES = 12;

export interface WordVector {
  /** `hashOf` the word. */
  readonly hash: number;
  /** Place by frequency: 0 is the most frequent word. */
  readonly rank: number;
  readonly vector: Int8Array;
}

/** Words are numbered by their hashes: the first has the place 0. */
export type WordTable = ReturnType<typeof openWordTable>;

/** Expects at most 65,536 words, each hash once. */
export function encodeWordTable(words: readonly WordVector[], dimensions: number): Buffer {
  const sorted = words.toSorted((a, b) => a.hash - b.hash);
  const table = Buffer.alloc(HEADER_BYTES + words.length * (6 + dimensions));
  for (const [at, number] of [MARK, words.length, dimensions].entries()) table.writeUInt32LE(number, 4 * at);
  for (const [at, { hash, rank, vector }] of sorted.entries()) {
    table.writeUInt32LE(hash, HEADER_BYTES + 4 * at);
    table.writeUInt16LE(rank, HEADER_BYTES + 4 * words.length + 2 * at);
    table.set(
      new Uint8Array(vector.buffer, vector.byteOffset, dimensions),
      HEADER_BYTES + 6 * words.length + at * dimensions,
    );
  }
  return table;
}

/** Throws GOALD_INTERNAL for bytes that are not a whole table. */
export function openWordTable(table: Buffer) {
  const isMarked = table.length >= HEADER_BYTES && table.readUInt32LE(0) === MARK;
  const [size, dimensions] = isMarked ? [table.readUInt32LE(4), table.readUInt32LE(8)] : [0, 0];
  const expected = HEADER_BYTES + size * (6 + dimensions);
  if (size === 0 || table.length !== expected)
    throw new GoaldError(
      "GOALD_INTERNAL",
      `Expected a table of words of ${expected} bytes, got ${table.length} bytes.`,
      {
        hint: "Install goald again.",
      },
    );
  const ranks = HEADER_BYTES + 4 * size;
  const numbers = new Int8Array(table.buffer, table.byteOffset + ranks + 2 * size, size * dimensions);
  const product = (from: number, other: number): number => {
    let sum = 0;
    for (let at = 0; at < dimensions; at++) sum += (numbers[from + at] as number) * (numbers[other + at] as number);
    return sum;
  };
  return {
    size,
    dimensions,
    /** Returns the place of the word with this hash, -1 for other words. */
    placeOf(hash: number): number {
      let [low, high] = [0, size - 1];
      while (low <= high) {
        const middle = (low + high) >>> 1;
        const found = table.readUInt32LE(HEADER_BYTES + 4 * middle);
        if (found === hash) return middle;
        if (found < hash) low = middle + 1;
        else high = middle - 1;
      }
      return -1;
    },
    rankAt: (place: number): number => table.readUInt16LE(ranks + 2 * place),
    /** Returns a view, which nobody may change. */
    vectorAt: (place: number): Int8Array => numbers.subarray(place * dimensions, (place + 1) * dimensions),
    cosine(place: number, other: number): number {
      const [one, two] = [place * dimensions, other * dimensions];
      return product(one, two) / Math.sqrt(Math.max(1, product(one, one) * product(two, two)));
    },
  };
}

/** Reads the table of the package once. Throws when the file is missing or damaged. */
export const shippedWordTable = once(() => openWordTable(readFileSync(TABLE_FILE)));

/** As `shippedWordTable`, but undefined where that throws: memory then searches by words alone, and the offline embedder reports why. */
export const findWordTable = (): WordTable | undefined => orUndefined(shippedWordTable);
