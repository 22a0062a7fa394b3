/**
 * hnsw-index.ts -- nearest neighbours by a graph, for memories that are too many to look at each.
 *
 * All vectors lie in an exact index here; the graph, in a process of its own, is a faster way to
 * candidates. Whenever it is not up to it (too few rows yet, being built, dead, slow, missing) the exact index answers,
 * at once and without loss. What the graph names is compared with the vectors here, so a wrong or
 * stale name never becomes a wrong score, and rows that it does not have yet are compared one by one.
 *
 * Changes are only noted, and sent in lots while nothing else waits; a slot that changes twice is sent once, so what
 * waits is bounded by the number of rows.
 */
import type { ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import type { ExactIndex } from "./exact-index.ts";
import type { GraphKeeper } from "./graph-keeper.ts";
import { dot, toUnit } from "./unit-vector.ts";

export class HnswIndex implements VectorIndex {
  readonly #exact: ExactIndex;
  readonly #keeper: GraphKeeper;
  readonly #dimensions: number;

  /** `keeper` is to have the rows of `exact`. */
  constructor(exact: ExactIndex, keeper: GraphKeeper, dimensions: number) {
    this.#exact = exact;
    this.#keeper = keeper;
    this.#dimensions = dimensions;
  }

  get size(): number {
    return this.#exact.size;
  }

  async add(slot: number, vector: Float32Array): Promise<void> {
    await this.#exact.add(slot, vector);
    this.#keeper.note(slot);
  }

  async remove(slot: number): Promise<void> {
    if (!this.#exact.has(slot)) return;
    await this.#exact.remove(slot);
    this.#keeper.note(slot);
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const unit = toUnit(query, this.#dimensions);
    if (count < 1) return [];
    return (await this.#searchGraph(unit, count)) ?? this.#exact.search(unit, count);
  }

  async close(): Promise<void> {
    await this.#keeper.close();
    await this.#exact.close();
  }

  /** undefined when the graph cannot tell, or tells too little. */
  async #searchGraph(unit: Float32Array, count: number) {
    const near = await this.#keeper.search(unit, count);
    if (!near) return undefined;
    const hits: { slot: number; score: number }[] = [];
    for (const slot of new Set([...near, ...this.#keeper.unsent()])) {
      const vector = this.#exact.vectorOf(slot);
      if (vector) hits.push({ slot, score: dot(unit, vector) });
    }
    if (hits.length < Math.min(count, this.size)) return undefined;
    return hits.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
  }
}
