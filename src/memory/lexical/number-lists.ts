/**
 * number-lists.ts -- stores very many growing lists of numbers in one buffer: the postings of an index.
 *
 * A list is a chain of blocks, each twice as long as the one before up to `LONGEST_BLOCK`; the cell after a block holds
 * the start of the next one. Most words occur once or twice and cost a few bytes, a growing list is never copied, and
 * the garbage collector sees one array.
 */
import type { Columns } from "../snapshots/columns.ts";

const SHORTEST_BLOCK = 2;
const LONGEST_BLOCK = 128;

export class NumberLists {
  #cells = new Uint32Array(1_024);
  #used = 0;
  /** By list: start of its first block, cell of the next number, end of its last block, number of numbers. */
  #first = new Uint32Array(256);
  #next = new Uint32Array(256);
  #end = new Uint32Array(256);
  #lengths = new Uint32Array(256);
  #lists = 0;
  #scratch = new Uint32Array(256);

  get count(): number {
    return this.#lists;
  }

  exchange(columns: Columns): void {
    this.#cells = columns.array("cells", this.#cells);
    this.#used = columns.number("used", this.#used);
    this.#first = columns.array("first", this.#first);
    this.#next = columns.array("next", this.#next);
    this.#end = columns.array("end", this.#end);
    this.#lengths = columns.array("lengths", this.#lengths);
    this.#lists = columns.number("lists", this.#lists);
  }

  /** Opens an empty list and returns its number, counted from 0. */
  open(): number {
    const list = this.#lists++;
    if (list === this.#first.length) {
      this.#first = grown(this.#first, list + 1);
      this.#next = grown(this.#next, list + 1);
      this.#end = grown(this.#end, list + 1);
      this.#lengths = grown(this.#lengths, list + 1);
    }
    const block = this.#allocate(SHORTEST_BLOCK);
    this.#first[list] = block;
    this.#next[list] = block;
    this.#end[list] = block + SHORTEST_BLOCK;
    return list;
  }

  length(list: number): number {
    return this.#lengths[list] as number;
  }

  /** Returns the last number; undefined for an empty list. */
  last(list: number): number | undefined {
    return this.#lengths[list] === 0 ? undefined : this.#cells[(this.#next[list] as number) - 1];
  }

  /** `value` must be a whole number below 2^32. */
  push(list: number, value: number): void {
    let at = this.#next[list] as number;
    const end = this.#end[list] as number;
    if (at === end) {
      const size = Math.min(LONGEST_BLOCK, 2 * this.#lastBlockOf(list));
      at = this.#allocate(size);
      this.#cells[end] = at;
      this.#end[list] = at + size;
    }
    this.#cells[at] = value;
    this.#next[list] = at + 1;
    this.#lengths[list] = (this.#lengths[list] as number) + 1;
  }

  /** Returns the numbers of a list in the order of `push`. Valid until the next `read`. */
  read(list: number): Uint32Array {
    const length = this.#lengths[list] as number;
    let block = this.#first[list] as number;
    if (length <= SHORTEST_BLOCK) return this.#cells.subarray(block, block + length);
    if (length > this.#scratch.length) this.#scratch = new Uint32Array(2 * length);
    let size = SHORTEST_BLOCK;
    let at = 0;
    for (;;) {
      const taken = Math.min(size, length - at);
      this.#scratch.set(this.#cells.subarray(block, block + taken), at);
      at += taken;
      if (at === length) return this.#scratch.subarray(0, length);
      block = this.#cells[block + size] as number;
      size = Math.min(LONGEST_BLOCK, 2 * size);
    }
  }

  /** Returns the size of the last block of a list whose blocks are all full. */
  #lastBlockOf(list: number): number {
    let size = SHORTEST_BLOCK;
    for (let left = (this.#lengths[list] as number) - size; left > 0; left -= size)
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

/** Returns a copy with at least `needed` cells and at least 1.5 times the old number. */
export function grown<T extends Uint32Array | Float32Array | Float64Array | Uint16Array | Uint8Array>(
  array: T,
  needed: number,
): T {
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, Math.ceil(1.5 * array.length)));
  larger.set(array);
  return larger;
}
