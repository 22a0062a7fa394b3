/**
 * series-groups.ts -- groups the rows that differ only in their numbers, and searches the groups by words. An agent
 * that works through a list leaves a hundred rows of the same words. The lexical index holds each group as one text:
 * separate rows would make their words look common, come between neighbours and fill every result. A search returns one
 * row per group: the one with most numbers of the query, the newest of equals.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import { keepNewest } from "#util/caches.ts";
import { hashOf } from "#util/words.ts";
import type { Columns } from "../columns.ts";
import { grown, NO_ITEM, NumberChains, NumberLists, NumberMap, TermLists } from "../words/flat-lists.ts";
import { hashWords, NO_WORD, sortDistinct, type WordSet } from "../words/vocabulary.ts";
import { LEXICAL_SETTINGS, LexicalIndex } from "../words/word-index.ts";
import { findWordTable } from "../words/word-table.ts";
import type { QueryPart } from "./query-parts.ts";

/** Main memory of each distinct word of a row, and of each term: measured with 1,000 to 50,000 rows. */
const BYTES_PER_WORD = 2.5;
const BYTES_PER_TERM = 350;
/** Of 52 rows whose words a recall compares, 75 to 95 % are among these: most candidates come again at the next step. */
const MAX_WORD_SETS = 64;

export class SeriesGroups {
  /** Its slots are groups. */
  readonly lexical = new LexicalIndex(LEXICAL_SETTINGS, findWordTable());
  /** By slot. */
  readonly #terms = new TermLists();
  /** Groups by a part of their key. */
  readonly #groups = new NumberChains();
  /** By group: hash of its namespace and words, 0 for a group that no row joins. */
  #keys = new Float64Array(256);
  /** List n holds the slots of group n, ascending. */
  readonly #rows = new NumberLists();
  #groupOfSlot = new Uint32Array(256);
  #size = 0;
  /** Sum of the distinct words of all rows. */
  #words = 0;
  readonly #removed = new Set<number>();
  /** Number of live rows with a word, by its hash. */
  readonly #rowsWithWord = new NumberMap();
  readonly #numbers = new SeriesNumbers();
  /** By slot, those compared last. */
  readonly #wordSets = new Map<number, WordSet>();
  /** Scratch: hashes of the words of one row. */
  #hashes = new Uint32Array(64);

  exchange(columns: Columns): void {
    this.lexical.exchange(columns.part("lexical"));
    this.#terms.exchange(columns.part("terms"));
    this.#groups.exchange(columns.part("groups"));
    this.#keys = columns.array("keys", this.#keys);
    this.#rows.exchange(columns.part("rows"));
    this.#groupOfSlot = columns.array("groupOfSlot", this.#groupOfSlot);
    this.#size = columns.number("size", this.#size);
    this.#words = columns.number("words", this.#words);
    columns.set("removed", this.#removed);
    this.#rowsWithWord.exchange(columns.part("rowsWithWord"));
  }

  /** Estimated main memory. */
  get bytes(): number {
    return BYTES_PER_WORD * this.#words + BYTES_PER_TERM * this.lexical.vocabulary.size + this.#numbers.bytes;
  }

  /** Number of live rows with this word, by the hash of its stem. */
  rowsWithWord(hash: number): number {
    return this.#rowsWithWord.get(hash) ?? 0;
  }

  /** Adds the next slot; `words` are those of `wordsOf`. */
  add(words: readonly string[], namespace: string): void {
    const slot = this.#size++;
    const counted = this.lexical.vocabulary.countTerms(words);
    this.#terms.add(counted.terms);
    const hashes = this.#hash(counted.terms);
    const key = hashWords(hashes, hashOf(namespace));
    const known = hashes.length > 0 ? this.#findGroup(key) : NO_ITEM;
    const group = known === NO_ITEM ? this.#rows.open() : known;
    if (known !== NO_ITEM) this.lexical.addNumbers(group, counted);
    else {
      this.lexical.add(group, counted, namespace);
      if (group >= this.#keys.length) this.#keys = grown(this.#keys, group + 1);
      if (hashes.length > 0) this.#keys[group] = key;
      this.#groups.add(key >>> 0, group);
    }
    this.#rows.push(group, slot);
    if (slot >= this.#groupOfSlot.length) this.#groupOfSlot = grown(this.#groupOfSlot, slot + 1);
    this.#groupOfSlot[slot] = group;
    this.#count(hashes, 1);
    this.#words += counted.terms.length;
  }

  remove(slot: number): void {
    if (slot >= this.#size || this.#removed.has(slot)) return;
    this.#removed.add(slot);
    this.#count(this.#hash(this.#terms.read(slot)), -1);
    const group = this.#groupOfSlot[slot] as number;
    if (!this.#rows.read(group).every((row) => this.#removed.has(row))) return;
    this.lexical.remove(group, this.#terms.read(slot));
    this.#keys[group] = 0;
  }

  /** Returns the first slot of each group. */
  firstOfEach(slots: readonly number[]): readonly number[] {
    const groups = new Set<number>();
    return slots.filter((slot) => {
      const group = this.#groupOfSlot[slot] as number;
      const isFirst = !groups.has(group);
      groups.add(group);
      return isFirst;
    });
  }

  wordsOf(slot: number): WordSet {
    const words = this.#wordSets.get(slot) ?? this.#readWords(slot);
    keepNewest(this.#wordSets, slot, words, MAX_WORD_SETS);
    return words;
  }

  #readWords(slot: number): WordSet {
    const terms = this.#terms.read(slot);
    const { numberHashes } = this.lexical.vocabulary.byTerm;
    const numbers = new Set<number>();
    for (const term of terms) if (numberHashes[term] !== NO_WORD) numbers.add(numberHashes[term] as number);
    return { hashes: this.#hash(terms).slice(), numbers: Uint32Array.from(numbers) };
  }

  #count(hashes: Uint32Array, rows: 1 | -1): void {
    for (const hash of hashes) this.#rowsWithWord.add(hash, rows);
  }

  /** Returns the distinct hashes of the words without their digits, ascending. Valid until the next call. */
  #hash(terms: Uint32Array): Uint32Array {
    const { letterHashes } = this.lexical.vocabulary.byTerm;
    if (terms.length > this.#hashes.length) this.#hashes = grown(this.#hashes, terms.length);
    for (let at = 0; at < terms.length; at++) this.#hashes[at] = letterHashes[terms[at] as number] as number;
    return this.#hashes.subarray(0, sortDistinct(this.#hashes.subarray(0, terms.length)));
  }

  #findGroup(key: number): number {
    let group = this.#groups.last(key >>> 0);
    while (group !== NO_ITEM && this.#keys[group] !== key) group = this.#groups.before(group);
    return group;
  }

  /** Returns the newest other rows of the row's group, at most `limit`, and the number of the rest. */
  rowsLike(
    slot: number,
    limit: number,
    excluded: ReadonlySet<number>,
  ): { readonly slots: readonly number[]; readonly others: number } {
    const group = this.#groupOfSlot[slot];
    if (group === undefined || this.#rows.length(group) < 2) return { slots: [], others: 0 };
    const rows = this.#rows.read(group);
    const slots: number[] = [];
    let at = rows.length - 1;
    for (; at >= 0 && slots.length < limit; at--) {
      const row = rows[at] as number;
      if (row !== slot && !excluded.has(row) && !this.#removed.has(row)) slots.push(row);
    }
    const older = rows.subarray(0, at + 1);
    const others = this.#removed.size === 0 ? older.length : older.filter((row) => !this.#removed.has(row)).length;
    const isAmongThem = slot <= (older.at(-1) ?? NO_ITEM);
    return { slots, others: isAmongThem ? others - 1 : others };
  }

  /**
   * Returns a function that searches for one part: its best `limit` groups as rows, best first, without excluded rows and
   * rows that share no word. Valid until the next search. Document frequencies include `others`, so that scores compare
   * with theirs.
   */
  search(
    parts: readonly QueryPart[],
    limit: number,
    excluded: ReadonlySet<number>,
    others: readonly SeriesGroups[] = [],
  ): (part: number) => readonly ScoredSlot[] {
    const touchedGroups = new Set(Array.from(excluded, (slot) => this.#groupOfSlot[slot] as number));
    const searchPart = this.lexical.search(
      parts.map(({ words }) => words),
      limit,
      [...touchedGroups].filter((group) => this.#rowOf(group, NO_NUMBERS, excluded) === NO_ITEM),
      others.map((groups) => groups.lexical),
    );
    return (part) => {
      const { numbers } = parts[part] as QueryPart;
      const rows = searchPart(part).map(({ slot, score }) => ({ slot: this.#rowOf(slot, numbers, excluded), score }));
      return rows.filter(({ slot }) => slot !== NO_ITEM);
    };
  }

  /** Returns the row that shares most numbers, the newest of equals. */
  #rowOf(group: number, numbers: ReadonlySet<number>, excluded: ReadonlySet<number>): number {
    const isFound = (slot: number): boolean =>
      this.#groupOfSlot[slot] === group && !excluded.has(slot) && !this.#removed.has(slot);
    if (numbers.size > 0 && this.#rows.length(group) > 1) {
      this.#addNumbers(group);
      const best = this.#numbers.find(group, numbers, isFound);
      if (best !== NO_ITEM) return best;
    }
    const newest = this.#rows.last(group) ?? NO_ITEM;
    return isFound(newest) ? newest : (this.#rows.read(group).findLast(isFound) ?? NO_ITEM);
  }

  /** Adds the numbers of the rows that joined the group since the last call. */
  #addNumbers(group: number): void {
    const added = this.#numbers.countAdded(group);
    if (added === this.#rows.length(group)) return;
    const { numberHashes } = this.lexical.vocabulary.byTerm;
    for (const slot of this.#rows.read(group).subarray(added))
      this.#numbers.add(group, slot, this.#terms.read(slot), numberHashes);
  }
}

const NO_NUMBERS: ReadonlySet<number> = new Set();

/** Rows read in one search, those with the rarest numbers first. */
const MAX_ROWS_READ = 2_048;
/** Scratch: the rows that a search has read. */
const touched = new Uint32Array(MAX_ROWS_READ);
/** Main memory of a list with its key, and of a row in a list. */
const LIST_BYTES = 48;
const ENTRY_BYTES = 4;

/**
 * Finds the row of a series by its numbers: a series is a group of rows that differ only in numbers. The rows of a
 * series are added when it is first searched, so a snapshot needs none of this.
 */
class SeriesNumbers {
  /** By a hash of series and number: a list of the slots of the series that have the number, ascending. Lists may share a hash. */
  readonly #listOf = new NumberMap();
  readonly #lists = new NumberLists();
  #entries = 0;
  /** By series: number of rows added. */
  readonly #added = new NumberMap();
  /** Scratch by slot: how many of the numbers it has, all 0 between two searches. */
  #shared = new Uint16Array(256);

  /** Estimated main memory. */
  get bytes(): number {
    return LIST_BYTES * this.#lists.count + ENTRY_BYTES * this.#entries;
  }

  countAdded(series: number): number {
    return this.#added.get(series) ?? 0;
  }

  /** Adds the next row. `numberHashes` has the hash of each term, NO_WORD for one that is not a number. */
  add(series: number, slot: number, terms: Uint32Array, numberHashes: Uint32Array): void {
    if (slot >= this.#shared.length) this.#shared = grown(this.#shared, slot + 1);
    this.#added.add(series, 1);
    for (const term of terms) {
      const hash = numberHashes[term] as number;
      if (hash === NO_WORD) continue;
      const key = mix(series, hash);
      const list = this.#listOf.get(key) ?? this.#lists.open();
      this.#listOf.set(key, list);
      this.#lists.push(list, slot);
      this.#entries++;
    }
  }

  /**
   * Returns the slot that has most of the numbers, the newest of equals, or NO_ITEM when none has one. `isFound` must be false
   * for slots of another series.
   */
  find(series: number, numbers: ReadonlySet<number>, isFound: (slot: number) => boolean): number {
    const shared = this.#shared;
    let count = 0;
    let left = MAX_ROWS_READ;
    for (const list of this.#listsOf(series, numbers)) {
      const length = this.#lists.length(list);
      // What very many rows have tells rows apart only when they have nothing rarer.
      if (length > left && count > 0) break;
      const slots = this.#lists.read(list);
      for (let at = Math.max(0, length - left); at < length; at++) {
        const slot = slots[at] as number;
        if (shared[slot] === 0) touched[count++] = slot;
        shared[slot] = (shared[slot] as number) + 1;
      }
      left -= length;
    }
    let best = NO_ITEM;
    let most = 0;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const numbersShared = shared[slot] as number;
      shared[slot] = 0;
      if (numbersShared < most || (numbersShared === most && slot < best) || !isFound(slot)) continue;
      best = slot;
      most = numbersShared;
    }
    return best;
  }

  /** Returns the lists of the numbers, the shortest first if not all can be read. */
  #listsOf(series: number, numbers: ReadonlySet<number>): readonly number[] {
    const lists: number[] = [];
    let rows = 0;
    for (const number of numbers) {
      const list = this.#listOf.get(mix(series, number));
      if (list === undefined) continue;
      lists.push(list);
      rows += this.#lists.length(list);
    }
    return rows <= MAX_ROWS_READ ? lists : lists.sort((a, b) => this.#lists.length(a) - this.#lists.length(b));
  }
}

const mix = (series: number, number: number): number => (number ^ Math.imul(series + 1, 0x9e3779b1)) >>> 0;
