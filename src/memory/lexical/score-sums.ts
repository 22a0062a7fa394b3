/**
 * score-sums.ts -- adds up scores by slot.
 *
 * The arrays are kept from search to search and only touched cells are cleared, so the cost of a search depends on its
 * hits, not on the size of the index.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import { BestOf } from "#util/best-of.ts";
import { grown } from "./number-lists.ts";

export class ScoreSums {
  #scores = new Float32Array(256);
  #touched = new Uint32Array(256);
  #count = 0;
  #best = new BestOf(0);

  /** Makes room for slots below `slots`. All scores are 0 until something is added. */
  reserve(slots: number): void {
    if (slots <= this.#scores.length) return;
    this.#scores = grown(this.#scores, slots);
    this.#touched = grown(this.#touched, slots);
  }

  /**
   * Adds `weight * frequency / (frequency + halfScores[slot])` to each of the slots, which must differ, and clears their
   * frequencies, which must be positive.
   */
  addSaturated(slots: Uint32Array, frequencies: Float32Array, halfScores: Float32Array, weight: number): void {
    const sums = this.#scores;
    const touched = this.#touched;
    let count = this.#count;
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      const frequency = frequencies[slot] as number;
      frequencies[slot] = 0;
      const before = sums[slot] as number;
      if (before === 0) touched[count++] = slot;
      sums[slot] = before + (weight * frequency) / (frequency + (halfScores[slot] as number));
    }
    this.#count = count;
  }

  /** Returns the best `limit` slots without the excluded ones, best first, the higher of equals first. Clears all sums. */
  takeBest(limit: number, excluded: Iterable<number>): ScoredSlot[] {
    const sums = this.#scores;
    for (const slot of excluded) sums[slot] = 0;
    const touched = this.#touched;
    const count = this.#count;
    if (this.#best.capacity !== limit) this.#best = new BestOf(limit);
    const best = this.#best;
    let { floor } = best;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const score = sums[slot] as number;
      sums[slot] = 0;
      if (score === 0 || score < floor || !best.accepts(score, slot)) continue;
      best.offer(score, slot);
      floor = best.floor;
    }
    this.#count = 0;
    return best.take();
  }
}
