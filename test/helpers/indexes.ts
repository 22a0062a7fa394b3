/** indexes.ts -- the reference VectorIndex: compares with all rows, sorts, and cuts. */
import { setTimeout as sleep } from "node:timers/promises";
import type { VectorIndex } from "#core/ports/memory.ts";
import { type GraphKeeper, type GraphKeeperOptions, HnswIndex } from "#memory/vectors/hnsw-index.ts";
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

// An HNSW index whose searches wait until its graph is complete, unless `waits` is false.

export interface SettledGraph extends VectorIndex {
  readonly keeper: GraphKeeper;
  /** Resolves when the graph has every row. */
  settled(): Promise<void>;
  /** Number of searches by the exact index. */
  readonly scans: () => number;
  readonly reports: readonly string[];
}

class CountedIndex extends HnswIndex {
  scans = 0;
  override scan(unit: Float32Array, count: number) {
    this.scans++;
    return super.scan(unit, count);
  }
}

export function openSettledGraph(
  dimensions: number,
  given: Partial<GraphKeeperOptions> & { readonly waits?: boolean } = {},
): SettledGraph {
  const reports: string[] = [];
  const { waits = true, ...options } = given;
  const index = new CountedIndex(
    openScanMemory(),
    { dimensions },
    { fromRows: 1, report: (problem) => reports.push(problem), searchLimitMs: 10_000, ...options },
  );
  const { keeper } = index;
  const settled = async () => {
    // The first search starts the process.
    if (index.size > 0 && keeper.pid === undefined) await keeper.search(new Float32Array(dimensions), 1);
    for (let waited = 0; index.size > 0 && !(keeper.isReady && [...keeper.unsent()].length === 0); waited++) {
      if (waited > 12_000) throw new Error(`The graph has ${[...keeper.unsent()].length} rows to go; ${reports}`);
      await sleep(5);
    }
  };
  return {
    keeper,
    reports,
    settled,
    scans: () => index.scans,
    get size() {
      return index.size;
    },
    add: (slot, vector) => index.add(slot, vector),
    remove: (slot) => index.remove(slot),
    vectorOf: (slot) => index.vectorOf(slot),
    scoreOf: (slot, unit) => index.scoreOf(slot, unit),
    search: async (query, count) => {
      if (waits) await settled();
      return index.search(query, count);
    },
    close: () => index.close(),
  };
}
