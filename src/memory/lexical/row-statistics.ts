/**
 * row-statistics.ts -- the rows of a lexical index by slot: how long each is, how much its neighbours lend it, which are there.
 *
 * Slots are numbered from 0 without gaps. A removed row counts for no statistic and lends nothing.
 */
import { grown } from "./number-lists.ts";

export class IndexedRows {
  /** Distances of the neighbours of a row, and the share of their words that they lend it. */
  readonly #window: readonly (readonly [distance: number, share: number])[];
  #spaces = new Uint16Array(256);
  #lengths = new Float32Array(256);
  #lentLengths = new Float64Array(256);
  #live = new Uint8Array(256);
  readonly #spaceNumbers = new Map<string, number>();
  #slots = 0;
  #size = 0;
  #totalLength = 0;
  #totalLent = 0;

  constructor(window: readonly (readonly [distance: number, share: number])[]) {
    this.#window = window;
  }

  /** Rows ever added. */
  get slots(): number {
    return this.#slots;
  }

  /** Rows that are there. */
  get size(): number {
    return this.#size;
  }

  /** In words, of all rows that are there. */
  get totalLength(): number {
    return this.#totalLength;
  }

  get totalLent(): number {
    return this.#totalLent;
  }

  get isOneSpace(): boolean {
    return this.#spaceNumbers.size === 1;
  }

  /** By slot, here and below; good until the next row is added. Of what namespace it is, as a number. */
  get spaces(): Uint16Array {
    return this.#spaces;
  }

  get lengths(): Float32Array {
    return this.#lengths;
  }

  get lentLengths(): Float64Array {
    return this.#lentLengths;
  }

  /** 1 for a row that is there. */
  get live(): Uint8Array {
    return this.#live;
  }

  /** In the next slot. */
  add(length: number, namespace: string): void {
    const slot = this.#slots++;
    this.#size++;
    this.#reserve(this.#slots);
    this.#spaces[slot] = this.#spaceNumber(namespace);
    this.#live[slot] = 1;
    this.#lengths[slot] = length;
    this.#totalLength += length;
    for (const [distance, share] of this.#window) {
      this.#lend(slot + distance, slot, share);
      this.#lend(slot, slot - distance, share);
    }
  }

  remove(slot: number): void {
    this.#totalLength -= this.#lengths[slot] as number;
    this.#totalLent -= this.#lentLengths[slot] as number;
    this.#live[slot] = 0;
    this.#size--;
    for (const [distance, share] of this.#window) this.#lend(slot, slot - distance, -share);
  }

  /** The window of `reader` takes in `share` of the words of `lender`, when both are there and of one namespace. */
  #lend(lender: number, reader: number, share: number): void {
    if (Math.min(lender, reader) < 0 || Math.max(lender, reader) >= this.#slots) return;
    if (this.#spaces[lender] !== this.#spaces[reader]) return;
    if (share > 0 && this.#live[lender] !== 1) return;
    const length = share * (this.#lengths[lender] as number);
    this.#lentLengths[reader] = (this.#lentLengths[reader] as number) + length;
    if (this.#live[reader] === 1) this.#totalLent += length;
  }

  #spaceNumber(namespace: string): number {
    const known = this.#spaceNumbers.get(namespace);
    if (known !== undefined) return known;
    const number = this.#spaceNumbers.size;
    this.#spaceNumbers.set(namespace, number);
    return number;
  }

  #reserve(slots: number): void {
    if (slots <= this.#live.length) return;
    this.#spaces = grown(this.#spaces, slots);
    this.#lengths = grown(this.#lengths, slots);
    this.#lentLengths = grown(this.#lentLengths, slots);
    this.#live = grown(this.#live, slots);
  }
}
