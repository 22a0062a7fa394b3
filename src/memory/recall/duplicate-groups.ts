/**
 * duplicate-groups.ts -- groups the rows that differ only in their numbers, and searches the groups by words.
 *
 * An agent that works through a list leaves a hundred rows of the same words. The lexical index holds each group as one
 * text: separate rows would make their words look common, come between neighbours and fill every result. A search
 * returns one row per group: the one with most numbers of the query, the newest of equals.
 */
import type { ScoredSlot } from "#core/ports/vectors.ts";
import { LexicalIndex } from "../lexical/lexical-index.ts";
import { NumberLists } from "../lexical/number-lists.ts";
import { hashWordSet, type WordSet } from "../lexical/word-set.ts";
import type { QueryPart } from "./query-parts.ts";

/** The newest rows of a group whose numbers are compared with those of the query. */
const MAX_ROWS_COMPARED = 64;
const NO_ROW = -1;

export class DuplicateGroups {
  /** Its slots are groups. */
  readonly #lexical = new LexicalIndex();
  /** By namespace and hash of the words. */
  readonly #groupOfKey = new Map<string, number>();
  /** List n holds the slots of group n, ascending. */
  readonly #rows = new NumberLists();
  readonly #keys: string[] = [];
  readonly #groupOfSlot: number[] = [];
  readonly #setOfSlot: WordSet[] = [];
  readonly #removed = new Set<number>();

  /** Number of groups with a live row. */
  get size(): number {
    return this.#lexical.size;
  }

  /** Slots must be added in ascending order. */
  add(slot: number, words: readonly string[], set: WordSet, namespace: string): void {
    const key = `${namespace}/${hashWordSet(set)}`;
    const known = set.hashes.length > 0 ? this.#groupOfKey.get(key) : undefined;
    const group = known ?? this.#rows.open();
    if (known === undefined) {
      this.#lexical.add(group, words, namespace);
      this.#keys[group] = key;
      if (set.hashes.length > 0) this.#groupOfKey.set(key, group);
    } else this.#lexical.addNumbers(group, words);
    this.#rows.push(group, slot);
    this.#groupOfSlot[slot] = group;
    this.#setOfSlot[slot] = set;
  }

  /** `words` must be the words that the row was added with. */
  remove(slot: number, words: readonly string[]): void {
    const group = this.#groupOfSlot[slot];
    if (group === undefined || this.#removed.has(slot)) return;
    this.#removed.add(slot);
    if (!this.#rows.read(group).every((row) => this.#removed.has(row))) return;
    this.#lexical.remove(group, words);
    const key = this.#keys[group] as string;
    if (this.#groupOfKey.get(key) === group) this.#groupOfKey.delete(key);
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
    return {
      slots,
      others: this.#removed.size === 0 ? older.length : older.filter((row) => !this.#removed.has(row)).length,
    };
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
    others: readonly DuplicateGroups[] = [],
  ): (part: number) => readonly ScoredSlot[] {
    const touchedGroups = [...excluded].flatMap((slot) => this.#groupOfSlot[slot] ?? []);
    const searchPart = this.#lexical.search(
      parts.map(({ words }) => words),
      limit,
      touchedGroups.filter((group) => this.#rowOf(group, NO_NUMBERS, excluded) === NO_ROW),
      others.map((groups) => groups.#lexical),
    );
    return (part) => {
      const { numbers } = parts[part] as QueryPart;
      const rows = searchPart(part).map(({ slot, score }) => ({ slot: this.#rowOf(slot, numbers, excluded), score }));
      return rows.filter(({ slot }) => slot !== NO_ROW);
    };
  }

  /** Returns the row that shares most numbers, the newest of equals. */
  #rowOf(group: number, numbers: ReadonlySet<number>, excluded: ReadonlySet<number>): number {
    const newest = this.#rows.last(group) ?? NO_ROW;
    const isNewestBest = numbers.size === 0 || this.#rows.length(group) === 1;
    if (isNewestBest && !excluded.has(newest) && !this.#removed.has(newest)) return newest;
    const rows = this.#rows.read(group);
    let best = NO_ROW;
    let most = -1;
    for (let at = rows.length - 1; at >= Math.max(0, rows.length - MAX_ROWS_COMPARED); at--) {
      const slot = rows[at] as number;
      if (excluded.has(slot) || this.#removed.has(slot)) continue;
      if (numbers.size === 0) return slot;
      let shared = 0;
      for (const number of (this.#setOfSlot[slot] as WordSet).numbers) if (numbers.has(number)) shared++;
      if (shared <= most) continue;
      best = slot;
      most = shared;
    }
    return best;
  }
}

const NO_NUMBERS: ReadonlySet<number> = new Set();
