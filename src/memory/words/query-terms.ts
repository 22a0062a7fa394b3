/** query-terms.ts -- the postings and document frequencies of all terms, and the terms that a text is searched by. */
import { keepNewest, rememberBy } from "#util/caches.ts";
import { hashOf } from "#util/words.ts";
import type { Columns } from "../columns.ts";
import { grown, NumberLists } from "./flat-lists.ts";
import { isStopWord, Vocabulary } from "./vocabulary.ts";
import type { LexicalSettings } from "./word-index.ts";
import type { WordTable } from "./word-table.ts";

/** Longest text, in words, that also matches terms of related meaning: a short question may have none of the answer's words. */
const MAX_WORDS_WITH_RELATED = 32;
/** Bound of term numbers and row counts: two such numbers fit exactly into one double. */
const MAX_TERMS = 2 ** 26;

/** The place of a word that the table of meanings does not have. */
const NO_PLACE = -1;

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

  /** In the order of `addPosting`, removed rows included. Valid until the next call. */
  postings(term: number): Uint32Array {
    return this.#postings.read(term);
  }

  addPosting(term: number, posting: number): void {
    while (this.#postings.count <= term) this.#postings.open();
    if (term >= this.#documentFrequencies.length)
      this.#documentFrequencies = grown(this.#documentFrequencies, term + 1);
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
  weighTerms(words: readonly string[]) {
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
    const chosen: { readonly term: number; readonly weight: number }[] = [];
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

  #matchRelated(words: readonly string[], terms: Int32Array, matched: number): number {
    const related = this.#related;
    if (!related) return matched;
    let count = matched;
    for (const [at, place] of related.placesOf(words).entries()) {
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
}

const termOfKey = (key: number): number => key - Math.floor(key / MAX_TERMS) * MAX_TERMS;

export type WordMeanings = Pick<WordTable, "dimensions" | "placeOf" | "vectorAt" | "cosine">;

interface RelatedTerm {
  readonly term: number;
  /** The cosine of the vectors of both words, 0 to 1. */
  readonly similarity: number;
}

const MIN_COSINE = 0.5;
/** Related terms per word. With 1 fewer questions about the traces of test/data/memory find their row: R@10 0.83, not 0.85. */
const MAX_RELATED = 5;
/** Later terms are not compared, so that a log full of random names stays cheap. */
const MAX_COMPARED_TERMS = 60_000;
/** Signs that may differ, of 100. Of unrelated words about 50 do. */
const MAX_OTHER_SIGNS = 42;
const SIGN_BITS = 32;
/** The words of one query, of up to fifteen short texts, fit in: most come again at the next step. */
const MAX_CACHED_WORDS = 512;

interface CachedTerms {
  related: readonly RelatedTerm[];
  /** Known terms that the word was compared with. */
  compared: number;
}

/**
 * Finds the terms of an index that mean something like a word of a query, by the table of word vectors. A search by the
 * vectors of whole texts misses the one related word of a long row; this finds it. Terms count from a cosine of 0.5.
 * Before a cosine the signs of both vectors are compared, which rules out 92 % of the terms and 2 % of the related
 * ones: with 60,000 terms a new word of a query costs 1 ms instead of 14 ms.
 */
export class RelatedTerms {
  readonly #meanings: WordMeanings;
  readonly #vocabulary: Vocabulary;
  readonly #signWords: number;
  /** Terms of the vocabulary that were looked up in the table. */
  #readTerms = 0;
  /** The terms that are in the table, with their places there, and the signs of their vectors as bits. */
  #known = new Uint32Array(256);
  #places = new Uint32Array(256);
  #signs: Uint32Array;
  #knownCount = 0;
  readonly #cached = new Map<number, CachedTerms>();

  constructor(vocabulary: Vocabulary, meanings: WordMeanings) {
    this.#vocabulary = vocabulary;
    this.#meanings = meanings;
    this.#signWords = Math.ceil(meanings.dimensions / SIGN_BITS);
    this.#signs = new Uint32Array(256 * this.#signWords);
  }

  /**
   * Returns the place of each word in the table, NO_PLACE for a word of no topic or none of the table. None for a text whose words
   * mostly have no meaning: it is code or in another language. Cached by the identity of the list.
   */
  readonly placesOf = rememberBy((words: readonly string[]): readonly number[] => {
    const places = words.map((word) => (isStopWord(word) ? NO_PLACE : this.#meanings.placeOf(hashOf(word))));
    const isContent = (word: string): boolean => !isStopWord(word) && !/\d/.test(word);
    const known = words.filter((word, at) => places[at] !== NO_PLACE && isContent(word)).length;
    return 2 * known < words.filter(isContent).length ? [] : places;
  });

  /** Returns the terms that mean something like the word at this place, without its `own` term, most related first. */
  find(place: number, own: number): readonly RelatedTerm[] {
    this.#readNewTerms();
    const cached: CachedTerms = this.#cached.get(place) ?? { related: [], compared: 0 };
    if (cached.compared < this.#knownCount) {
      const found = [...cached.related, ...this.#compare(place, cached.compared)];
      found.sort((a, b) => b.similarity - a.similarity || a.term - b.term);
      // Keeps one more, because the word's own term may be among them.
      cached.related = found.slice(0, MAX_RELATED + 1);
      cached.compared = this.#knownCount;
      keepNewest(this.#cached, place, cached, MAX_CACHED_WORDS);
    }
    return cached.related.filter(({ term }) => term !== own).slice(0, MAX_RELATED);
  }

  #readNewTerms(): void {
    const end = Math.min(this.#vocabulary.size, MAX_COMPARED_TERMS);
    for (; this.#readTerms < end; this.#readTerms++) {
      const place = this.#vocabulary.isStopWord(this.#readTerms)
        ? NO_PLACE
        : this.#meanings.placeOf(this.#vocabulary.byTerm.formHashes[this.#readTerms] as number);
      if (place < 0) continue;
      const at = this.#knownCount++;
      if (at >= this.#known.length) {
        this.#known = grown(this.#known, at + 1);
        this.#places = grown(this.#places, at + 1);
        this.#signs = grown(this.#signs, this.#known.length * this.#signWords);
      }
      this.#known[at] = this.#readTerms;
      this.#places[at] = place;
      this.#signs.set(this.#signsOf(place), at * this.#signWords);
    }
  }

  #compare(place: number, from: number): readonly RelatedTerm[] {
    const signs = this.#signsOf(place);
    const found: RelatedTerm[] = [];
    for (let at = from; at < this.#knownCount; at++) {
      if (this.#countOtherSigns(signs, at) > MAX_OTHER_SIGNS) continue;
      const similarity = this.#meanings.cosine(place, this.#places[at] as number);
      if (similarity >= MIN_COSINE) found.push({ term: this.#known[at] as number, similarity });
    }
    return found;
  }

  #signsOf(place: number): Uint32Array {
    const signs = new Uint32Array(this.#signWords);
    const vector = this.#meanings.vectorAt(place);
    for (let at = 0; at < vector.length; at++)
      if ((vector[at] as number) > 0) signs[at >>> 5] = (signs[at >>> 5] as number) | (1 << (at & 31));
    return signs;
  }

  #countOtherSigns(signs: Uint32Array, known: number): number {
    let count = 0;
    for (let at = 0; at < signs.length; at++)
      count += countBits((signs[at] as number) ^ (this.#signs[known * signs.length + at] as number));
    return count;
  }
}

/** Counts the bits that are set in a 32-bit number (Warren, Hacker's Delight, section 5-1). */
function countBits(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
