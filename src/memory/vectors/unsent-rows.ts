/**
 * unsent-rows.ts -- the slots whose changes a graph may not have: noted, sent in batches, dropped when the graph answered.
 *
 * A slot that changes several times waits once.
 */
import type { GraphRequests } from "./graph-process.ts";

/** Vectors per message, so that a search waits for a short message at most. */
const BATCH = 64;

/** The current rows of an index. */
export interface VectorRows {
  readonly size: number;
  /** Returns a copy. */
  slots(): Uint32Array;
  vectorOf(slot: number): Float32Array | undefined;
}

export class UnsentRows {
  /** Slots present at the start, unsent from `#next` on. Filling a set of so many would block the event loop. */
  #first: Uint32Array = new Uint32Array(0);
  #next = 0;
  readonly #waiting = new Set<number>();
  #sending = new Set<number>();
  /** Overwritten by each batch: as garbage it would stop the event loop for tens of milliseconds. */
  #vectors = new Float32Array(0);

  get size(): number {
    return this.#first.length - this.#next + this.#waiting.size + this.#sending.size;
  }

  get hasWaiting(): boolean {
    return this.#next < this.#first.length || this.#waiting.size > 0;
  }

  /** Yields the unsent slots; some may come twice. */
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

  /** Returns the next rows to send, valid until the next call. They stay unsent until `markSent`. */
  takeBatch(rows: VectorRows, dimensions: number): GraphRequests["change"]["request"] {
    const removed: number[] = [];
    const added: number[] = [];
    if (this.#vectors.length !== BATCH * dimensions) this.#vectors = new Float32Array(BATCH * dimensions);
    const first = this.#first.subarray(this.#next, this.#next + BATCH);
    this.#next += first.length;
    this.#sending = new Set([...first, ...this.#waiting.values().take(BATCH - first.length)]);
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

  /** Marks the last batch as sent. */
  markSent(): void {
    this.#sending.clear();
  }

  clear(): void {
    this.#first = new Uint32Array(0);
    this.#next = 0;
    this.#waiting.clear();
    this.#sending.clear();
  }
}
