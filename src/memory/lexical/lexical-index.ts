/**
 * lexical-index.ts -- finds rows by the words that they share with a query: BM25 with a window over neighbours.
 *
 * A row is scored together with the rows around it, because a question is answered in the next row and a name is in the
 * first of five. Postings hold each row's own words; the search adds those of the neighbours. (Expanded postings took
 * six times the memory.) Rows of another namespace are not neighbours.
 *
 * Slots are numbered from 0 without gaps. A removed row is never found and counts in no statistic; its postings stay.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import type { Columns } from "../snapshots/columns.ts";
import { LEXICAL_SETTINGS, type LexicalSettings } from "./lexical-settings.ts";
import { grown } from "./number-lists.ts";
import type { WordMeanings } from "./related-terms.ts";
import { RowStatistics } from "./row-statistics.ts";
import { ScoreSums } from "./score-sums.ts";
import { TermIndex } from "./term-index.ts";
import type { CountedTerms, Vocabulary } from "./vocabulary.ts";
import { NO_WORD } from "./word-set.ts";

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
    if (this.#rows.live[slot] !== 1) return;
    for (const term of terms)
      if (this.vocabulary.numberHashes[term] !== NO_WORD) this.#terms.addPosting(term, (slot << FREQUENCY_BITS) | 1);
  }

  /** `terms` must be those that the row was added with. */
  remove(slot: number, terms: Uint32Array): void {
    if (this.#rows.live[slot] !== 1) return;
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
        const count = this.#sumFrequencies(term);
        this.#sums.addSaturated(
          this.#touched.subarray(0, count),
          this.#frequencies,
          this.#halfScores,
          weight * highest,
        );
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

  /** Sums the term's frequencies per window into `#frequencies` and lists the slots in `#touched`. Returns their number. */
  #sumFrequencies(term: number): number {
    const postings = this.#terms.postings(term);
    const most = Math.min(postings.length, MAX_POSTINGS_OF_TERM) * (1 + this.#neighbours);
    if (this.#touched.length < most) this.#touched = grown(this.#touched, most);
    const frequencies = this.#frequencies;
    const touched = this.#touched;
    const { namespaces, live, slots, hasOneNamespace } = this.#rows;
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
    return to;
  }

  /** Fills `#halfScores`: BM25 lowers the scores of long rows, and here of rows with long neighbours. */
  #measureHalfScores(): void {
    const { saturation, lengthNormalisation } = this.#settings;
    const { lengths, windowLengths, size, slots, totalLength, totalWindowLength } = this.#rows;
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
      rowsWithTerm += other.#terms.documentFrequencyOfStem(this.#terms.stemOf(term));
    }
    return Math.log(1 + (rows - rowsWithTerm + 0.5) / (rowsWithTerm + 0.5));
  }
}
