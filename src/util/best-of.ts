/**
 * best-of.ts -- the highest scored of all that is offered, without sorting the rest.
 *
 * A heap with the lowest kept on top: an offer that does not belong costs one comparison, one that does a few
 * moves, whatever the order of arrival. Of equal scores the higher item counts as better: it is the newer row.
 */
export interface Hit {
  readonly slot: number;
  readonly score: number;
}

export class BestOf {
  readonly capacity: number;
  readonly #scores: Float64Array;
  readonly #items: Int32Array;
  #length = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#scores = new Float64Array(capacity);
    this.#items = new Int32Array(capacity);
  }

  /** What scores lower is not kept. */
  get floor(): number {
    if (this.#length < this.capacity) return Number.NEGATIVE_INFINITY;
    return this.capacity === 0 ? Number.POSITIVE_INFINITY : (this.#scores[0] as number);
  }

  /** Whether an offer of it would be kept now. */
  takes(score: number, item: number): boolean {
    return this.#length < this.capacity || (this.capacity > 0 && this.#isBelow(0, score, item));
  }

  offer(score: number, item: number): void {
    if (this.#length < this.capacity) this.#rise(this.#length++, score, item);
    else if (this.takes(score, item)) this.#sink(score, item);
  }

  /** In no order. */
  kept(): number[] {
    return Array.from(this.#items.subarray(0, this.#length));
  }

  /** Best first. Nothing is kept afterwards. */
  take(): Hit[] {
    const hits = new Array<Hit>(this.#length);
    while (this.#length > 0) {
      const last = --this.#length;
      hits[last] = { slot: this.#items[0] as number, score: this.#scores[0] as number };
      this.#sink(this.#scores[last] as number, this.#items[last] as number);
    }
    return hits;
  }

  #isBelow(at: number, score: number, item: number): boolean {
    const own = this.#scores[at] as number;
    return own < score || (own === score && (this.#items[at] as number) < item);
  }

  #rise(hole: number, score: number, item: number): void {
    let at = hole;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isBelow(parent, score, item)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, score, item);
  }

  /** Replaces the lowest. */
  #sink(score: number, item: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#length) break;
      const next = child + 1;
      if (next < this.#length && this.#isBelow(next, this.#scores[child] as number, this.#items[child] as number))
        child = next;
      if (!this.#isBelow(child, score, item)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, score, item);
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#scores[from] as number, this.#items[from] as number);
  }

  #put(at: number, score: number, item: number): void {
    this.#scores[at] = score;
    this.#items[at] = item;
  }
}
