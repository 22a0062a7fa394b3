/**
 * hnsw-index.ts -- finds nearest neighbours by an HNSW graph, for memories too large for a scan.
 *
 * An exact index holds all vectors; the graph, in a process of its own, finds candidates faster. The exact index answers
 * whenever the graph cannot: too few rows, under construction, dead, slow or missing. Candidates are compared with the
 * exact vectors, so a stale candidate never gets a wrong score; rows that the graph lacks are compared one by one.
 *
 * Changes are only noted, and sent in batches while no request waits. A slot that changes twice is sent once.
 */
import type { OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import { ExactIndex, exactIndexes } from "./exact-index.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { openScanMemory, type ScanMemory } from "./int8-scan.ts";
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

/**
 * Up to these numbers scans cost less CPU than building and searching a graph, with one query per row. Measured at 100,000 rows of 192, 384
 * and 1,536 numbers: a scan takes 4, 6 and 20 ms, a graph's addition and search together 6, 8 and 20 ms.
 */
const MAX_SCANNED_ROWS = 100_000;
const MAX_SCANNED_NUMBERS = 48_000_000;
/** A graph is centred at its start, for which it needs rows. */
const MIN_GRAPH_ROWS = 1_024;

const graphFrom = (dimensions: number): number =>
  1 + Math.max(MAX_SCANNED_ROWS, Math.floor(MAX_SCANNED_NUMBERS / dimensions));

/** Called when an index is degraded. */
type Report = (problem: string) => void;

const BACKENDS = {
  local: (report) => openGraphIndexes(report, graphFrom),
  exact: () => exactIndexes(),
  hnsw: (report) => openGraphIndexes(report, () => MIN_GRAPH_ROWS),
} as const satisfies Readonly<Record<string, (report: Report) => OpenIndex>>;

type MemoryBackend = keyof typeof BACKENDS;

/**
 * Opens the vector index for each value of the setting `MEMORY_BACKEND`.
 *
 * `local` compares every vector up to 100,000 rows, or more if vectors are short, and uses a graph in a child process above that. The
 * first search above fills the graph in the background, which takes 95 s of CPU for 100,000 rows, while recalls go on by comparing.
 */
export const chooseIndex = (backend: MemoryBackend, report: Report): OpenIndex => BACKENDS[backend](report);

/** Returns a function that opens indexes which use a graph from a number of rows on that depends on the dimensions. */
export function openGraphIndexes(report: Report, graphFromRows: (dimensions: number) => number): OpenIndex {
  let memory: ScanMemory | undefined;
  return (scope) => {
    memory ??= openScanMemory();
    const { dimensions } = scope;
    const exact = new ExactIndex(dimensions, memory, scope);
    const keeper = new GraphKeeper({ dimensions, fromRows: graphFromRows(dimensions), rows: exact, report });
    return new HnswIndex(exact, keeper, dimensions);
  };
}
