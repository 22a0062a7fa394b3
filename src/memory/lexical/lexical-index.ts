/**
 * lexical-index.ts -- rows by the words that they share with a query: BM25 with a window over neighbours.
 *
 * A row is read together with the rows around it: what was asked in one is answered in the next, and a
 * name stands in the first of five. Postings hold each row's own words only; what the
 * neighbours add is added while searching (expanding the postings took six times the memory), and is therefore right
 * as soon as a neighbour comes. Rows of another namespace are no neighbours.
 *
 * Slots are numbered from 0 without gaps. A removed row is found no more and counts for no statistic; its postings stay.
 */

import type { Hit } from "#util/best-of.ts";
import { LEXICAL_SETTINGS, type LexicalSettings } from "./lexical-settings.ts";
import { grown } from "./number-lists.ts";
import { IndexedRows } from "./row-statistics.ts";
import { Sums } from "./score-sums.ts";
import { Terms } from "./terms.ts";
import { hasDigit } from "./word-set.ts";

/** Postings that are looked at for one text, and those of one term, the newest of them. */
const MAX_VISITS = 16_384;
/**
 * With many texts, of which none is much of the whole, for each of them. (In a trial with the traces of test/data among nine messages
 * sixteen times as many found 0.490 instead of 0.486 of the wanted rows, and 0.428 instead of 0.435 where six memories were one.)
 */
const MAX_VISITS_OF_MANY = 256;
const MANY_TEXTS = 5;
const MAX_VISITS_OF_TERM = 4_096;
/** Neighbours that lend less than this share of a word are passed over. */
const LEAST_SHARE = 0.12;
/** A posting is the slot and how many times, in one number. */
const TIMES_BITS = 6;
const MAX_TIMES = (1 << TIMES_BITS) - 1;
const MAX_SLOTS = 2 ** (32 - TIMES_BITS);

/** Where in the scratch arrays stands what the rows around a term gain by it. */
interface Gains {
  readonly from: number;
  readonly to: number;
}

export class LexicalIndex {
  readonly #settings: LexicalSettings;
  readonly #terms: Terms;
  readonly #rows: IndexedRows;
  /** The window, those that lend most first. */
  readonly #distances: Int32Array;
  readonly #shares: Float32Array;
  readonly #lent: Float64Array;
  #nearest = 0;
  /** How much of what neighbours lend is taken: less where rows are long and speak for themselves. */
  #openness = 1;
  /** Scratch of a search: how often one term stands in each row's window; and for one term after the other, in which it does and what they gain. */
  #times = new Float64Array(256);
  #touched = new Uint32Array(256);
  #gains = new Float64Array(256);
  #used = 0;
  readonly #sums = new Sums();

  constructor(settings: LexicalSettings = LEXICAL_SETTINGS) {
    this.#settings = settings;
    this.#terms = new Terms(settings);
    this.#rows = new IndexedRows(settings.window);
    const nearest = settings.window.toSorted(([, a], [, b]) => b - a);
    this.#distances = Int32Array.from(nearest, ([distance]) => distance);
    this.#shares = Float32Array.from(nearest, ([, share]) => share);
    this.#lent = new Float64Array(nearest.length);
  }

  /** Rows that can be found. */
  get size(): number {
    return this.#rows.size;
  }

  /** `slot` is the number of rows ever added; `words` as `wordsOf` gives them. */
  add(slot: number, words: readonly string[], namespace: string): void {
    if (slot !== this.#rows.slots || slot >= MAX_SLOTS)
      throw new RangeError(`Expected the slot ${this.#rows.slots} of at most ${MAX_SLOTS}, got ${slot}.`);
    let length = 0;
    for (const [term, times] of this.#terms.enter(words)) {
      length += times;
      this.#terms.post(term, (slot << TIMES_BITS) | Math.min(times, MAX_TIMES));
    }
    this.#rows.add(length, namespace);
    if (this.#times.length < this.#rows.slots) this.#times = grown(this.#times, this.#rows.slots);
  }

  /** A row that says the same as this one with other numbers: it is found by those, too. */
  addNumbers(slot: number, words: readonly string[]): void {
    if (this.#rows.live[slot] !== 1) return;
    for (const term of this.#terms.enter(words.filter(hasDigit)).keys())
      this.#terms.post(term, (slot << TIMES_BITS) | 1);
  }

  /** `words` are those that it was added with. */
  remove(slot: number, words: readonly string[]): void {
    if (this.#rows.live[slot] !== 1) return;
    this.#rows.remove(slot);
    this.#terms.withdraw(words);
  }

  /**
   * Answers what gives the hits of one text: its best `reach` rows, best first, the newer first of equals; none that shares no
   * word, none of the `barred`. Good until the next search; a text that is not asked for costs nothing.
   * What one costs is bounded: its rarest words are searched for first, the commonest as far as that goes.
   */
  search(
    texts: readonly (readonly string[])[],
    reach: number,
    barred: Iterable<number> = [],
    beside: readonly LexicalIndex[] = [],
  ): (text: number) => Hit[] {
    this.#openWindow();
    this.#sums.reserve(this.#rows.slots);
    this.#used = 0;
    const gathered = new Map<number, Gains>();
    const mostVisits = texts.length < MANY_TEXTS ? MAX_VISITS : MAX_VISITS_OF_MANY;
    return (text) => {
      let visits = mostVisits;
      for (const { term, weight } of this.#terms.of(texts[text] as readonly string[])) {
        visits -= Math.min(this.#terms.rowsWith(term), MAX_VISITS_OF_TERM);
        if (visits < 0) break;
        const gains = gathered.get(term) ?? this.#gather(term, beside);
        gathered.set(term, gains);
        this.#sums.addAll(this.#touched, this.#gains, gains.from, gains.to, weight);
      }
      return this.#sums.best(reach, barred);
    };
  }

  #gather(term: number, beside: readonly LexicalIndex[]): Gains {
    const from = this.#used;
    const to = this.#spread(term, from);
    this.#saturate(from, to, this.#worthOf(term, beside) * (this.#settings.saturation + 1));
    this.#used = to;
    return { from, to };
  }

  /** How much neighbours lend in this search, and how many of them lend anything worth adding. */
  #openWindow(): void {
    this.#openness = Math.min(1, (this.#settings.windowWords * this.#rows.size) / this.#rows.totalLength);
    for (let near = 0; near < this.#lent.length; near++)
      this.#lent[near] = this.#openness * (this.#shares[near] as number);
    this.#nearest = this.#lent.findLastIndex((share) => share >= LEAST_SHARE) + 1;
  }

  /** Writes into `#times` how often the term stands in the window of each row; these are `#touched` from `from` to what is returned. */
  #spread(term: number, from: number): number {
    const postings = this.#terms.postings(term);
    this.#reserveTouched(from + Math.min(postings.length, MAX_VISITS_OF_TERM) * (1 + this.#nearest));
    const times = this.#times;
    const touched = this.#touched;
    const { spaces, live, slots, isOneSpace } = this.#rows;
    const distances = this.#distances;
    const lent = this.#lent;
    const nearest = this.#nearest;
    let to = from;
    for (let at = Math.max(0, postings.length - MAX_VISITS_OF_TERM); at < postings.length; at++) {
      const posting = postings[at] as number;
      const slot = posting >>> TIMES_BITS;
      if (live[slot] === 0) continue;
      const own = posting & MAX_TIMES;
      const before = times[slot] as number;
      if (before === 0) touched[to++] = slot;
      times[slot] = before + own;
      for (let near = 0; near < nearest; near++) {
        const reader = slot - (distances[near] as number);
        if (reader < 0 || reader >= slots || live[reader] === 0) continue;
        if (!isOneSpace && spaces[reader] !== spaces[slot]) continue;
        const had = times[reader] as number;
        if (had === 0) touched[to++] = reader;
        times[reader] = had + own * (lent[near] as number);
      }
    }
    return to;
  }

  /** What each of these touched rows gains by a term of this worth, into `#gains`; `#times` is all 0 again. */
  #saturate(from: number, to: number, worth: number): void {
    const { saturation, lengthShare } = this.#settings;
    const { lengths, lentLengths, size, totalLength, totalLent } = this.#rows;
    const touched = this.#touched;
    const times = this.#times;
    const gains = this.#gains;
    const lent = this.#openness;
    const least = saturation * (1 - lengthShare);
    const perWord = (saturation * lengthShare * size) / (totalLength + lent * totalLent);
    for (let at = from; at < to; at++) {
      const slot = touched[at] as number;
      const count = times[slot] as number;
      const length = (lengths[slot] as number) + lent * (lentLengths[slot] as number);
      times[slot] = 0;
      gains[at] = (worth * count) / (count + least + perWord * length);
    }
  }

  /** The rarer, the more, here and in the indexes `beside`. */
  #worthOf(term: number, beside: readonly LexicalIndex[]): number {
    let rows = this.#rows.size;
    let rowsWith = this.#terms.rowsWith(term);
    for (const other of beside) {
      rows += other.size;
      rowsWith += other.#terms.rowsWithStem(this.#terms.stemOf(term));
    }
    return Math.log(1 + (rows - rowsWith + 0.5) / (rowsWith + 0.5));
  }

  #reserveTouched(count: number): void {
    if (count <= this.#touched.length) return;
    this.#touched = grown(this.#touched, count);
    this.#gains = grown(this.#gains, count);
  }
}
