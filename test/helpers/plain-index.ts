/** plain-index.ts -- the reference VectorIndex: compares with all rows, sorts, and cuts. */
import type { VectorIndex } from "#core/ports/memory.ts";

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
