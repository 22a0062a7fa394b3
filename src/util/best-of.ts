/**
 * best-of.ts -- keeps the highest scored slots of all that are offered, without sorting the rest. A min-heap: a
 * rejected offer costs one comparison, an accepted one a few moves, whatever the order of arrival. Of equal scores the
 * higher slot wins, because it is the newer row.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";

export class BestOf {
  readonly capacity: number;
  readonly #scores: Float64Array;
  readonly #slots: Int32Array;
  #length = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#scores = new Float64Array(capacity);
    this.#slots = new Int32Array(capacity);
  }

  /** Lower scores are rejected. */
  get floor(): number {
    if (this.#length < this.capacity) return Number.NEGATIVE_INFINITY;
    return this.capacity === 0 ? Number.POSITIVE_INFINITY : (this.#scores[0] as number);
  }

  /** Whether an offer of this slot would be kept now. */
  accepts(score: number, slot: number): boolean {
    return this.#length < this.capacity || (this.capacity > 0 && this.#isBelow(0, score, slot));
  }

  offer(score: number, slot: number): void {
    if (this.#length < this.capacity) this.#siftUp(this.#length++, score, slot);
    else if (this.accepts(score, slot)) this.#replaceLowest(score, slot);
  }

  /** Returns the kept slots in no order. */
  slots(): number[] {
    return Array.from(this.#slots.subarray(0, this.#length));
  }

  /** Returns the kept slots, best first, and empties the heap. */
  take(): ScoredSlot[] {
    const taken = new Array<ScoredSlot>(this.#length);
    while (this.#length > 0) {
      const last = --this.#length;
      taken[last] = { slot: this.#slots[0] as number, score: this.#scores[0] as number };
      this.#replaceLowest(this.#scores[last] as number, this.#slots[last] as number);
    }
    return taken;
  }

  #isBelow(at: number, score: number, slot: number): boolean {
    const own = this.#scores[at] as number;
    return own < score || (own === score && (this.#slots[at] as number) < slot);
  }

  #siftUp(from: number, score: number, slot: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isBelow(parent, score, slot)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, score, slot);
  }

  #replaceLowest(score: number, slot: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#length) break;
      const next = child + 1;
      if (next < this.#length && this.#isBelow(next, this.#scores[child] as number, this.#slots[child] as number))
        child = next;
      if (!this.#isBelow(child, score, slot)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, score, slot);
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#scores[from] as number, this.#slots[from] as number);
  }

  #put(at: number, score: number, slot: number): void {
    this.#scores[at] = score;
    this.#slots[at] = slot;
  }
}
