/**
 * saved-vectors.ts -- the vectors of an instant embedder as a snapshot holds them: 8-bit numbers, a quarter of their size.
 *
 * Such vectors are not in the store, and making 100,000 again takes 10 s of CPU. They are rounded when they are made, so that the
 * restored ones are the same.
 */
import { createTurns } from "#util/turns.ts";
import type { Columns } from "../snapshots/columns.ts";
import { ROW_LIMIT } from "../vectors/int8-scan.ts";
import { fromBytes, quantise } from "../vectors/unit-vector.ts";
import type { NewSlot } from "./agent-rows.ts";

/** Vectors that are read or written without a pause. */
const PAGE_SLOTS = 256;

export class SavedVectors {
  #embedder = "";
  #slots = new Uint32Array();
  #bytes = new Int8Array();

  exchange(columns: Columns): void {
    [this.#embedder = ""] = columns.words("embedder", [this.#embedder]);
    this.#slots = columns.array("slots", this.#slots);
    this.#bytes = columns.array("bytes", this.#bytes);
  }

  /** Takes the vectors of the slots below `size`, which `roundVector` has made. */
  async collect(
    embedder: string,
    size: number,
    dimensions: number,
    vectorOf: (slot: number) => Float32Array | undefined,
  ): Promise<void> {
    const takeTurn = createTurns();
    const slots: number[] = [];
    const bytes = new Int8Array(size * dimensions);
    for (let slot = 0; slot < size; slot++) {
      if (slot % PAGE_SLOTS === 0) await takeTurn();
      const vector = vectorOf(slot);
      if (!vector) continue;
      quantise(vector, ROW_LIMIT, bytes, slots.length * dimensions);
      slots.push(slot);
    }
    this.#embedder = embedder;
    this.#slots = Uint32Array.from(slots);
    this.#bytes = bytes.subarray(0, slots.length * dimensions);
  }

  clear(): void {
    this.#slots = new Uint32Array();
    this.#bytes = new Int8Array();
  }

  /** Yields the restored vectors of this embedder, page by page, each valid until the next page. */
  *pages(embedder: string): Generator<readonly NewSlot[]> {
    if (embedder !== this.#embedder || this.#slots.length === 0) return;
    const dimensions = this.#bytes.length / this.#slots.length;
    const vectors = new Float32Array(PAGE_SLOTS * dimensions);
    for (let from = 0; from < this.#slots.length; from += PAGE_SLOTS) {
      const slots = this.#slots.subarray(from, from + PAGE_SLOTS);
      yield Array.from(slots, (slot, at) => {
        const bytes = this.#bytes.subarray((from + at) * dimensions, (from + at + 1) * dimensions);
        const vector = fromBytes(bytes, vectors.subarray(at * dimensions, (at + 1) * dimensions));
        return { slot, embedder, vector, isPiece: false };
      });
    }
  }
}
