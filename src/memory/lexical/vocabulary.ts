/**
 * vocabulary.ts -- numbers the words of an index as terms and finds terms of similar spelling.
 *
 * Words of one stem are one term; stop words are terms too, which no search finds. Words that stemming does not unite (`decide` and `decision`, parts of a German
 * compound, typing errors) are similar when they share character n-grams of length 3 to 5. Each pair is compared once,
 * when the later word is added: a comparison per row and query would be the most expensive part of both.
 */
import { hashOf, stemOf } from "#util/words.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { NumberMap } from "./number-map.ts";
import { isStopWord } from "./stop-words.ts";
import { hashLetters, hashNumber } from "./word-set.ts";

export interface SimilarTerm {
  readonly term: number;
  /** Dice coefficient of the n-grams, at least `MIN_SIMILARITY`. */
  readonly similarity: number;
}

const MIN_SIMILARITY = 0.42;
/** Longer words are data or compounds; only their beginning is compared. */
const MAX_COMPARED_CHARS = 24;
/** Similar terms kept per term, the first that were added. */
const MAX_SIMILAR = 8;
/** Later terms are not compared, so that a log full of random names stays cheap. */
const MAX_COMPARED_TERMS = 60_000;
/** N-grams in more terms than this are ignored. */
const MAX_TERMS_OF_GRAM = 1_500;
/** Word forms whose term is cached; the cache is emptied when full. */
const MAX_CACHED_FORMS = 16_384;
const STOP = -1;
const UNKNOWN = -2;
const NONE: readonly SimilarTerm[] = [];

/** The distinct terms of a text in the order of their first words, and how often each occurs. */
export interface CountedTerms {
  readonly terms: Uint32Array;
  readonly frequencies: Uint32Array;
}

/** A cached look-up: whether all words were known, and the size of the vocabulary at that time. */
interface TermLookup {
  readonly terms: Int32Array;
  readonly isComplete: boolean;
  readonly size: number;
}

export class Vocabulary {
  readonly #termOfStem = new Map<string, number>();
  readonly #termOfStopWord = new Map<string, number>();
  readonly #stems: string[] = [];
  readonly #termOfForm = new Map<string, number>();
  /** By term, see `letterHashes` and `numberHashes`. */
  #letterHashes = new Uint32Array(256);
  #numberHashes = new Uint32Array(256);
  #areStopWords = new Uint8Array(256);
  /** Scratch of `countTerms`; `#places` holds the place of each term in it plus 1, all 0 between two texts. */
  #places = new Uint32Array(256);
  #counted = new Uint32Array(64);
  #frequencies = new Uint32Array(64);
  readonly #lookups = new WeakMap<readonly string[], TermLookup>();
  readonly #listOfGram = new NumberMap();
  readonly #termsOfGram = new NumberLists();
  /** Number of n-grams per term; 0: the term is not compared. */
  #gramCounts = new Uint8Array(256);
  /** Scratch: shared n-grams per term, all 0 between two comparisons. */
  #shared = new Uint16Array(256);
  readonly #similar = new Map<number, SimilarTerm[]>();

  get size(): number {
    return this.#stems.length;
  }

  /** By term: hash of the stem of its word without digits, 0 when it has no letters. Valid until a word is added. */
  get letterHashes(): Uint32Array {
    return this.#letterHashes;
  }

  /** By term: hash of a term with digits, 0 for others. Valid until a word is added. */
  get numberHashes(): Uint32Array {
    return this.#numberHashes;
  }

  isStopWord(term: number): boolean {
    return this.#areStopWords[term] === 1;
  }

  /** Returns the terms of words of `wordsOf`; new words become terms. Valid until the next call. */
  countTerms(words: readonly string[]): CountedTerms {
    if (words.length > this.#counted.length) {
      this.#counted = grown(this.#counted, words.length);
      this.#frequencies = grown(this.#frequencies, words.length);
    }
    const [counted, frequencies] = [this.#counted, this.#frequencies];
    let count = 0;
    for (let at = 0; at < words.length; at++) {
      const term = this.#addWord(words[at] as string);
      const place = this.#places[term] as number;
      if (place > 0) {
        frequencies[place - 1] = (frequencies[place - 1] as number) + 1;
        continue;
      }
      counted[count] = term;
      frequencies[count] = 1;
      this.#places[term] = ++count;
    }
    for (let at = 0; at < count; at++) this.#places[counted[at] as number] = 0;
    return { terms: counted.subarray(0, count), frequencies: frequencies.subarray(0, count) };
  }

  #addWord(form: string): number {
    const cached = this.#termOfForm.get(form);
    if (cached !== undefined) return cached;
    const term = isStopWord(form) ? this.#addStopWord(form) : this.#addStem(form);
    this.#cache(form, term);
    return term;
  }

  /** Returns the term of a word, below 0 for a stop word or an unknown word. */
  findTerm(form: string): number {
    const cached = this.#termOfForm.get(form);
    if (cached !== undefined) return this.isStopWord(cached) ? STOP : cached;
    if (isStopWord(form)) return STOP;
    const term = this.#termOfStem.get(stemOf(form)) ?? UNKNOWN;
    if (term !== UNKNOWN) this.#cache(form, term);
    return term;
  }

  /** As `findTerm`, for each word. Cached by the identity of the list, because most texts are searched for again. */
  findTerms(forms: readonly string[]): Int32Array {
    const cached = this.#lookups.get(forms);
    if (cached && (cached.isComplete || cached.size === this.size)) return cached.terms;
    const terms = new Int32Array(forms.length);
    for (let at = 0; at < forms.length; at++) terms[at] = this.findTerm(forms[at] as string);
    this.#lookups.set(forms, { terms, isComplete: !terms.includes(UNKNOWN), size: this.size });
    return terms;
  }

  /** Returns a number below 0 for an unknown stem. */
  findStem(stem: string): number {
    return this.#termOfStem.get(stem) ?? UNKNOWN;
  }

  stemOf(term: number): string {
    return this.#stems[term] as string;
  }

  /** Returns the terms spelled like a word, without its own. `term` must be the result of `findTerm`. Adds nothing. */
  findSimilar(form: string, term: number): readonly SimilarTerm[] {
    return term === UNKNOWN ? this.#compare(stemOf(form)) : (this.#similar.get(term) ?? NONE);
  }

  #cache(form: string, term: number): void {
    if (this.#termOfForm.size >= MAX_CACHED_FORMS) this.#termOfForm.clear();
    this.#termOfForm.set(form, term);
  }

  #addStem(form: string): number {
    const stem = stemOf(form);
    const known = this.#termOfStem.get(stem);
    if (known !== undefined) return known;
    const term = this.#addTerm(stem);
    this.#termOfStem.set(stem, term);
    if (term < MAX_COMPARED_TERMS) this.#linkSimilar(term, stem);
    return term;
  }

  #addStopWord(form: string): number {
    const known = this.#termOfStopWord.get(form);
    if (known !== undefined) return known;
    const term = this.#addTerm(stemOf(form));
    this.#termOfStopWord.set(form, term);
    this.#areStopWords[term] = 1;
    return term;
  }

  #addTerm(stem: string): number {
    const term = this.#stems.push(stem) - 1;
    if (term >= this.#places.length) {
      this.#places = grown(this.#places, term + 1);
      this.#letterHashes = grown(this.#letterHashes, term + 1);
      this.#numberHashes = grown(this.#numberHashes, term + 1);
      this.#areStopWords = grown(this.#areStopWords, term + 1);
    }
    this.#letterHashes[term] = hashLetters(stem);
    this.#numberHashes[term] = hashNumber(stem);
    return term;
  }

  #linkSimilar(term: number, stem: string): void {
    if (term >= this.#gramCounts.length) {
      this.#gramCounts = grown(this.#gramCounts, term + 1);
      this.#shared = grown(this.#shared, term + 1);
    }
    const similar = this.#compare(stem);
    if (similar.length > 0) this.#similar.set(term, similar);
    for (const { term: other, similarity } of similar) {
      const ofOther = this.#similar.get(other);
      if (!ofOther) this.#similar.set(other, [{ term, similarity }]);
      else if (ofOther.length < MAX_SIMILAR) ofOther.push({ term, similarity });
    }
    const grams = gramsOf(stem);
    this.#gramCounts[term] = grams.length;
    for (const gram of grams) {
      let list = this.#listOfGram.get(gram);
      if (list === undefined) {
        list = this.#termsOfGram.open();
        this.#listOfGram.set(gram, list);
      }
      this.#termsOfGram.push(list, term);
    }
  }

  /** Returns the terms spelled like `stem`, most similar first. */
  #compare(stem: string): SimilarTerm[] {
    const grams = gramsOf(stem);
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
    const similar: SimilarTerm[] = [];
    for (const term of touched) {
      const similarity = (2 * (this.#shared[term] as number)) / (grams.length + (this.#gramCounts[term] as number));
      this.#shared[term] = 0;
      if (similarity >= MIN_SIMILARITY) similar.push({ term, similarity });
    }
    return similar.sort((a, b) => b.similarity - a.similarity || a.term - b.term).slice(0, MAX_SIMILAR);
  }
}

/** Returns hashes of the distinct n-grams of length 3 to 5, word ends marked; none for numbers and the shortest words. */
function gramsOf(stem: string): number[] {
  if (stem.length < 3 || /\d/.test(stem)) return [];
  const marked = `^${stem.slice(0, MAX_COMPARED_CHARS)}$`;
  const grams = new Set<number>();
  for (let length = 3; length <= 5; length++)
    for (let at = 0; at + length <= marked.length; at++) grams.add(hashOf(marked.slice(at, at + length)));
  return [...grams];
}
