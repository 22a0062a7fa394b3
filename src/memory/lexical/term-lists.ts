/**
 * term-lists.ts -- the distinct terms of each row, in one array of bytes.
 *
 * A term takes one to three bytes, because frequent terms come early and so have low numbers: a row of 400 characters takes
 * about 110 bytes, as 32-bit numbers it would take 250.
 */
import type { Columns } from "../snapshots/columns.ts";
import { grown } from "./number-lists.ts";

const MAX_BYTES_PER_TERM = 5;

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
