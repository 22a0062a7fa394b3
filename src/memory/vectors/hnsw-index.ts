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
import { rankSlots, SPARE_CANDIDATES } from "./rank-slots.ts";
import { toUnit } from "./unit-vector.ts";

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

  scoreOf(slot: number, unit: Float32Array): number | undefined {
    return this.#exact.scoreOf(slot, unit);
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
    const candidates = await this.#keeper.search(unit, count + SPARE_CANDIDATES);
    if (!candidates) return undefined;
    const slots = [...candidates, ...this.#keeper.unsent()];
    const hits = rankSlots(slots, (slot) => this.scoreOf(slot, unit), count);
    return hits.length < Math.min(count, this.size) ? undefined : hits;
  }
}
