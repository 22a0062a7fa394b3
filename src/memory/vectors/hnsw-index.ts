/**
 * hnsw-index.ts -- finds nearest neighbours by an HNSW graph, for memories too large for a scan.
 *
 * An exact index holds all vectors; the graph, in a process of its own, finds candidates faster. The exact index answers
 * whenever the graph cannot: too few rows, under construction, dead, slow or missing. Candidates are compared with the
 * exact vectors, so a stale candidate never gets a wrong score; rows that the graph lacks are compared one by one.
 *
 * Changes are only noted, and sent in batches while no request waits. A slot that changes twice is sent once.
 */
import type { ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import type { ExactIndex } from "./exact-index.ts";
import type { GraphKeeper } from "./graph-keeper.ts";
import { dot, toUnit } from "./unit-vector.ts";

export class HnswIndex implements VectorIndex {
  readonly #exact: ExactIndex;
  readonly #keeper: GraphKeeper;
  readonly #dimensions: number;

  /** `keeper` must read the rows of `exact`. */
  constructor(exact: ExactIndex, keeper: GraphKeeper, dimensions: number) {
    this.#exact = exact;
    this.#keeper = keeper;
    this.#dimensions = dimensions;
  }

  get size(): number {
    return this.#exact.size;
  }

  vectorOf(slot: number): Float32Array | undefined {
    return this.#exact.vectorOf(slot);
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

  /** Returns undefined when the graph is unavailable or finds too few rows. */
  async #searchGraph(unit: Float32Array, count: number) {
    const candidates = await this.#keeper.search(unit, count);
    if (!candidates) return undefined;
    const hits: ScoredSlot[] = [];
    for (const slot of new Set([...candidates, ...this.#keeper.unsent()])) {
      const vector = this.#exact.vectorOf(slot);
      if (vector) hits.push({ slot, score: dot(unit, vector) });
    }
    if (hits.length < Math.min(count, this.size)) return undefined;
    return hits.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
  }
}
