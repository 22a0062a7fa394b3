/** term-index.ts -- the postings and document frequencies of all terms, and the terms that a text is searched by. */
import type { Columns } from "../snapshots/columns.ts";
import type { LexicalSettings } from "./lexical-settings.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { RelatedTerms, type WordMeanings } from "./related-terms.ts";
import { isStopWord } from "./stop-words.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Longest text, in words, that also matches terms of related meaning: a short question may have none of the answer's words. */
const MAX_WORDS_WITH_RELATED = 32;
/** Bound of term numbers and row counts: two such numbers fit exactly into one double. */
const MAX_TERMS = 2 ** 26;

/** The place of a word that the table of meanings does not have. */
const NO_PLACE = -1;

/** A term that a text is searched by. */
export interface WeightedTerm {
  readonly term: number;
  readonly weight: number;
}

export class TermIndex {
  readonly #settings: LexicalSettings;
  readonly vocabulary = new Vocabulary();
  readonly #related: RelatedTerms | undefined;
  /** List n holds the postings of term n. */
  readonly #postings = new NumberLists();
  #documentFrequencies = new Uint32Array(256);
  /** Scratch: weight of each term in the current text, all 0 between two texts. */
  #weights = new Float64Array(256);
  /** Scratch: the terms of the current text. */
  #matched = new Uint32Array(64);

  constructor(settings: LexicalSettings, meanings?: WordMeanings) {
    this.#settings = settings;
    this.#related = meanings && new RelatedTerms(this.vocabulary, meanings);
  }

  exchange(columns: Columns): void {
    this.vocabulary.exchange(columns.part("vocabulary"));
    this.#postings.exchange(columns.part("postings"));
    this.#documentFrequencies = columns.array("documentFrequencies", this.#documentFrequencies);
  }

  /** Number of live rows with this term. */
  documentFrequency(term: number): number {
    return this.#documentFrequencies[term] as number;
  }

  /** For another index, whose terms have other numbers. */
  documentFrequencyOfStem(stem: string): number {
    return this.#documentFrequencies[this.vocabulary.findStem(stem)] ?? 0;
  }

  stemOf(term: number): string {
    return this.vocabulary.stemOf(term);
  }

  /** In the order of `addPosting`, removed rows included. Valid until the next call. */
  postings(term: number): Uint32Array {
    return this.#postings.read(term);
  }

  addPosting(term: number, posting: number): void {
    while (this.#postings.count <= term) this.#postings.open();
    this.#reserve(term + 1);
    this.#documentFrequencies[term] = (this.#documentFrequencies[term] as number) + 1;
    this.#postings.push(term, posting);
  }

  /** Lowers the document frequencies by a row with these terms. */
  removeRow(terms: Uint32Array): void {
    for (const term of terms)
      if (!this.vocabulary.isStopWord(term))
        this.#documentFrequencies[term] = (this.#documentFrequencies[term] as number) - 1;
  }

  /**
   * Returns the terms that a text is searched by: those of its own words, rarest first, then those of related meaning, rarest first.
   * `words` must be distinct.
   */
  weighTerms(words: readonly string[]): readonly WeightedTerm[] {
    if (this.#weights.length < this.vocabulary.size) this.#weights = grown(this.#weights, this.vocabulary.size);
    const terms = this.vocabulary.findTerms(words);
    const own = this.#matchOwn(terms);
    const count = words.length > MAX_WORDS_WITH_RELATED ? own : this.#matchRelated(words, terms, own);
    const keys = new Float64Array(count);
    for (let at = 0; at < count; at++) {
      const term = this.#matched[at] as number;
      keys[at] = (this.#documentFrequencies[term] as number) * MAX_TERMS + term;
    }
    // Numeric keys sort without a comparison function, which would be slow.
    keys.subarray(0, own).sort();
    keys.subarray(own).sort();
    const chosen: WeightedTerm[] = [];
    for (let at = 0; at < count; at++) {
      const term = termOfKey(keys[at] as number);
      if (at < this.#settings.maxTerms) chosen.push({ term, weight: this.#weights[term] as number });
      this.#weights[term] = 0;
    }
    return chosen;
  }

  /** Lists the own terms of a text in `#matched` with their `#weights`. Returns their number. */
  #matchOwn(terms: Int32Array): number {
    let count = 0;
    for (let at = 0; at < terms.length; at++) {
      const term = terms[at] as number;
      if (term >= 0 && (this.#documentFrequencies[term] as number) > 0) count = this.#match(term, 1, count);
    }
    return count;
  }

  /** Skips a text whose words mostly have no meaning: it is code or in another language. */
  #matchRelated(words: readonly string[], terms: Int32Array, matched: number): number {
    const related = this.#related;
    if (!related) return matched;
    const places = words.map((word) => (isStopWord(word) ? NO_PLACE : related.placeOf(word)));
    const content = [...words.keys()].filter((at) => {
      const word = words[at] as string;
      return !isStopWord(word) && !/\d/.test(word);
    });
    if (2 * content.filter((at) => places[at] !== NO_PLACE).length < content.length) return matched;
    let count = matched;
    for (const [at, place] of places.entries()) {
      if (place === NO_PLACE) continue;
      for (const { term, similarity } of related.find(place, terms[at] as number))
        if ((this.#documentFrequencies[term] as number) > 0)
          count = this.#match(term, this.#settings.relatedTermWeight * similarity, count);
    }
    return count;
  }

  /** Keeps the highest weight of a term. Returns the new number of matched terms. */
  #match(term: number, weight: number, count: number): number {
    const before = this.#weights[term] as number;
    if (weight > before) this.#weights[term] = weight;
    if (before > 0) return count;
    if (count >= this.#matched.length) this.#matched = grown(this.#matched, count + 1);
    this.#matched[count] = term;
    return count + 1;
  }

  #reserve(terms: number): void {
    if (terms <= this.#documentFrequencies.length) return;
    this.#documentFrequencies = grown(this.#documentFrequencies, terms);
  }
}

const termOfKey = (key: number): number => key - Math.floor(key / MAX_TERMS) * MAX_TERMS;
