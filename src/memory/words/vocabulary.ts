/**
 * vocabulary.ts -- numbers the words of an index as terms. Words of one stem are one term; stop words are terms too,
 * which no search finds. Words that stemming does not unite, such as the parts of a German compound, are different
 * terms.
 */
import { hashOf, stemOf } from "#util/words.ts";
import type { Columns } from "../columns.ts";
import { growAll, grown, NO_ITEM, NumberChains } from "./flat-lists.ts";

/** Word forms whose term is cached; the cache is emptied when full. */
const MAX_CACHED_FORMS = 16_384;
const STOP = -2;

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
  /** Its words are the stems of the terms; those of stop words are hidden. */
  readonly #stems = new WordList();
  /** By stop word: its term plus 1, 0 for none. */
  #termsOfStopWords = new Uint32Array(STOP_WORD_COUNT);
  readonly #termOfForm = new Map<string, number>();
  /** Each array is valid until a word is added. */
  readonly byTerm = {
    /** Hash of the stem of its word without digits, 0 when it has no letters. */
    letterHashes: new Uint32Array(256),
    /** Hash of a term with digits, 0 for others. */
    numberHashes: new Uint32Array(256),
    /** Hash of the first word that came with this stem. */
    formHashes: new Uint32Array(256),
    areStopWords: new Uint8Array(256),
    /** Scratch of `countTerms`: its place in it plus 1, 0 between two texts. */
    places: new Uint32Array(256),
  };
  /** Scratch of `countTerms`. */
  #counted = new Uint32Array(64);
  #frequencies = new Uint32Array(64);
  readonly #lookups = new WeakMap<readonly string[], TermLookup>();

  get size(): number {
    return this.#stems.count;
  }

  exchange(columns: Columns): void {
    this.#stems.exchange(columns.part("stems"));
    this.#termsOfStopWords = columns.array("termsOfStopWords", this.#termsOfStopWords);
    columns.arrays(this.byTerm);
  }

  isStopWord(term: number): boolean {
    return this.byTerm.areStopWords[term] === 1;
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
      const place = this.byTerm.places[term] as number;
      if (place > 0) {
        frequencies[place - 1] = (frequencies[place - 1] as number) + 1;
        continue;
      }
      counted[count] = term;
      frequencies[count] = 1;
      this.byTerm.places[term] = ++count;
    }
    for (let at = 0; at < count; at++) this.byTerm.places[counted[at] as number] = 0;
    return { terms: counted.subarray(0, count), frequencies: frequencies.subarray(0, count) };
  }

  #addWord(form: string): number {
    const cached = this.#termOfForm.get(form);
    if (cached !== undefined) return cached;
    const stopWord = STOP_WORD_NUMBERS.get(form);
    const term = stopWord === undefined ? this.#addStem(form) : this.#addStopWord(form, stopWord);
    this.#cache(form, term);
    return term;
  }

  /** Returns the term of a word, below 0 for a stop word or an unknown word. */
  findTerm(form: string): number {
    const cached = this.#termOfForm.get(form);
    if (cached !== undefined) return this.isStopWord(cached) ? STOP : cached;
    if (isStopWord(form)) return STOP;
    const term = this.findStem(stemOf(form));
    if (term !== NO_ITEM) this.#cache(form, term);
    return term;
  }

  /** As `findTerm`, for each word. Cached by the identity of the list, because most texts are searched for again. */
  findTerms(forms: readonly string[]): Int32Array {
    const cached = this.#lookups.get(forms);
    if (cached && (cached.isComplete || cached.size === this.size)) return cached.terms;
    const terms = cached?.terms ?? new Int32Array(forms.length).fill(NO_ITEM);
    for (let at = 0; at < forms.length; at++) if (terms[at] === NO_ITEM) terms[at] = this.findTerm(forms[at] as string);
    this.#lookups.set(forms, { terms, isComplete: !terms.includes(NO_ITEM), size: this.size });
    return terms;
  }

  /** Returns a number below 0 for an unknown stem. */
  findStem(stem: string): number {
    return this.#stems.find(stem);
  }

  stemOf(term: number): string {
    return this.#stems.at(term);
  }

  #cache(form: string, term: number): void {
    // Most numbers come once, and would fill the cache.
    if (/\d/.test(form)) return;
    if (this.#termOfForm.size >= MAX_CACHED_FORMS) this.#termOfForm.clear();
    this.#termOfForm.set(form, term);
  }

  #addStem(form: string): number {
    const stem = stemOf(form);
    const known = this.#stems.find(stem);
    if (known !== NO_ITEM) return known;
    const term = this.#addTerm(stem, false);
    this.byTerm.formHashes[term] = hashOf(form);
    return term;
  }

  #addStopWord(form: string, stopWord: number): number {
    const known = (this.#termsOfStopWords[stopWord] as number) - 1;
    if (known >= 0) return known;
    const term = this.#addTerm(stemOf(form), true);
    this.#termsOfStopWords[stopWord] = term + 1;
    this.byTerm.areStopWords[term] = 1;
    return term;
  }

  #addTerm(stem: string, isStopWord: boolean): number {
    const term = this.#stems.add(stem, { isHidden: isStopWord });
    if (term === this.byTerm.places.length) growAll(this.byTerm);
    this.byTerm.letterHashes[term] = hashLetters(stem);
    this.byTerm.numberHashes[term] = hashNumber(stem);
    return term;
  }
}

/**
 * Numbers words from 0, and finds the number of a word, in flat arrays. A Map and an array of strings took over 150
 * bytes a word, and a snapshot would have to make each of these strings again.
 */
class WordList {
  /** UTF-16 code units of all words, and by word the end of its units. */
  #units = new Uint16Array(1_024);
  #ends = new Uint32Array(256);
  count = 0;
  readonly #byHash = new NumberChains();

  exchange(columns: Columns): void {
    this.#units = columns.array("units", this.#units);
    this.#ends = columns.array("ends", this.#ends);
    this.count = columns.number("count", this.count);
    this.#byHash.exchange(columns.part("byHash"));
  }

  /** Adds a word and returns its number. `find` never returns that of a hidden one. */
  add(word: string, options: { readonly isHidden?: boolean } = {}): number {
    const number = this.count++;
    const from = this.#startOf(number);
    const end = from + word.length;
    if (end > this.#units.length) this.#units = grown(this.#units, end);
    for (let at = 0; at < word.length; at++) this.#units[from + at] = word.charCodeAt(at);
    if (number === this.#ends.length) this.#ends = grown(this.#ends, number + 1);
    this.#ends[number] = end;
    if (!options.isHidden) this.#byHash.add(hashOf(word), number);
    return number;
  }

  /** Returns the number of a word, or NO_ITEM. */
  find(word: string): number {
    let number = this.#byHash.last(hashOf(word));
    while (number !== NO_ITEM && !this.#isWord(number, word)) number = this.#byHash.before(number);
    return number;
  }

  at(number: number): string {
    return String.fromCharCode(...this.#units.subarray(this.#startOf(number), this.#ends[number]));
  }

  #isWord(number: number, word: string): boolean {
    const from = this.#startOf(number);
    if ((this.#ends[number] as number) - from !== word.length) return false;
    for (let at = 0; at < word.length; at++) if (this.#units[from + at] !== word.charCodeAt(at)) return false;
    return true;
  }

  #startOf(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number);
  }
}

/** Whether the word, in the folded form of `wordsOf`, is an English or German one that carries no topic. */
export const isStopWord = (word: string): boolean => STOP_WORD_NUMBERS.has(word);

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about after again all also always am an and another any anyone anything are as at be because been before being both but by " +
    "came can come could d did do does doing done down each either else ever every few for from get gets getting give given go " +
    "goes going gone got had has have having he her here hers him his how however i if in into is isn it its itself just know knows let ll " +
    "m made make many may maybe me might mine more most much must my no nor not now of off often oh ok on once one only onto or " +
    "other our ours out over own per please re really s same say shall she should since so some someone something still such t " +
    "than that the their theirs them then there these they thing things this those though through to too under until up upon us " +
    "ve very was we well went were what when where whether which while who whom whose why will with within without would yes yet " +
    "you your yours " +
    "aber alle als also am an auch auf aus bei bin bis da das dass dem den denn der des die dies diese dieser dieses doch du durch " +
    "ein eine einem einen einer eines er es fur gegen habe haben hat hatte ich ihr ihre im in ist ja kein keine man mehr mein mir " +
    "mit nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so uber um und uns vom von vor war waren warum " +
    "was wenn wer wie wir wird wo wurde zu zum zur"
  ).split(" "),
);
const STOP_WORD_COUNT = STOP_WORDS.size;
const STOP_WORD_NUMBERS: ReadonlyMap<string, number> = new Map([...STOP_WORDS].map((word, number) => [word, number]));

/** The words of a row as a set. Numbers are kept apart, because they tell rows of one kind from each other. */
export interface WordSet {
  /** Distinct hashes of the stemmed words without their digits, ascending. */
  readonly hashes: Uint32Array;
  /** Distinct hashes of the stems that have digits. */
  readonly numbers: Uint32Array;
}

/** `words` are those of `wordsOf`. */
export function createWordSet(words: readonly string[]): WordSet {
  const stems = words.map(stemOf);
  return { hashes: distinct(stems.map(hashLetters)).sort(), numbers: distinct(stems.map(hashNumber)) };
}

const distinct = (hashes: readonly number[]) => Uint32Array.from(new Set(hashes)).filter((hash) => hash !== NO_WORD);

/** Whether it is the hash of a stop word's stem, as in `WordSet.hashes`. */
export const isStopStem = (hash: number): boolean => STOP_STEMS.has(hash);

/** A hash that stands for no word. */
export const NO_WORD = 0;

/** Returns the hash of a stem without its digits, NO_WORD when it has nothing else. */
function hashLetters(stem: string): number {
  const letters = stem.replace(/\d+/g, "");
  return letters === "" ? NO_WORD : hashOf(letters === stem ? stem : stemOf(letters));
}

/** Returns the hash of a stem with digits, NO_WORD for others. */
const hashNumber = (stem: string): number => (/\d/.test(stem) ? hashOf(stem) : NO_WORD);

const STOP_STEMS: ReadonlySet<number> = new Set([...STOP_WORDS].map((word) => hashLetters(stemOf(word))));

/** Writes the distinct numbers of `hashes` into its beginning, ascending, without NO_WORD. Returns how many they are. */
export function sortDistinct(hashes: Uint32Array): number {
  hashes.sort();
  let count = 0;
  let before = NO_WORD;
  for (let at = 0; at < hashes.length; at++) {
    const hash = hashes[at] as number;
    if (hash === before) continue;
    hashes[count++] = hash;
    before = hash;
  }
  return count;
}

/** Returns a 53-bit hash of the words without the numbers; other words collide hardly ever. */
export function hashWords(hashes: Uint32Array, seed = 0): number {
  let low = hashes.length ^ seed;
  let high = 0;
  for (const hash of hashes) {
    low = Math.imul(low ^ hash, 0x01000193);
    high = Math.imul(high + hash, 0x85ebca6b) ^ (high >>> 13);
  }
  return (low >>> 0) * 2 ** 21 + (high >>> 11);
}

/** The weight of a word, by the hash of its stem. */
export type WeighWord = (hash: number) => number;

/** Words with the sum of their weights. */
export interface WeighedWords extends Pick<WordSet, "hashes"> {
  readonly weight: number;
}

export function weighWords({ hashes }: Pick<WordSet, "hashes">, weigh: WeighWord): WeighedWords {
  let weight = 0;
  for (let at = 0; at < hashes.length; at++) weight += weigh(hashes[at] as number);
  return { hashes, weight };
}

/** Returns the weight of the words that both have. */
export function weighShared({ hashes: a }: WeighedWords, { hashes: b }: Pick<WordSet, "hashes">, weigh: WeighWord) {
  let shared = 0;
  for (let left = 0, right = 0; left < a.length && right < b.length; ) {
    const one = a[left] as number;
    const other = b[right] as number;
    if (one === other) shared += weigh(one);
    if (one <= other) left++;
    if (other <= one) right++;
  }
  return shared;
}

/** Jaccard similarity by weight: that of the shared words over that of all words; 1 for two empty sets. */
export function weightedJaccard(a: WeighedWords, b: WeighedWords, weigh: WeighWord): number {
  const shared = weighShared(a, b, weigh);
  const all = a.weight + b.weight - shared;
  return all === 0 ? 1 : shared / all;
}
