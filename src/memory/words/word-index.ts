/**
 * word-index.ts -- finds rows by the words that they share with a query: BM25 with a window over neighbours.
 *
 * A row is scored together with the rows around it, because a question is answered in the next row and a name is in the
 * first of five. Postings hold each row's own words; the search adds those of the neighbours. (Expanded postings took
 * six times the memory.) Rows of another namespace are not neighbours.
 *
 * Slots are numbered from 0 without gaps. A removed row is never found and counts in no statistic; its postings stay.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import { BestOf } from "#util/best-of.ts";
import type { Columns } from "../columns.ts";
import { growAll, grown } from "./flat-lists.ts";
import { TermIndex, type WordMeanings } from "./query-terms.ts";
import { type CountedTerms, NO_WORD, type Vocabulary } from "./vocabulary.ts";

/**
 * Postings read per text, and the newest postings read per term. Fewer postings find too little in a large memory: 256 a text
 * found 0.24 of the evidence for a question among fourteen other texts at 44,000 rows, 16,384 found 0.60 for 4 ms more.
 */
const MAX_POSTINGS = 16_384;
const MAX_POSTINGS_OF_TERM = 4_096;
/** Neighbours with a lower weight are skipped. */
const MIN_WINDOW_WEIGHT = 0.12;
/** A posting is one number: the slot and the term frequency. */
const FREQUENCY_BITS = 6;
const MAX_FREQUENCY = (1 << FREQUENCY_BITS) - 1;
const MAX_SLOTS = 2 ** (32 - FREQUENCY_BITS);

export class LexicalIndex {
  readonly #settings: LexicalSettings;
  readonly #terms: TermIndex;
  readonly #rows: RowStatistics;
  /** The window, heaviest first. */
  readonly #distances: Int32Array;
  readonly #weights: Float32Array;
  /** The weights of the current search: `#weights` times `#windowScale`; the first `#neighbours` are used. */
  readonly #scaledWeights: Float64Array;
  #neighbours = 0;
  /** Below 1 where rows are long and need their neighbours less. */
  #windowScale = 1;
  /** Scratch: frequency of one term in each row's window, all 0 between two terms. */
  #frequencies = new Float32Array(256);
  /** Scratch: the slots that have such a frequency. */
  #touched = new Uint32Array(256);
  /** Scratch of a search, by slot: the frequency with which a term has half of its highest score. */
  #halfScores = new Float32Array(256);
  readonly #sums = new ScoreSums();

  /** Without `meanings` rows are found by shared words alone. */
  constructor(settings: LexicalSettings = LEXICAL_SETTINGS, meanings?: WordMeanings) {
    this.#settings = settings;
    this.#terms = new TermIndex(settings, meanings);
    this.#rows = new RowStatistics(settings.window);
    const heaviestFirst = settings.window.toSorted(([, a], [, b]) => b - a);
    this.#distances = Int32Array.from(heaviestFirst, ([distance]) => distance);
    this.#weights = Float32Array.from(heaviestFirst, ([, weight]) => weight);
    this.#scaledWeights = new Float64Array(heaviestFirst.length);
  }

  exchange(columns: Columns): void {
    this.#terms.exchange(columns.part("terms"));
    this.#rows.exchange(columns.part("rows"));
  }

  /** Number of live rows. */
  get size(): number {
    return this.#rows.size;
  }

  get vocabulary(): Vocabulary {
    return this.#terms.vocabulary;
  }

  /** `slot` must be the number of rows ever added; `counted` comes from the vocabulary of this index. */
  add(slot: number, { terms, frequencies }: CountedTerms, namespace: string): void {
    if (slot !== this.#rows.slots || slot >= MAX_SLOTS)
      throw new RangeError(`Expected the slot ${this.#rows.slots} of at most ${MAX_SLOTS}, got ${slot}.`);
    let length = 0;
    for (let at = 0; at < terms.length; at++) {
      const term = terms[at] as number;
      if (this.vocabulary.isStopWord(term)) continue;
      const frequency = frequencies[at] as number;
      length += frequency;
      this.#terms.addPosting(term, (slot << FREQUENCY_BITS) | Math.min(frequency, MAX_FREQUENCY));
    }
    this.#rows.add(length, namespace);
  }

  /** Adds the numbers of a near-duplicate, so that the row is found by them too. */
  addNumbers(slot: number, { terms }: CountedTerms): void {
    if (this.#rows.bySlot.live[slot] !== 1) return;
    for (const term of terms)
      if (this.vocabulary.byTerm.numberHashes[term] !== NO_WORD)
        this.#terms.addPosting(term, (slot << FREQUENCY_BITS) | 1);
  }

  /** Returns the stems that a search for these distinct words reads, with what one of them adds to the score of a row. */
  weighStems(words: readonly string[]): readonly { readonly stem: string; readonly weight: number }[] {
    return this.#terms.weighTerms(words).map(({ term, weight }) => ({
      stem: this.vocabulary.stemOf(term),
      weight: weight * this.#inverseDocumentFrequency(term, []),
    }));
  }

  /** `terms` must be those that the row was added with. */
  remove(slot: number, terms: Uint32Array): void {
    if (this.#rows.bySlot.live[slot] !== 1) return;
    this.#rows.remove(slot);
    this.#terms.removeRow(terms);
  }

  /**
   * Returns a function that searches for one text: its best `limit` rows, best first, the newer of equals first, without
   * excluded rows and rows that share no word. Valid until the next search. A text that is never asked for costs
   * nothing; the cost of one is bounded: its own words are read first, the rarest first. Document frequencies include `others`.
   */
  search(
    texts: readonly (readonly string[])[],
    limit: number,
    excluded: Iterable<number> = [],
    others: readonly LexicalIndex[] = [],
  ): (text: number) => ScoredSlot[] {
    this.#scaleWindow();
    this.#sums.reserve(this.#rows.slots);
    if (this.#frequencies.length < this.#rows.slots) this.#frequencies = grown(this.#frequencies, this.#rows.slots);
    this.#measureHalfScores();
    return (text) => {
      let left = MAX_POSTINGS;
      for (const { term, weight } of this.#terms.weighTerms(texts[text] as readonly string[])) {
        left -= Math.min(this.#terms.documentFrequency(term), MAX_POSTINGS_OF_TERM);
        if (left < 0) break;
        const highest = (this.#settings.saturation + 1) * this.#inverseDocumentFrequency(term, others);
        const slots = this.#sumFrequencies(term);
        this.#sums.addSaturated(slots, this.#frequencies, this.#halfScores, weight * highest);
      }
      return this.#sums.takeBest(limit, excluded);
    };
  }

  #scaleWindow(): void {
    this.#windowScale = Math.min(1, (this.#settings.windowWords * this.#rows.size) / this.#rows.totalLength);
    for (let at = 0; at < this.#scaledWeights.length; at++)
      this.#scaledWeights[at] = this.#windowScale * (this.#weights[at] as number);
    this.#neighbours = this.#scaledWeights.findLastIndex((weight) => weight >= MIN_WINDOW_WEIGHT) + 1;
  }

  /** Sums the term's frequencies per window into `#frequencies`. Returns their slots, valid until the next call. */
  #sumFrequencies(term: number): Uint32Array {
    const postings = this.#terms.postings(term);
    const most = Math.min(postings.length, MAX_POSTINGS_OF_TERM) * (1 + this.#neighbours);
    if (this.#touched.length < most) this.#touched = grown(this.#touched, most);
    const frequencies = this.#frequencies;
    const touched = this.#touched;
    const { slots, hasOneNamespace, bySlot } = this.#rows;
    const { namespaces, live } = bySlot;
    const distances = this.#distances;
    const weights = this.#scaledWeights;
    const neighbours = this.#neighbours;
    let to = 0;
    for (let at = Math.max(0, postings.length - MAX_POSTINGS_OF_TERM); at < postings.length; at++) {
      const posting = postings[at] as number;
      const slot = posting >>> FREQUENCY_BITS;
      if (live[slot] === 0) continue;
      const frequency = posting & MAX_FREQUENCY;
      const before = frequencies[slot] as number;
      if (before === 0) touched[to++] = slot;
      frequencies[slot] = before + frequency;
      for (let near = 0; near < neighbours; near++) {
        const neighbour = slot - (distances[near] as number);
        if (neighbour < 0 || neighbour >= slots || live[neighbour] === 0) continue;
        if (!hasOneNamespace && namespaces[neighbour] !== namespaces[slot]) continue;
        const had = frequencies[neighbour] as number;
        if (had === 0) touched[to++] = neighbour;
        frequencies[neighbour] = had + frequency * (weights[near] as number);
      }
    }
    return touched.subarray(0, to);
  }

  /** Fills `#halfScores`: BM25 lowers the scores of long rows, and here of rows with long neighbours. */
  #measureHalfScores(): void {
    const { saturation, lengthNormalisation } = this.#settings;
    const { bySlot, size, slots, totalLength, totalWindowLength } = this.#rows;
    const { lengths, windowLengths } = bySlot;
    const scale = this.#windowScale;
    const base = saturation * (1 - lengthNormalisation);
    const perWord = (saturation * lengthNormalisation * size) / (totalLength + scale * totalWindowLength);
    if (this.#halfScores.length < slots) this.#halfScores = grown(this.#halfScores, slots);
    const halfScores = this.#halfScores;
    for (let slot = 0; slot < slots; slot++)
      halfScores[slot] = base + perWord * ((lengths[slot] as number) + scale * (windowLengths[slot] as number));
  }

  #inverseDocumentFrequency(term: number, others: readonly LexicalIndex[]): number {
    let rows = this.#rows.size;
    let rowsWithTerm = this.#terms.documentFrequency(term);
    for (const other of others) {
      rows += other.size;
      rowsWithTerm += other.#terms.documentFrequencyOfStem(this.vocabulary.stemOf(term));
    }
    return Math.log(1 + (rows - rowsWithTerm + 0.5) / (rowsWithTerm + 0.5));
  }
}

/**
 * By slot the length of each row of a lexical index, of its window, its namespace and whether it is live. Slots are
 * numbered from 0 without gaps. Removed rows count in no total and in no window.
 */
class RowStatistics {
  readonly #window: LexicalSettings["window"];
  /** Each array is valid until the next row is added. */
  readonly bySlot = {
    /** Numbers of namespaces. */
    namespaces: new Uint16Array(256),
    /** In words. */
    lengths: new Float32Array(256),
    /** Weighted lengths of the neighbours in each row's window. */
    windowLengths: new Float64Array(256),
    /** 1 for a live row, else 0. */
    live: new Uint8Array(256),
  };
  #namespaceNames: readonly string[] = [];
  /** Number of rows ever added, and of live rows. */
  slots = 0;
  size = 0;
  /** Sums over live rows, in words. */
  totalLength = 0;
  totalWindowLength = 0;

  constructor(window: LexicalSettings["window"]) {
    this.#window = window;
  }

  exchange(columns: Columns): void {
    columns.arrays(this.bySlot);
    this.#namespaceNames = columns.words("namespaceNames", this.#namespaceNames);
    this.slots = columns.number("slots", this.slots);
    this.size = columns.number("size", this.size);
    this.totalLength = columns.number("totalLength", this.totalLength);
    this.totalWindowLength = columns.number("totalWindowLength", this.totalWindowLength);
  }

  get hasOneNamespace(): boolean {
    return this.#namespaceNames.length === 1;
  }

  /** Adds a row in the next slot. */
  add(length: number, namespace: string): void {
    const slot = this.slots++;
    this.size++;
    if (slot === this.bySlot.live.length) growAll(this.bySlot);
    this.bySlot.namespaces[slot] = this.#namespaceNumber(namespace);
    this.bySlot.live[slot] = 1;
    this.bySlot.lengths[slot] = length;
    this.totalLength += length;
    for (const [distance, weight] of this.#window) {
      this.#addToWindow(slot + distance, slot, weight);
      this.#addToWindow(slot, slot - distance, weight);
    }
  }

  remove(slot: number): void {
    this.totalLength -= this.bySlot.lengths[slot] as number;
    this.totalWindowLength -= this.bySlot.windowLengths[slot] as number;
    this.bySlot.live[slot] = 0;
    this.size--;
    for (const [distance, weight] of this.#window) this.#addToWindow(slot, slot - distance, -weight);
  }

  /** Adds the weighted length of `neighbour` to the window of `slot`, if both exist in one namespace. */
  #addToWindow(neighbour: number, slot: number, weight: number): void {
    if (Math.min(neighbour, slot) < 0 || Math.max(neighbour, slot) >= this.slots) return;
    if (this.bySlot.namespaces[neighbour] !== this.bySlot.namespaces[slot]) return;
    if (weight > 0 && this.bySlot.live[neighbour] !== 1) return;
    const length = weight * (this.bySlot.lengths[neighbour] as number);
    this.bySlot.windowLengths[slot] = (this.bySlot.windowLengths[slot] as number) + length;
    if (this.bySlot.live[slot] === 1) this.totalWindowLength += length;
  }

  #namespaceNumber(namespace: string): number {
    const known = this.#namespaceNames.indexOf(namespace);
    if (known >= 0) return known;
    this.#namespaceNames = [...this.#namespaceNames, namespace];
    return this.#namespaceNames.length - 1;
  }
}

/**
 * Adds up scores by slot. The arrays are kept from search to search and only touched cells are cleared, so the cost of
 * a search depends on its hits, not on the size of the index.
 */
export class ScoreSums {
  #scores = new Float32Array(256);
  #touched = new Uint32Array(256);
  #count = 0;
  #best = new BestOf(0);

  /** Makes room for slots below `slots`. All scores are 0 until something is added. */
  reserve(slots: number): void {
    if (slots <= this.#scores.length) return;
    this.#scores = grown(this.#scores, slots);
    this.#touched = grown(this.#touched, slots);
  }

  /**
   * Adds `weight * frequency / (frequency + halfScores[slot])` to each of the slots, which must differ, and clears their
   * frequencies, which must be positive.
   */
  addSaturated(slots: Uint32Array, frequencies: Float32Array, halfScores: Float32Array, weight: number): void {
    const sums = this.#scores;
    const touched = this.#touched;
    let count = this.#count;
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      const frequency = frequencies[slot] as number;
      frequencies[slot] = 0;
      const before = sums[slot] as number;
      if (before === 0) touched[count++] = slot;
      sums[slot] = before + (weight * frequency) / (frequency + (halfScores[slot] as number));
    }
    this.#count = count;
  }

  /** Returns the best `limit` slots without the excluded ones, best first, the higher of equals first. Clears all sums. */
  takeBest(limit: number, excluded: Iterable<number>): ScoredSlot[] {
    const sums = this.#scores;
    for (const slot of excluded) sums[slot] = 0;
    const touched = this.#touched;
    const count = this.#count;
    if (this.#best.capacity !== limit) this.#best = new BestOf(limit);
    const best = this.#best;
    let { floor } = best;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const score = sums[slot] as number;
      sums[slot] = 0;
      if (score === 0 || score < floor || !best.accepts(score, slot)) continue;
      best.offer(score, slot);
      floor = best.floor;
    }
    this.#count = 0;
    return best.take();
  }
}

export type LexicalSettings = typeof LEXICAL_SETTINGS;

/** The parameters of lexical ranking, tuned on the dev half of test/data/memory alone. */
export const LEXICAL_SETTINGS = {
  /** Neighbours whose words count for a row: their distance in slots and the weight of their words. */
  window: [
    [-1, 0.5],
    [1, 0.3],
    [-2, 0.35],
    [2, 0.15],
    [-3, 0.2],
  ] as readonly (readonly [distance: number, weight: number])[],
  /** Mean row length, in words, up to which the window counts in full. It counts proportionally less in longer rows. */
  windowWords: 14,
  /** Weight of a term that only means something like a word of the query. */
  relatedTermWeight: 0.55,
  /**
   * BM25's k1 (term frequency saturation) and b (length normalisation). k1 is high, because a word that neighbours
   * share is their topic; b is low, because long rows are long by what they hold.
   */
  saturation: 2,
  lengthNormalisation: 0.3,
  /** Terms of a text that are searched: its own words before related ones, the rarest first. */
  maxTerms: 40,
};
