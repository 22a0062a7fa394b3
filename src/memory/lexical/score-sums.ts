/**
 * score-sums.ts -- scores that are added up row by row.
 *
 * The arrays are kept from search to search, and only what was touched is cleared: a search costs what it finds,
 * not what there is.
 */
import { BestOf, type Hit } from "#util/best-of.ts";
import { grown } from "./number-lists.ts";

export class Sums {
  #scores = new Float32Array(256);
  #touched = new Uint32Array(256);
  #count = 0;
  #best = new BestOf(0);

  /** For slots below `slots`; all are 0 until something is added. */
  reserve(slots: number): void {
    if (slots <= this.#scores.length) return;
    this.#scores = grown(this.#scores, slots);
    this.#touched = grown(this.#touched, slots);
  }

  /** The slots at these places of `slots`, each once, gain `weight` times the number at the same place of `gains`: more than 0. */
  addAll(slots: Uint32Array, gains: Float64Array, from: number, to: number, weight: number): void {
    const scores = this.#scores;
    const touched = this.#touched;
    let known = this.#count;
    for (let at = from; at < to; at++) {
      const slot = slots[at] as number;
      const before = scores[slot] as number;
      if (before === 0) touched[known++] = slot;
      scores[slot] = before + weight * (gains[at] as number);
    }
    this.#count = known;
  }

  /** The best `reach` that are not `barred`, best first, the higher slot first of equals. Clears everything. */
  best(reach: number, barred: Iterable<number>): Hit[] {
    const scores = this.#scores;
    for (const slot of barred) scores[slot] = 0;
    const touched = this.#touched;
    const count = this.#count;
    if (this.#best.capacity !== reach) this.#best = new BestOf(reach);
    const best = this.#best;
    let { floor } = best;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const score = scores[slot] as number;
      scores[slot] = 0;
      if (score === 0 || score < floor || !best.takes(score, slot)) continue;
      best.offer(score, slot);
      floor = best.floor;
    }
    this.#count = 0;
    return best.take();
  }
}
