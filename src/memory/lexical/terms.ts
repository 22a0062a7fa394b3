/** terms.ts -- in which rows each term stands, and which terms a text is searched by. */
import type { LexicalSettings } from "./lexical-settings.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Words of a text that is short enough to be a question, where each spelling matters. */
const MAX_FORMS_COMPARED = 32;
/** Of an index, and of its rows: two such numbers fit into one that is exact. */
const MAX_TERMS = 2 ** 26;

/** Of a text. */
export interface WeightedTerm {
  readonly term: number;
  readonly weight: number;
}

export class Terms {
  readonly #settings: LexicalSettings;
  readonly #vocabulary = new Vocabulary();
  /** List n holds the rows with term n. */
  readonly #postings = new NumberLists();
  /** By term: rows that have it and were not withdrawn. */
  #counts = new Uint32Array(256);
  /** Scratch: by term its weight in the text that is looked at; all 0 between two. */
  #weights = new Float64Array(256);
  #picked = new Uint32Array(64);

  constructor(settings: LexicalSettings) {
    this.#settings = settings;
  }

  rowsWith(term: number): number {
    return this.#counts[term] as number;
  }

  /** The same by the word itself, for another index, whose terms have other numbers. */
  rowsWithStem(stem: string): number {
    return this.#counts[this.#vocabulary.findStem(stem)] ?? 0;
  }

  stemOf(term: number): string {
    return this.#vocabulary.stemOf(term);
  }

  /** In the order of posting, those of withdrawn rows too; good until the next call. */
  postings(term: number): Uint32Array {
    return this.#postings.read(term);
  }

  /** How often each term stands in a row's words; new ones get a number. */
  enter(words: readonly string[]): Map<number, number> {
    const counts = new Map<number, number>();
    for (const word of words) {
      const term = this.#vocabulary.enter(word);
      if (term >= 0) counts.set(term, (counts.get(term) ?? 0) + 1);
    }
    return counts;
  }

  post(term: number, posting: number): void {
    while (this.#postings.count <= term) this.#postings.open();
    this.#reserve(term + 1);
    this.#counts[term] = (this.#counts[term] as number) + 1;
    this.#postings.push(term, posting);
  }

  /** A row with these words counts no more. */
  withdraw(words: readonly string[]): void {
    for (const term of this.enter(words).keys()) this.#counts[term] = (this.#counts[term] as number) - 1;
  }

  /** Which terms a text is searched by, the rarest first: those that say most. It has each of its words once. */
  of(words: readonly string[]): readonly WeightedTerm[] {
    const count = this.#pickAll(words);
    const ranks = new Float64Array(count);
    for (let at = 0; at < count; at++) {
      const term = this.#picked[at] as number;
      ranks[at] = (this.#counts[term] as number) * MAX_TERMS + term;
    }
    // Made so that no function has to compare them.
    ranks.sort();
    const rarest: WeightedTerm[] = [];
    for (let at = 0; at < count; at++) {
      const term = termOf(ranks[at] as number);
      if (at < this.#settings.maxTerms) rarest.push({ term, weight: this.#weights[term] as number });
      this.#weights[term] = 0;
    }
    return rarest;
  }

  /**
   * The terms of a text; for a short text also those that are only spelled like its words. Returns how many were `#picked`;
   * each has its weight in `#weights`, all others have 0 there.
   */
  #pickAll(words: readonly string[]): number {
    const terms = this.#vocabulary.findAll(words);
    let count = 0;
    for (let at = 0; at < terms.length; at++) {
      const term = terms[at] as number;
      if (term >= 0 && (this.#counts[term] as number) > 0) count = this.#pick(term, 1, count);
    }
    return words.length <= MAX_FORMS_COMPARED ? this.#pickAlike(words, terms, count) : count;
  }

  #pickAlike(words: readonly string[], terms: Int32Array, picked: number): number {
    let count = picked;
    for (let at = 0; at < words.length; at++)
      for (const { term, likeness } of this.#vocabulary.alike(words[at] as string, terms[at] as number))
        if ((this.#counts[term] as number) > 0) count = this.#pick(term, this.#settings.alikeShare * likeness, count);
    return count;
  }

  /** Of several weights of a term the highest stays. Returns how many are picked. */
  #pick(term: number, weight: number, count: number): number {
    const before = this.#weights[term] as number;
    if (weight > before) this.#weights[term] = weight;
    if (before > 0) return count;
    if (count >= this.#picked.length) this.#picked = grown(this.#picked, count + 1);
    this.#picked[count] = term;
    return count + 1;
  }

  #reserve(terms: number): void {
    if (terms <= this.#counts.length) return;
    this.#counts = grown(this.#counts, terms);
    this.#weights = grown(this.#weights, terms);
  }
}

const termOf = (rank: number): number => rank - Math.floor(rank / MAX_TERMS) * MAX_TERMS;
