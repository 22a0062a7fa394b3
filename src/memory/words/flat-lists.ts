/**
 * flat-lists.ts -- stores very many growing lists of numbers in one buffer: the postings of an index. A list is a chain
 * of blocks, each twice as long as the one before up to `LONGEST_BLOCK`; the cell after a block holds the start of the
 * next one. Most words occur once or twice and cost a few bytes, a growing list is never copied, and the garbage
 * collector sees one array.
 */
import type { Columns } from "../columns.ts";

const MOST_FILLED = 0.6;

/**
 * A map from 32-bit numbers to 32-bit numbers in flat arrays: an entry takes 8 to 16 bytes, a Map takes over 40, and
 * the garbage collector sees one array.
 */
export class NumberMap {
  #keys = new Uint32Array(64);
  /** Each value plus 1; 0 is an empty cell. */
  #values = new Uint32Array(64);
  #size = 0;

  exchange(columns: Columns): void {
    this.#keys = columns.array("keys", this.#keys);
    this.#values = columns.array("values", this.#values);
    this.#size = columns.number("size", this.#size);
  }

  get(key: number): number | undefined {
    const value = this.#values[this.#cellOf(key)] as number;
    return value === 0 ? undefined : value - 1;
  }

  /** Both must be whole numbers below 2^32, `value` also below 2^32 - 1. */
  set(key: number, value: number): void {
    let cell = this.#cellOf(key);
    if (this.#values[cell] === 0) {
      if (++this.#size > MOST_FILLED * this.#keys.length) {
        this.#grow();
        cell = this.#cellOf(key);
      }
      this.#keys[cell] = key;
    }
    this.#values[cell] = value + 1;
  }

  /** Adds to the value of a key, 0 without one. The sum must not be negative. */
  add(key: number, change: number): void {
    const cell = this.#cellOf(key);
    if (this.#values[cell] === 0) this.set(key, change);
    else this.#values[cell] = (this.#values[cell] as number) + change;
  }

  /** Returns the cell of the key, or the empty cell where it belongs. */
  #cellOf(key: number): number {
    const keys = this.#keys;
    const values = this.#values;
    const mask = keys.length - 1;
    let cell = (Math.imul(key ^ (key >>> 15), 0x9e3779b1) >>> 7) & mask;
    while (values[cell] !== 0 && keys[cell] !== key) cell = (cell + 1) & mask;
    return cell;
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Uint32Array(2 * keys.length);
    this.#values = new Uint32Array(2 * keys.length);
    for (let at = 0; at < keys.length; at++) {
      if (values[at] === 0) continue;
      const cell = this.#cellOf(keys[at] as number);
      this.#keys[cell] = keys[at] as number;
      this.#values[cell] = values[at] as number;
    }
  }
}

export const NO_ITEM = -1;

/**
 * Finds items, numbered from 0, by a 32-bit number that several may share, in flat arrays as `NumberMap`. Items are
 * never taken out.
 */
export class NumberChains {
  readonly #last = new NumberMap();
  /** By item: the one added before it with the same number, plus 1; 0 for none. */
  #before = new Uint32Array(256);

  exchange(columns: Columns): void {
    this.#last.exchange(columns.part("last"));
    this.#before = columns.array("before", this.#before);
  }

  /** Each item is added once. */
  add(number: number, item: number): void {
    if (item >= this.#before.length) this.#before = grown(this.#before, item + 1);
    this.#before[item] = (this.#last.get(number) ?? NO_ITEM) + 1;
    this.#last.set(number, item);
  }

  /** Returns the item that was added last with this number, or NO_ITEM. */
  last(number: number): number {
    return this.#last.get(number) ?? NO_ITEM;
  }

  /** Returns the item that was added before this one with the same number, or NO_ITEM. */
  before(item: number): number {
    return (this.#before[item] as number) - 1;
  }
}

const MAX_BYTES_PER_TERM = 5;

/**
 * The distinct terms of each row, in one array of bytes. A term takes one to three bytes, because frequent terms come
 * early and so have low numbers: a row of 400 characters takes about 110 bytes, as 32-bit numbers it would take 250.
 */
export class TermLists {
  #bytes = new Uint8Array(1_024);
  /** By row: the end of its bytes, which is the start of the next row's. */
  #ends = new Uint32Array(256);
  #count = 0;
  #scratch = new Uint32Array(256);

  exchange(columns: Columns): void {
    this.#bytes = columns.array("bytes", this.#bytes);
    this.#ends = columns.array("ends", this.#ends);
    this.#count = columns.number("count", this.#count);
  }

  /** Adds the terms of the next row. */
  add(terms: Uint32Array): void {
    let at = this.#startOf(this.#count);
    if (at + MAX_BYTES_PER_TERM * terms.length > this.#bytes.length)
      this.#bytes = grown(this.#bytes, at + MAX_BYTES_PER_TERM * terms.length);
    const bytes = this.#bytes;
    for (let place = 0; place < terms.length; place++) {
      let left = terms[place] as number;
      for (; left >= 128; left >>>= 7) bytes[at++] = (left & 127) | 128;
      bytes[at++] = left;
    }
    if (this.#count === this.#ends.length) this.#ends = grown(this.#ends, this.#count + 1);
    this.#ends[this.#count++] = at;
  }

  /** Returns the terms of a row in the order of `add`. Valid until the next `read`. */
  read(row: number): Uint32Array {
    const bytes = this.#bytes;
    const end = this.#ends[row] as number;
    const from = this.#startOf(row);
    if (end - from > this.#scratch.length) this.#scratch = grown(this.#scratch, end - from);
    let count = 0;
    for (let at = from; at < end; count++) {
      let term = 0;
      let shift = 0;
      for (; (bytes[at] as number) >= 128; shift += 7) term |= ((bytes[at++] as number) & 127) << shift;
      this.#scratch[count] = term | ((bytes[at++] as number) << shift);
    }
    return this.#scratch.subarray(0, count);
  }

  #startOf(row: number): number {
    return row === 0 ? 0 : (this.#ends[row - 1] as number);
  }
}

const SHORTEST_BLOCK = 2;
const LONGEST_BLOCK = 128;

export class NumberLists {
  #cells = new Uint32Array(1_024);
  #used = 0;
  /** By list: start of its first block, cell of the next number, end of its last block, number of numbers. */
  readonly #lists = {
    first: new Uint32Array(256),
    next: new Uint32Array(256),
    end: new Uint32Array(256),
    lengths: new Uint32Array(256),
  };
  #count = 0;
  #scratch = new Uint32Array(256);

  get count(): number {
    return this.#count;
  }

  exchange(columns: Columns): void {
    this.#cells = columns.array("cells", this.#cells);
    this.#used = columns.number("used", this.#used);
    columns.arrays(this.#lists);
    this.#count = columns.number("lists", this.#count);
  }

  /** Opens an empty list and returns its number, counted from 0. */
  open(): number {
    const list = this.#count++;
    if (list === this.#lists.first.length) growAll(this.#lists);
    const block = this.#allocate(SHORTEST_BLOCK);
    this.#lists.first[list] = block;
    this.#lists.next[list] = block;
    this.#lists.end[list] = block + SHORTEST_BLOCK;
    return list;
  }

  length(list: number): number {
    return this.#lists.lengths[list] as number;
  }

  /** Returns the last number; undefined for an empty list. */
  last(list: number): number | undefined {
    return this.#lists.lengths[list] === 0 ? undefined : this.#cells[(this.#lists.next[list] as number) - 1];
  }

  /** `value` must be a whole number below 2^32. */
  push(list: number, value: number): void {
    let at = this.#lists.next[list] as number;
    const end = this.#lists.end[list] as number;
    if (at === end) {
      const size = Math.min(LONGEST_BLOCK, 2 * this.#lastBlockOf(list));
      at = this.#allocate(size);
      this.#cells[end] = at;
      this.#lists.end[list] = at + size;
    }
    this.#cells[at] = value;
    this.#lists.next[list] = at + 1;
    this.#lists.lengths[list] = (this.#lists.lengths[list] as number) + 1;
  }

  /** Returns the numbers of a list in the order of `push`. Valid until the next `read`. */
  read(list: number): Uint32Array {
    const length = this.#lists.lengths[list] as number;
    let block = this.#lists.first[list] as number;
    if (length <= SHORTEST_BLOCK) return this.#cells.subarray(block, block + length);
    if (length > this.#scratch.length) this.#scratch = new Uint32Array(2 * length);
    const cells = this.#cells;
    const scratch = this.#scratch;
    let size = SHORTEST_BLOCK;
    let at = 0;
    for (;;) {
      // Views of short blocks would cost more than their numbers.
      for (const end = Math.min(length, at + size); at < end; at++) scratch[at] = cells[block++] as number;
      if (at === length) return scratch.subarray(0, length);
      block = cells[block] as number;
      size = Math.min(LONGEST_BLOCK, 2 * size);
    }
  }

  /** Returns the size of the last block of a list whose blocks are all full. */
  #lastBlockOf(list: number): number {
    let size = SHORTEST_BLOCK;
    for (let left = (this.#lists.lengths[list] as number) - size; left > 0; left -= size)
      size = Math.min(LONGEST_BLOCK, 2 * size);
    return size;
  }

  /** Allocates one cell more, for the start of the next block. */
  #allocate(size: number): number {
    const block = this.#used;
    this.#used += size + 1;
    if (this.#used > this.#cells.length) this.#cells = grown(this.#cells, this.#used);
    return block;
  }
}

type Growing = Uint32Array | Float32Array | Float64Array | Uint16Array | Uint8Array;

/** Gives each of the arrays, all of one length, at least one cell more. */
export function growAll(arrays: Record<string, Growing>): void {
  for (const [name, array] of Object.entries(arrays)) arrays[name] = grown(array, array.length + 1);
}

/** Returns a copy with at least `needed` cells and at least 1.5 times the old number. */
export function grown<T extends Growing>(array: T, needed: number): T {
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, Math.ceil(1.5 * array.length)));
  larger.set(array);
  return larger;
}
