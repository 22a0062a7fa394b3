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
import { LEXICAL_SETTINGS, type LexicalSettings } from "./lexical-settings.ts";
import type { Hit } from "./merge.ts";
import { grown } from "./number-lists.ts";
import { Scores, type Sums } from "./sums.ts";
import { Terms } from "./terms.ts";
import { hasDigit } from "./word-set.ts";

/** Postings that one search looks at, and those of one term, the newest of them. */
const MAX_VISITS = 16_384;
/**
 * With many texts, of which none is much of the whole. (Twice as many found 0.486 instead of 0.483 of the wanted rows in a trial
 * with the traces of test/data among nine messages, sixteen times as many 0.477.)
 */
const MAX_VISITS_OF_MANY = 1_024;
const MANY_TEXTS = 5;
const MAX_VISITS_OF_TERM = 4_096;
/** Neighbours that lend less than this share of a word are passed over. */
const LEAST_SHARE = 0.12;
/** A posting is the slot and how many times, in one number. */
const TIMES_BITS = 6;
const MAX_TIMES = (1 << TIMES_BITS) - 1;
const MAX_SLOTS = 2 ** (32 - TIMES_BITS);

export class LexicalIndex {
  readonly #settings: LexicalSettings;
  readonly #terms: Terms;
  /** By slot: its namespace, how many words of its own and of its neighbours, whether it is there. */
  #spaces = new Uint16Array(256);
  #lengths = new Float32Array(256);
  #lentLengths = new Float64Array(256);
  #live = new Uint8Array(256);
  readonly #spaceNumbers = new Map<string, number>();
  #slots = 0;
  #rows = 0;
  #totalLength = 0;
  #totalLent = 0;
  /** The window, those that lend most first. */
  readonly #distances: Int32Array;
  readonly #shares: Float32Array;
  readonly #lent: Float64Array;
  #nearest = 0;
  /** How much of what neighbours lend is taken: less where rows are long and speak for themselves. */
  #openness = 1;
  /** Scratch: how often one term stands in each row's window, and in which it does. */
  #times = new Float64Array(256);
  #touched = new Uint32Array(256);
  #gains = new Float64Array(256);
  readonly #scores = new Scores();

  constructor(settings: LexicalSettings = LEXICAL_SETTINGS) {
    this.#settings = settings;
    this.#terms = new Terms(settings);
    const nearest = settings.window.toSorted(([, a], [, b]) => b - a);
    this.#distances = Int32Array.from(nearest, ([distance]) => distance);
    this.#shares = Float32Array.from(nearest, ([, share]) => share);
    this.#lent = new Float64Array(nearest.length);
  }

  /** Rows that can be found. */
  get size(): number {
    return this.#rows;
  }

  /** `slot` is the number of rows ever added; `words` as `wordsOf` gives them. */
  add(slot: number, words: readonly string[], namespace: string): void {
    if (slot !== this.#slots || slot >= MAX_SLOTS)
      throw new RangeError(`Expected the slot ${this.#slots} of at most ${MAX_SLOTS}, got ${slot}.`);
    this.#slots++;
    this.#rows++;
    this.#reserve(this.#slots);
    this.#spaces[slot] = this.#spaceNumber(namespace);
    this.#live[slot] = 1;
    let length = 0;
    for (const [term, times] of this.#terms.enter(words)) {
      length += times;
      this.#terms.post(term, (slot << TIMES_BITS) | Math.min(times, MAX_TIMES));
    }
    this.#lengths[slot] = length;
    this.#totalLength += length;
    for (const [distance, share] of this.#settings.window) {
      this.#lend(slot + distance, slot, share);
      this.#lend(slot, slot - distance, share);
    }
  }

  /** A row that says the same as this one with other numbers: it is found by those, too. */
  addNumbers(slot: number, words: readonly string[]): void {
    if (this.#live[slot] !== 1) return;
    for (const term of this.#terms.enter(words.filter(hasDigit)).keys())
      this.#terms.post(term, (slot << TIMES_BITS) | 1);
  }

  /** `words` are those that it was added with. */
  remove(slot: number, words: readonly string[]): void {
    if (this.#live[slot] !== 1) return;
    this.#totalLength -= this.#lengths[slot] as number;
    this.#totalLent -= this.#lentLengths[slot] as number;
    this.#live[slot] = 0;
    this.#rows--;
    for (const [distance, share] of this.#settings.window) this.#lend(slot, slot - distance, -share);
    this.#terms.withdraw(words);
  }

  /**
   * For each text its best `reach` rows, best first, the newer first of equals; none that shares no word or is not allowed.
   * What it costs is bounded: the rarest words are searched for first, the commonest as far as that goes.
   */
  search(
    texts: readonly (readonly string[])[],
    reach: number,
    isAllowed: (slot: number) => boolean = () => true,
    beside: readonly LexicalIndex[] = [],
  ): Hit[][] {
    const sums = texts.map((_, text) => this.#scores.sumsFor(text, this.#slots));
    this.#openWindow();
    let visits = texts.length < MANY_TEXTS ? MAX_VISITS : MAX_VISITS_OF_MANY;
    for (const { term, uses } of this.#terms.of(texts)) {
      const rows = Math.min(this.#terms.rowsWith(term), MAX_VISITS_OF_TERM);
      if (visits < rows) break;
      visits -= rows;
      const touched = this.#spread(term);
      const gains = this.#saturate(touched, this.#worthOf(term, beside) * (this.#settings.saturation + 1));
      for (let use = 0; use < uses.length; use += 2)
        (sums[uses[use] as number] as Sums).addAll(this.#touched, gains, touched, uses[use + 1] as number);
    }
    return sums.map((sum) => sum.best(reach, (slot) => this.#live[slot] === 1 && isAllowed(slot)));
  }

  /** How much neighbours lend in this search, and how many of them lend anything worth adding. */
  #openWindow(): void {
    this.#openness = Math.min(1, (this.#settings.windowWords * this.#rows) / this.#totalLength);
    for (let near = 0; near < this.#lent.length; near++)
      this.#lent[near] = this.#openness * (this.#shares[near] as number);
    this.#nearest = this.#lent.findLastIndex((share) => share >= LEAST_SHARE) + 1;
  }

  /** Writes into `#times` how often the term stands in the window of each row; returns how many rows are `#touched`. */
  #spread(term: number): number {
    const postings = this.#terms.postings(term);
    const times = this.#times;
    const touched = this.#touched;
    const spaces = this.#spaces;
    const live = this.#live;
    const distances = this.#distances;
    const slots = this.#slots;
    const isOneSpace = this.#spaceNumbers.size === 1;
    const lent = this.#lent;
    const nearest = this.#nearest;
    let count = 0;
    for (let at = Math.max(0, postings.length - MAX_VISITS_OF_TERM); at < postings.length; at++) {
      const posting = postings[at] as number;
      const slot = posting >>> TIMES_BITS;
      if (live[slot] === 0) continue;
      const own = posting & MAX_TIMES;
      const before = times[slot] as number;
      if (before === 0) touched[count++] = slot;
      times[slot] = before + own;
      for (let near = 0; near < nearest; near++) {
        const reader = slot - (distances[near] as number);
        if (reader < 0 || reader >= slots) continue;
        if (!isOneSpace && spaces[reader] !== spaces[slot]) continue;
        const had = times[reader] as number;
        if (had === 0) touched[count++] = reader;
        times[reader] = had + own * (lent[near] as number);
      }
    }
    return count;
  }

  /** What each of the touched rows gains by a term of this worth, in their order; `#times` is all 0 again. */
  #saturate(touched: number, worth: number): Float64Array {
    const { saturation, lengthShare } = this.#settings;
    const rows = this.#touched;
    const times = this.#times;
    const gains = this.#gains;
    const lengths = this.#lengths;
    const lentLengths = this.#lentLengths;
    const lent = this.#openness;
    const least = saturation * (1 - lengthShare);
    const perWord = (saturation * lengthShare * this.#rows) / (this.#totalLength + lent * this.#totalLent);
    for (let at = 0; at < touched; at++) {
      const slot = rows[at] as number;
      const count = times[slot] as number;
      const length = (lengths[slot] as number) + lent * (lentLengths[slot] as number);
      times[slot] = 0;
      gains[at] = (worth * count) / (count + least + perWord * length);
    }
    return gains;
  }

  /** The rarer, the more, here and in the indexes `beside`. */
  #worthOf(term: number, beside: readonly LexicalIndex[]): number {
    let rows = this.#rows;
    let rowsWith = this.#terms.rowsWith(term);
    for (const other of beside) {
      rows += other.#rows;
      rowsWith += other.#terms.rowsWithStem(this.#terms.stemOf(term));
    }
    return Math.log(1 + (rows - rowsWith + 0.5) / (rowsWith + 0.5));
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
    this.#times = grown(this.#times, slots);
    this.#touched = grown(this.#touched, slots);
    this.#gains = grown(this.#gains, slots);
  }
}
