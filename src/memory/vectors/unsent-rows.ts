/**
 * unsent-rows.ts -- the rows that a graph may not know, or know otherwise: noted by slot, sent in lots, forgotten when
 * the graph has answered. However often a slot changes, it waits once.
 */
import type { GraphRequests } from "./graph-messages.ts";

/** Vectors in one message: the process is not away for long, and a search waits for one message at most. */
const LOT = 64;

/** The rows of an index as they are now. */
export interface Rows {
  readonly size: number;
  /** A copy. */
  slots(): Uint32Array;
  vectorOf(slot: number): Float32Array | undefined;
}

export class UnsentRows {
  /** Those that were there at the beginning, from `#next` on: a set of so many would take the loop's turn for long. */
  #first: Uint32Array = new Uint32Array(0);
  #next = 0;
  readonly #waiting = new Set<number>();
  #sending = new Set<number>();
  /** Written over by each lot: so much garbage would stop the loop for tens of milliseconds now and then. */
  #vectors = new Float32Array(0);

  get size(): number {
    return this.#first.length - this.#next + this.#waiting.size + this.#sending.size;
  }

  get isLotWaiting(): boolean {
    return this.#next < this.#first.length || this.#waiting.size > 0;
  }

  /** Some may come twice. */
  *slots(): Generator<number> {
    yield* this.#first.subarray(this.#next);
    yield* this.#waiting;
    yield* this.#sending;
  }

  note(slot: number): void {
    this.#waiting.add(slot);
  }

  noteAll(slots: Uint32Array): void {
    this.clear();
    this.#first = slots;
  }

  /** The next rows to send, as they are now, until the next lot is taken. They stay unsent until `sent`. */
  takeLot(rows: Rows, dimensions: number): GraphRequests["change"]["request"] {
    const removed: number[] = [];
    const added: number[] = [];
    if (this.#vectors.length !== LOT * dimensions) this.#vectors = new Float32Array(LOT * dimensions);
    const first = this.#first.subarray(this.#next, this.#next + LOT);
    this.#next += first.length;
    this.#sending = new Set([...first, ...this.#waiting.values().take(LOT - first.length)]);
    for (const slot of this.#sending) {
      this.#waiting.delete(slot);
      const vector = rows.vectorOf(slot);
      if (vector) {
        this.#vectors.set(vector, added.length * dimensions);
        added.push(slot);
      } else removed.push(slot);
    }
    return {
      removed: Uint32Array.from(removed),
      added: Uint32Array.from(added),
      vectors: this.#vectors.subarray(0, added.length * dimensions),
    };
  }

  /** The last lot has arrived. */
  sent(): void {
    this.#sending.clear();
  }

  clear(): void {
    this.#first = new Uint32Array(0);
    this.#next = 0;
    this.#waiting.clear();
    this.#sending.clear();
  }
}
