/**
 * best-of.ts -- the highest scored of all that is offered, without sorting the rest.
 *
 * A heap with the lowest kept score on top: an offer that does not belong costs one
 * comparison, one that does a few moves, whatever the order of arrival.
 */
export class BestOf {
  readonly #capacity: number;
  readonly #scores: Float64Array;
  readonly #items: Int32Array;
  #length = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#scores = new Float64Array(capacity);
    this.#items = new Int32Array(capacity);
  }

  /** Only what scores higher is kept. */
  get floor(): number {
    if (this.#length < this.#capacity) return Number.NEGATIVE_INFINITY;
    return this.#capacity === 0 ? Number.POSITIVE_INFINITY : (this.#scores[0] as number);
  }

  offer(score: number, item: number): void {
    if (this.#length < this.#capacity) this.#rise(this.#length++, score, item);
    else if (this.#capacity > 0 && score > (this.#scores[0] as number)) this.#sink(score, item);
  }

  kept(): number[] {
    return Array.from(this.#items.subarray(0, this.#length));
  }

  #rise(hole: number, score: number, item: number): void {
    let at = hole;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((this.#scores[parent] as number) <= score) break;
      this.#put(at, this.#scores[parent] as number, this.#items[parent] as number);
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
      if (child + 1 < this.#length && (this.#scores[child + 1] as number) < (this.#scores[child] as number)) child++;
      if ((this.#scores[child] as number) >= score) break;
      this.#put(at, this.#scores[child] as number, this.#items[child] as number);
      at = child;
    }
    this.#put(at, score, item);
  }

  #put(at: number, score: number, item: number): void {
    this.#scores[at] = score;
    this.#items[at] = item;
  }
}
