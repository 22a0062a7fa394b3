/**
 * sums.ts -- scores that are added up row by row, for several texts at the same time.
 *
 * The arrays are kept from search to search, and only what was touched is cleared: a search costs what it finds,
 * not what there is.
 */
import { BestOf } from "./best-of.ts";
import type { Hit } from "./merge.ts";
import { grown } from "./number-lists.ts";

export class Scores {
  readonly #sums: Sums[] = [];

  /** All zero, for slots below `slots`; good until `best` was asked. */
  sumsFor(text: number, slots: number): Sums {
    const sums = this.#sums[text] ?? new Sums();
    this.#sums[text] = sums;
    sums.reserve(slots);
    return sums;
  }
}

export class Sums {
  #scores = new Float32Array(256);
  #touched = new Uint32Array(256);
  #count = 0;

  reserve(slots: number): void {
    if (slots <= this.#scores.length) return;
    this.#scores = grown(this.#scores, slots);
    this.#touched = grown(this.#touched, slots);
  }

  /** The first `count` of `slots`, each once, gain `weight` times what stands in `gains` at the slot: more than 0. */
  addAll(slots: Uint32Array, gains: Float32Array, count: number, weight: number): void {
    const [scores, touched] = [this.#scores, this.#touched];
    for (let at = 0; at < count; at++) {
      const slot = slots[at] as number;
      const before = scores[slot] as number;
      if (before === 0) touched[this.#count++] = slot;
      scores[slot] = before + weight * (gains[slot] as number);
    }
  }

  /** The best `reach` that are allowed, best first, the higher slot first of equals. Clears everything. */
  best(reach: number, isAllowed: (slot: number) => boolean): Hit[] {
    const scores = this.#scores;
    const touched = this.#touched.subarray(0, this.#count);
    const best = new BestOf(reach);
    let floor = best.floor;
    for (let at = 0; at < touched.length; at++) {
      const slot = touched[at] as number;
      const score = scores[slot] as number;
      if (score <= floor || !isAllowed(slot)) continue;
      best.offer(score, slot);
      floor = best.floor;
    }
    const hits = best.kept().map((slot) => ({ slot, score: scores[slot] as number }));
    const above = hits.filter(({ score }) => score > floor);
    // Of those that score exactly as the last one, the heap has kept any.
    const equal = floor > 0 ? touched.filter((slot) => scores[slot] === floor && isAllowed(slot)).sort() : [];
    const newest = [...equal.slice(above.length - reach)].map((slot) => ({ slot, score: floor }));
    for (let at = 0; at < touched.length; at++) scores[touched[at] as number] = 0;
    this.#count = 0;
    return (floor > 0 ? [...above, ...newest] : hits).sort((a, b) => b.score - a.score || b.slot - a.slot);
  }
}
