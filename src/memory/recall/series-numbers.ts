/**
 * series-numbers.ts -- finds the row of a series by its numbers: a series is a group of rows that differ only in numbers.
 *
 * The rows of a series are added when it is first searched, so a snapshot needs none of this.
 */
import { grown, NumberLists } from "../lexical/number-lists.ts";
import { NO_ITEM, NumberMap } from "../lexical/number-map.ts";
import { NO_WORD } from "../lexical/word-set.ts";

/** Rows read in one search, those with the rarest numbers first. */
const MAX_ROWS_READ = 2_048;
/** Main memory of a list with its key, and of a row in a list. */
const LIST_BYTES = 48;
const ENTRY_BYTES = 4;

export class SeriesNumbers {
  /** By a hash of series and number: a list of the slots of the series that have the number, ascending. Lists may share a hash. */
  readonly #listOf = new NumberMap();
  readonly #lists = new NumberLists();
  #entries = 0;
  /** By series: number of rows added. */
  readonly #added = new NumberMap();
  /** Scratch by slot: how many of the numbers it has, all 0 between two searches. */
  #shared = new Uint16Array(256);

  /** Estimated main memory. */
  get bytes(): number {
    return LIST_BYTES * this.#lists.count + ENTRY_BYTES * this.#entries;
  }

  /** Number of rows of the series that were added. */
  countAdded(series: number): number {
    return this.#added.get(series) ?? 0;
  }

  /** Adds the next row. `numberHashes` has the hash of each term, NO_WORD for one that is not a number. */
  add(series: number, slot: number, terms: Uint32Array, numberHashes: Uint32Array): void {
    if (slot >= this.#shared.length) this.#shared = grown(this.#shared, slot + 1);
    this.#added.add(series, 1);
    for (const term of terms) {
      const hash = numberHashes[term] as number;
      if (hash === NO_WORD) continue;
      const key = mix(series, hash);
      const list = this.#listOf.get(key) ?? this.#lists.open();
      this.#listOf.set(key, list);
      this.#lists.push(list, slot);
      this.#entries++;
    }
  }

  /**
   * Returns the slot that has most of the numbers, the newest of equals, or NO_ITEM when none has one. `isFound` must be false
   * for slots of another series.
   */
  find(series: number, numbers: ReadonlySet<number>, isFound: (slot: number) => boolean): number {
    const shared = this.#shared;
    const touched: number[] = [];
    let left = MAX_ROWS_READ;
    for (const list of this.#listsOf(series, numbers)) {
      const length = this.#lists.length(list);
      // What very many rows have tells rows apart only when they have nothing rarer.
      if (length > left && touched.length > 0) break;
      for (const slot of this.#lists.read(list).subarray(-left)) {
        if (shared[slot] === 0) touched.push(slot);
        shared[slot] = (shared[slot] as number) + 1;
      }
      left -= length;
    }
    let best = NO_ITEM;
    let most = 0;
    for (const slot of touched) {
      const count = shared[slot] as number;
      shared[slot] = 0;
      if (count < most || (count === most && slot < best) || !isFound(slot)) continue;
      best = slot;
      most = count;
    }
    return best;
  }

  /** Returns the lists of the numbers, the shortest first if not all can be read. */
  #listsOf(series: number, numbers: ReadonlySet<number>): readonly number[] {
    const lists: number[] = [];
    let rows = 0;
    for (const number of numbers) {
      const list = this.#listOf.get(mix(series, number));
      if (list === undefined) continue;
      lists.push(list);
      rows += this.#lists.length(list);
    }
    return rows <= MAX_ROWS_READ ? lists : lists.sort((a, b) => this.#lists.length(a) - this.#lists.length(b));
  }
}

const mix = (series: number, number: number): number => (number ^ Math.imul(series + 1, 0x9e3779b1)) >>> 0;
