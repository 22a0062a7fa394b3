/** terms.ts -- in which rows each term stands, and which terms a text is searched by. */
import type { LexicalSettings } from "./lexical-settings.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Words of a text that is short enough to be a question, where each spelling matters. */
const MAX_FORMS_COMPARED = 32;

export class Terms {
  readonly #settings: LexicalSettings;
  readonly #vocabulary = new Vocabulary();
  /** List n holds the rows with term n. */
  readonly #postings = new NumberLists();
  /** By term: rows that have it and were not withdrawn. */
  #counts = new Uint32Array(256);

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
    if (term >= this.#counts.length) this.#counts = grown(this.#counts, term + 1);
    this.#counts[term] = (this.#counts[term] as number) + 1;
    this.#postings.push(term, posting);
  }

  /** A row with these words counts no more. */
  withdraw(words: readonly string[]): void {
    for (const term of this.enter(words).keys()) this.#counts[term] = (this.#counts[term] as number) - 1;
  }

  /** Which terms are searched for, those that say most first; `uses` is text, weight, text, weight. */
  of(texts: readonly (readonly string[])[]): { term: number; uses: number[] }[] {
    const usesOf = new Map<number, number[]>();
    for (const [text, words] of texts.entries()) {
      for (const [term, weight] of this.#rarest(words)) {
        const uses = usesOf.get(term);
        if (uses) uses.push(text, weight);
        else usesOf.set(term, [text, weight]);
      }
    }
    const terms = Array.from(usesOf, ([term, uses]) => ({ term, uses, rows: this.#counts[term] as number }));
    return terms.sort((a, b) => a.rows - b.rows || a.term - b.term);
  }

  /** The terms of a text that say most; for a short text also those that are only spelled like its words. */
  #rarest(words: readonly string[]): Iterable<readonly [term: number, weight: number]> {
    const weights = new Map<number, number>();
    const forms = new Set(words);
    for (const form of forms) {
      const term = this.#vocabulary.find(form);
      if (term >= 0 && (this.#counts[term] as number) > 0) weights.set(term, 1);
    }
    if (forms.size <= MAX_FORMS_COMPARED) this.#addAlike(forms, weights);
    if (weights.size <= this.#settings.maxTerms) return weights;
    return [...weights]
      .sort(([a], [b]) => (this.#counts[a] as number) - (this.#counts[b] as number) || a - b)
      .slice(0, this.#settings.maxTerms);
  }

  #addAlike(forms: ReadonlySet<string>, weights: Map<number, number>): void {
    for (const form of forms)
      for (const { term, likeness } of this.#vocabulary.alike(form)) {
        const weight = this.#settings.alikeShare * likeness;
        if ((this.#counts[term] as number) > 0 && weight > (weights.get(term) ?? 0)) weights.set(term, weight);
      }
  }
}
