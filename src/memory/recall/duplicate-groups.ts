/**
 * duplicate-groups.ts -- rows by their words, what says the same but for its numbers together.
 *
 * An agent that works through a list leaves a hundred rows of the same words. To the lexical index they are one
 * text, a voice: each by itself would make its words look common, stand between neighbours, and fill every answer.
 * Asked for, a voice is its newest row, or the one with the numbers of the question.
 */

import type { Hit } from "#util/best-of.ts";
import { LexicalIndex } from "../lexical/lexical-index.ts";
import { NumberLists } from "../lexical/number-lists.ts";
import { keyOf, type WordSet } from "../lexical/word-set.ts";
import type { QueryPart } from "./query-parts.ts";

/** Rows of one voice that are looked at for the right numbers, the newest. */
const MAX_ROWS_COMPARED = 64;
const NO_ROW = -1;

export class Voices {
  readonly #lexical = new LexicalIndex();
  /** By namespace and key of the words. */
  readonly #voiceOfKey = new Map<string, number>();
  /** List n holds the slots of voice n, ascending. */
  readonly #rows = new NumberLists();
  readonly #keys: string[] = [];
  readonly #voiceOfSlot: number[] = [];
  readonly #setOfSlot: WordSet[] = [];
  readonly #dead = new Set<number>();

  /** Voices with a row that can be found. */
  get size(): number {
    return this.#lexical.size;
  }

  /** Slots come in order. */
  add(slot: number, words: readonly string[], set: WordSet, namespace: string): void {
    const key = `${namespace}/${keyOf(set)}`;
    const known = set.hashes.length > 0 ? this.#voiceOfKey.get(key) : undefined;
    const voice = known ?? this.#rows.open();
    if (known === undefined) {
      this.#lexical.add(voice, words, namespace);
      this.#keys[voice] = key;
      if (set.hashes.length > 0) this.#voiceOfKey.set(key, voice);
    } else this.#lexical.addNumbers(voice, words);
    this.#rows.push(voice, slot);
    this.#voiceOfSlot[slot] = voice;
    this.#setOfSlot[slot] = set;
  }

  /** `words` are those of the row. */
  remove(slot: number, words: readonly string[]): void {
    const voice = this.#voiceOfSlot[slot];
    if (voice === undefined || this.#dead.has(slot)) return;
    this.#dead.add(slot);
    if (!this.#rows.read(voice).every((row) => this.#dead.has(row))) return;
    this.#lexical.remove(voice, words);
    const key = this.#keys[voice] as string;
    if (this.#voiceOfKey.get(key) === voice) this.#voiceOfKey.delete(key);
  }

  /**
   * Answers what gives the hits of one text: its best `reach` voices as rows, best first; none that shares no word, no row that
   * is `excluded`. Good until the next search. How rare a word is, those `beside` have a say in: their hits are to be compared with these.
   */
  search(
    parts: readonly QueryPart[],
    reach: number,
    excluded: ReadonlySet<number>,
    beside: readonly Voices[] = [],
  ): (part: number) => readonly Hit[] {
    const barred = [...excluded].flatMap((slot) => this.#voiceOfSlot[slot] ?? []);
    const hitsOf = this.#lexical.search(
      parts.map(({ words }) => words),
      reach,
      barred.filter((voice) => this.#rowOf(voice, NO_NUMBERS, excluded) === NO_ROW),
      beside.map((voices) => voices.#lexical),
    );
    return (part) => {
      const { numbers } = parts[part] as QueryPart;
      const rows = hitsOf(part).map(({ slot, score }) => ({ slot: this.#rowOf(slot, numbers, excluded), score }));
      return rows.filter(({ slot }) => slot !== NO_ROW);
    };
  }

  /** The row that shares most numbers, the newest of those. */
  #rowOf(voice: number, numbers: ReadonlySet<number>, excluded: ReadonlySet<number>): number {
    const newest = this.#rows.last(voice) ?? NO_ROW;
    const isAlone = numbers.size === 0 || this.#rows.length(voice) === 1;
    if (isAlone && !excluded.has(newest) && !this.#dead.has(newest)) return newest;
    const rows = this.#rows.read(voice);
    let best = NO_ROW;
    let most = -1;
    for (let at = rows.length - 1; at >= Math.max(0, rows.length - MAX_ROWS_COMPARED); at--) {
      const slot = rows[at] as number;
      if (excluded.has(slot) || this.#dead.has(slot)) continue;
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
