/**
 * similar-terms.ts -- finds terms of similar spelling: those that share character n-grams of length 3 to 5.
 *
 * Each pair is compared once, when the later term is added: a comparison per row and query would be the most expensive part of
 * both.
 */
import type { Columns } from "../snapshots/columns.ts";
import { gramsOf } from "./grams.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { NumberMap } from "./number-map.ts";

export interface SimilarTerm {
  readonly term: number;
  /** 0 to 1: the Dice coefficient of the n-grams of both terms, or the cosine of their vectors. */
  readonly similarity: number;
}

const MIN_SIMILARITY = 0.42;
/** Similar terms kept per term, the first that were added. */
const MAX_SIMILAR = 8;
/** Later terms are not compared, so that a log full of random names stays cheap. */
export const MAX_COMPARED_TERMS = 60_000;
/** N-grams in more terms than this are ignored. */
const MAX_TERMS_OF_GRAM = 1_500;

export class SimilarTerms {
  readonly #listOfGram = new NumberMap();
  readonly #termsOfGram = new NumberLists();
  /** Number of n-grams per term; 0: the term is not compared. */
  #gramCounts = new Uint8Array(256);
  /** Scratch: shared n-grams per term, all 0 between two comparisons. */
  #shared = new Uint16Array(256);
  /** Number of similar terms per term; MAX_SIMILAR places for each, with the term and the number of shared n-grams. */
  #counts = new Uint8Array(256);
  #similar = new Uint32Array(256 * MAX_SIMILAR);
  #sharedGrams = new Uint8Array(256 * MAX_SIMILAR);

  exchange(columns: Columns): void {
    this.#listOfGram.exchange(columns.part("listOfGram"));
    this.#termsOfGram.exchange(columns.part("termsOfGram"));
    this.#gramCounts = columns.array("gramCounts", this.#gramCounts);
    this.#shared = columns.array("shared", this.#shared);
    this.#counts = columns.array("counts", this.#counts);
    this.#similar = columns.array("similar", this.#similar);
    this.#sharedGrams = columns.array("sharedGrams", this.#sharedGrams);
  }

  /** Adds the next term that may be compared, with its stem. Terms may be left out. */
  add(term: number, stem: string): void {
    if (term >= MAX_COMPARED_TERMS) return;
    this.#reserve(term + 1);
    const grams = gramsOf(stem);
    this.#gramCounts[term] = grams.length;
    for (const other of this.#compare(grams)) {
      this.#link(term, other.term, other.shared);
      this.#link(other.term, term, other.shared);
    }
    for (const gram of grams) {
      let list = this.#listOfGram.get(gram);
      if (list === undefined) {
        list = this.#termsOfGram.open();
        this.#listOfGram.set(gram, list);
      }
      this.#termsOfGram.push(list, term);
    }
  }

  /** Returns the terms similar to an added one. */
  of(term: number): readonly SimilarTerm[] {
    const grams = this.#gramCounts[term] as number;
    return Array.from({ length: this.#counts[term] ?? 0 }, (_, place) => {
      const at = term * MAX_SIMILAR + place;
      const other = this.#similar[at] as number;
      return { term: other, similarity: this.#similarity(other, this.#sharedGrams[at] as number, grams) };
    });
  }

  /** Returns the terms similar to any stem, most similar first. */
  find(stem: string): readonly SimilarTerm[] {
    return this.#compare(gramsOf(stem));
  }

  #compare(grams: readonly number[]): (SimilarTerm & { readonly shared: number })[] {
    const touched: number[] = [];
    for (const gram of grams) {
      const list = this.#listOfGram.get(gram);
      if (list === undefined || this.#termsOfGram.length(list) > MAX_TERMS_OF_GRAM) continue;
      for (const term of this.#termsOfGram.read(list)) {
        const before = this.#shared[term] as number;
        if (before === 0) touched.push(term);
        this.#shared[term] = before + 1;
      }
    }
    const similar: (SimilarTerm & { readonly shared: number })[] = [];
    for (const term of touched) {
      const shared = this.#shared[term] as number;
      const similarity = this.#similarity(term, shared, grams.length);
      this.#shared[term] = 0;
      if (similarity >= MIN_SIMILARITY) similar.push({ term, similarity, shared });
    }
    return similar.sort((a, b) => b.similarity - a.similarity || a.term - b.term).slice(0, MAX_SIMILAR);
  }

  #similarity(term: number, shared: number, grams: number): number {
    return (2 * shared) / (grams + (this.#gramCounts[term] as number));
  }

  #link(term: number, other: number, shared: number): void {
    const count = this.#counts[term] as number;
    if (count === MAX_SIMILAR) return;
    this.#similar[term * MAX_SIMILAR + count] = other;
    this.#sharedGrams[term * MAX_SIMILAR + count] = shared;
    this.#counts[term] = count + 1;
  }

  #reserve(terms: number): void {
    if (terms <= this.#gramCounts.length) return;
    this.#gramCounts = grown(this.#gramCounts, terms);
    this.#shared = grown(this.#shared, terms);
    this.#counts = grown(this.#counts, terms);
    this.#similar = grown(this.#similar, terms * MAX_SIMILAR);
    this.#sharedGrams = grown(this.#sharedGrams, terms * MAX_SIMILAR);
  }
}
