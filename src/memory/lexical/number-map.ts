/**
 * number-map.ts -- a map from 32-bit numbers to 32-bit numbers, and chains of items with the same number.
 *
 * Both keep flat arrays: an entry takes 8 to 16 bytes, a Map takes over 40, and the garbage collector sees one array.
 */
import type { Columns } from "../snapshots/columns.ts";
import { grown } from "./number-lists.ts";

const MOST_FILLED = 0.6;

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

/** Finds items, numbered from 0, by a 32-bit number that several may share. Items are never taken out. */
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
