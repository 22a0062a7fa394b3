/** indexes.ts -- the reference VectorIndex: compares with all rows, sorts, and cuts. */
import { setTimeout as sleep } from "node:timers/promises";
import type { VectorIndex } from "#core/ports/memory.ts";
import { type GraphKeeperOptions, HnswIndex } from "#memory/vectors/hnsw-index.ts";
import { openScanMemory } from "#memory/vectors/int8-scan.ts";

export function plainIndex(dimensions: number): VectorIndex {
  const rows = new Map<number, Float32Array>();
  const direction = (vector: Float32Array) => {
    const norm = Math.hypot(...vector);
    if (vector.length !== dimensions || !(norm > 0 && norm < Number.POSITIVE_INFINITY))
      throw new Error(`Expected ${dimensions} finite numbers, not all zero.`);
    return vector.map((component) => component / norm);
  };
  const dot = (row: Float32Array, unit: Float32Array) => row.reduce((sum, x, at) => sum + x * (unit[at] ?? 0), 0);
  return {
    get size() {
      return rows.size;
    },
    async add(slot, vector) {
      rows.set(slot, direction(vector));
    },
    vectorOf: (slot) => rows.get(slot),
    scoreOf(slot, unit) {
      const row = rows.get(slot);
      return row && dot(row, unit);
    },
    close: async () => rows.clear(),
    async remove(slot) {
      rows.delete(slot);
    },
    async search(query, count) {
      const asked = direction(query);
      const scored = [...rows].map(([slot, row]) => ({ slot, score: dot(row, asked) }));
      return scored.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, Math.max(0, count));
    },
  };
}

/** An HNSW index whose searches wait until its graph is complete, unless `waits` is false. */
export class SettledGraph extends HnswIndex {
  /** Number of searches by the exact index. */
  scans = 0;
  readonly reports: readonly string[];
  readonly #dimensions: number;
  readonly #waits: boolean;

  constructor(dimensions: number, given: Partial<GraphKeeperOptions> & { readonly waits?: boolean } = {}) {
    const { waits = true, ...options } = given;
    const reports: string[] = [];
    const report = (problem: string) => reports.push(problem);
    super(openScanMemory(), { dimensions }, { fromRows: 1, report, searchLimitMs: 10_000, ...options });
    this.reports = reports;
    this.#dimensions = dimensions;
    this.#waits = waits;
  }

  override scan(unit: Float32Array, count: number) {
    this.scans++;
    return super.scan(unit, count);
  }

  override async search(query: Float32Array, count: number) {
    if (this.#waits) await this.settled();
    return super.search(query, count);
  }

  /** Resolves when the graph has every row. */
  async settled(): Promise<void> {
    const { keeper, reports } = this;
    // The first search starts the process.
    if (this.size > 0 && keeper.pid === undefined) await keeper.search(new Float32Array(this.#dimensions), 1);
    for (let waited = 0; this.size > 0 && !(keeper.isReady && [...keeper.unsent()].length === 0); waited++) {
      if (waited > 12_000) throw new Error(`The graph has ${[...keeper.unsent()].length} rows to go; ${reports}`);
      await sleep(5);
    }
  }
}
