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
  #best = new BestOf(0);

  reserve(slots: number): void {
    if (slots <= this.#scores.length) return;
    this.#scores = grown(this.#scores, slots);
    this.#touched = grown(this.#touched, slots);
  }

  /** The first `count` of `slots`, each once, gain `weight` times the number at the same place of `gains`: more than 0. */
  addAll(slots: Uint32Array, gains: Float64Array, count: number, weight: number): void {
    const scores = this.#scores;
    const touched = this.#touched;
    let known = this.#count;
    for (let at = 0; at < count; at++) {
      const slot = slots[at] as number;
      const before = scores[slot] as number;
      if (before === 0) touched[known++] = slot;
      scores[slot] = before + weight * (gains[at] as number);
    }
    this.#count = known;
  }

  /** The best `reach` that are allowed, best first, the higher slot first of equals. Clears everything. */
  best(reach: number, isAllowed: (slot: number) => boolean): Hit[] {
    const scores = this.#scores;
    const touched = this.#touched;
    const count = this.#count;
    if (this.#best.capacity !== reach) this.#best = new BestOf(reach);
    const best = this.#best;
    let { floor } = best;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const score = scores[slot] as number;
      scores[slot] = 0;
      if (score < floor || !best.takes(score, slot) || !isAllowed(slot)) continue;
      best.offer(score, slot);
      floor = best.floor;
    }
    this.#count = 0;
    return best.take();
  }
}
