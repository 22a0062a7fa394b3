/**
 * vocabulary.ts -- the words that an index has met, as numbers, and which of them are spelled alike.
 *
 * Words of one family meet in their stem. Words that a stem does not bring together (`decide` and `decision`, the parts of a
 * German compound, a slip of the pen) meet by the character n-grams of 3 to 5 that they share. Those are
 * compared once for each pair, when the later of the two is met for the first time: at each row and each
 * query it would be the dearest part of both.
 */

import { hashOf, stemOf } from "#util/words.ts";
import { grown, NumberLists } from "./number-lists.ts";
import { isStopWord } from "./stop-words.ts";

/** A word that stands beside another in the sense that it is spelled like it. */
export interface Alike {
  readonly term: number;
  /** Share of the n-grams that they have in common (Dice), above `LEAST_LIKENESS`. */
  readonly likeness: number;
}

const LEAST_LIKENESS = 0.42;
/** Longer words are data or compounds; their beginning is compared. */
const MAX_COMPARED_CHARS = 24;
/** Of the words that are spelled alike, these many are kept: the first that were met. */
const MAX_ALIKE = 8;
/** Beyond this many words, new ones are no longer compared, so that a log full of random names stays affordable. */
const MAX_COMPARED_TERMS = 60_000;
/** An n-gram in more words than this tells nothing. */
const MAX_TERMS_OF_GRAM = 1_500;
/** Word forms whose term is kept ready; emptied when full. */
const MAX_KNOWN_FORMS = 16_384;
const STOP = -1;
const UNKNOWN = -2;
const NONE: readonly Alike[] = [];

/** Words that were looked up: whether all were known, and how many terms there were then. */
interface FoundTerms {
  readonly terms: Int32Array;
  readonly isWhole: boolean;
  readonly size: number;
}

export class Vocabulary {
  readonly #termOfStem = new Map<string, number>();
  readonly #stems: string[] = [];
  readonly #termOfForm = new Map<string, number>();
  readonly #foundTerms = new WeakMap<readonly string[], FoundTerms>();
  readonly #listOfGram = new Map<number, number>();
  readonly #termsOfGram = new NumberLists();
  /** By term: how many n-grams it has; 0 when it is not compared. */
  #gramCounts = new Uint8Array(256);
  #shared = new Uint16Array(256);
  readonly #alike = new Map<number, Alike[]>();

  get size(): number {
    return this.#termOfStem.size;
  }

  /** The term of a word as `wordsOf` gives it, entered when it is new; -1 for a word that says nothing. */
  enter(form: string): number {
    const known = this.#termOfForm.get(form);
    if (known !== undefined) return known;
    const term = isStopWord(form) ? STOP : this.#enterStem(stemOf(form));
    this.#keep(form, term);
    return term;
  }

  /** The term of a word, below 0 for one that was never entered or says nothing. */
  find(form: string): number {
    const known = this.#termOfForm.get(form);
    if (known !== undefined) return known;
    const term = isStopWord(form) ? STOP : (this.#termOfStem.get(stemOf(form)) ?? UNKNOWN);
    if (term !== UNKNOWN) this.#keep(form, term);
    return term;
  }

  /** The same for each of the words. What was found is kept as long as the list is: most texts are searched for again. */
  findAll(forms: readonly string[]): Int32Array {
    const known = this.#foundTerms.get(forms);
    if (known && (known.isWhole || known.size === this.size)) return known.terms;
    const terms = new Int32Array(forms.length);
    for (let at = 0; at < forms.length; at++) terms[at] = this.find(forms[at] as string);
    this.#foundTerms.set(forms, { terms, isWhole: !terms.includes(UNKNOWN), size: this.size });
    return terms;
  }

  /** Below 0 for one that was never entered. */
  findStem(stem: string): number {
    return this.#termOfStem.get(stem) ?? UNKNOWN;
  }

  stemOf(term: number): string {
    return this.#stems[term] as string;
  }

  /** What is spelled like a word with this term, as `find` gives it; the word itself is not among it, and nothing is entered. */
  alike(form: string, term: number): readonly Alike[] {
    return term === UNKNOWN ? this.#compare(stemOf(form)) : (this.#alike.get(term) ?? NONE);
  }

  #keep(form: string, term: number): void {
    if (this.#termOfForm.size >= MAX_KNOWN_FORMS) this.#termOfForm.clear();
    this.#termOfForm.set(form, term);
  }

  #enterStem(stem: string): number {
    const known = this.#termOfStem.get(stem);
    if (known !== undefined) return known;
    const term = this.#termOfStem.size;
    this.#termOfStem.set(stem, term);
    this.#stems.push(stem);
    if (term < MAX_COMPARED_TERMS) this.#link(term, stem);
    return term;
  }

  #link(term: number, stem: string): void {
    if (term >= this.#gramCounts.length) {
      this.#gramCounts = grown(this.#gramCounts, term + 1);
      this.#shared = grown(this.#shared, term + 1);
    }
    const alike = this.#compare(stem);
    if (alike.length > 0) this.#alike.set(term, alike);
    for (const { term: other, likeness } of alike) {
      const ofOther = this.#alike.get(other);
      if (!ofOther) this.#alike.set(other, [{ term, likeness }]);
      else if (ofOther.length < MAX_ALIKE) ofOther.push({ term, likeness });
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

  /** Terms spelled like `stem`, most alike first. */
  #compare(stem: string): Alike[] {
    const grams = gramsOf(stem);
    const met: number[] = [];
    for (const gram of grams) {
      const list = this.#listOfGram.get(gram);
      if (list === undefined || this.#termsOfGram.length(list) > MAX_TERMS_OF_GRAM) continue;
      for (const term of this.#termsOfGram.read(list)) {
        const before = this.#shared[term] as number;
        if (before === 0) met.push(term);
        this.#shared[term] = before + 1;
      }
    }
    const alike: Alike[] = [];
    for (const term of met) {
      const likeness = (2 * (this.#shared[term] as number)) / (grams.length + (this.#gramCounts[term] as number));
      this.#shared[term] = 0;
      if (likeness >= LEAST_LIKENESS) alike.push({ term, likeness });
    }
    return alike.sort((a, b) => b.likeness - a.likeness || a.term - b.term).slice(0, MAX_ALIKE);
  }
}

/** Hashes of the n-grams of 3 to 5, each once, with the word's ends marked; none for numbers and the shortest words. */
function gramsOf(stem: string): number[] {
  if (stem.length < 3 || /\d/.test(stem)) return [];
  const marked = `^${stem.slice(0, MAX_COMPARED_CHARS)}$`;
  const grams = new Set<number>();
  for (let length = 3; length <= 5; length++)
    for (let at = 0; at + length <= marked.length; at++) grams.add(hashOf(marked.slice(at, at + length)));
  return [...grams];
}
