/**
 * word-list.ts -- numbers words from 0, and finds the number of a word, in flat arrays.
 *
 * A Map and an array of strings took over 150 bytes a word, and a snapshot would have to make each of these strings again.
 */
import { hashOf } from "#util/words.ts";
import type { Columns } from "../snapshots/columns.ts";
import { grown } from "./number-lists.ts";
import { NO_ITEM, NumberChains } from "./number-map.ts";

export class WordList {
  /** UTF-16 code units of all words, and by word the end of its units. */
  #units = new Uint16Array(1_024);
  #ends = new Uint32Array(256);
  #count = 0;
  readonly #byHash = new NumberChains();

  get count(): number {
    return this.#count;
  }

  exchange(columns: Columns): void {
    this.#units = columns.array("units", this.#units);
    this.#ends = columns.array("ends", this.#ends);
    this.#count = columns.number("count", this.#count);
    this.#byHash.exchange(columns.part("byHash"));
  }

  /** Adds a word and returns its number. `find` never returns that of a hidden one. */
  add(word: string, options: { readonly isHidden?: boolean } = {}): number {
    const number = this.#count++;
    const from = this.#startOf(number);
    const end = from + word.length;
    if (end > this.#units.length) this.#units = grown(this.#units, end);
    for (let at = 0; at < word.length; at++) this.#units[from + at] = word.charCodeAt(at);
    if (number === this.#ends.length) this.#ends = grown(this.#ends, number + 1);
    this.#ends[number] = end;
    if (!options.isHidden) this.#byHash.add(hashOf(word), number);
    return number;
  }

  /** Returns the number of a word, or NO_ITEM. */
  find(word: string): number {
    let number = this.#byHash.last(hashOf(word));
    while (number !== NO_ITEM && !this.#isWord(number, word)) number = this.#byHash.before(number);
    return number;
  }

  at(number: number): string {
    return String.fromCharCode(...this.#units.subarray(this.#startOf(number), this.#ends[number]));
  }

  #isWord(number: number, word: string): boolean {
    const from = this.#startOf(number);
    if ((this.#ends[number] as number) - from !== word.length) return false;
    for (let at = 0; at < word.length; at++) if (this.#units[from + at] !== word.charCodeAt(at)) return false;
    return true;
  }

  #startOf(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number);
  }
}
