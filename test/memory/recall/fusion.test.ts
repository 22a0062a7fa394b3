/** Words and vectors are fused so that a good embedder finds what words cannot; fusion.long.ts measures it on whole memories. */
import { describe, expect, it } from "@jest/globals";
import { fuseScores } from "#memory/recall/fuse-scores.ts";
import { measureMean } from "#memory/recall/vector-mean.ts";
import { dot, meanOf } from "#memory/vectors/unit-vector.ts";

describe("the closeness of a row to a query", () => {
  const unit = (degrees: number) =>
    Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));
  const rows = [0, 30, 60, 90].map(unit);
  const mean = measureMean(rows.length, (slot) => rows[slot]);
  function closenessOf(row: Float32Array | undefined, query = unit(90)): number | undefined {
    const centred = mean?.centre(query);
    return centred && mean?.compare(centred)((vector) => row && dot(row, vector));
  }

  it("is twice their cosine less the mean of the rows, and never below 0", () => {
    const middle = meanOf(rows, 2);
    const [query, row] = [rows[3], rows[2]].map((vector) =>
      vector?.map((component, at) => component - (middle[at] ?? 0)),
    );
    const cosine =
      dot(query as Float32Array, row as Float32Array) / Math.hypot(...(query ?? [])) / Math.hypot(...(row ?? []));
    expect(cosine).toBeGreaterThan(0.4);
    expect(closenessOf(rows[2])).toBeCloseTo(2 * cosine, 5);
    expect(closenessOf(rows[3])).toBeCloseTo(2, 5);
    expect(closenessOf(rows[0])).toBe(0);
  });

  it("is 0 for a row without a vector, and for one like the mean", () => {
    expect(closenessOf(undefined)).toBe(0);
    const same = measureMean(4, () => unit(10));
    expect(same?.compare(unit(90))((vector) => dot(unit(10), vector))).toBe(0);
    expect(same?.centre(unit(10))).toBeUndefined();
  });

  it("is unknown with fewer than four vectors", () => {
    expect(measureMean(100, (slot) => (slot < 3 ? unit(0) : undefined))).toBeUndefined();
    expect(measureMean(100, (slot) => (slot > 90 ? unit(0) : undefined))).toBeDefined();
  });
});

describe("fuseScores", () => {
  const words = [
    { slot: 1, score: 9 },
    { slot: 2, score: 5 },
  ];
  const near = (closeness: Readonly<Record<number, number>>) => ({
    slots: Object.keys(closeness).map(Number),
    closenessOf: (slot: number) => closeness[slot] ?? 0,
  });
  const order = (...given: Parameters<typeof fuseScores>) => fuseScores(...given).map(({ slot }) => slot);

  it("keeps the order of the words when no row stands out", () => {
    expect(order(words, near({ 3: 0 }), 1)).toEqual([1, 2, 3]);
  });

  it("puts a row that stands out before the words when these cover little of the question", () => {
    expect(order(words, near({ 3: 1 }), 0.1)).toEqual([3, 1, 2]);
    expect(order(words, near({ 3: 1 }), 1)).toEqual([1, 3, 2]);
  });

  it("scales the best to 1, and finds rows without words", () => {
    expect(fuseScores([], near({ 7: 0.2, 8: 0.1 }), 0)).toEqual([
      { slot: 7, score: 1 },
      { slot: 8, score: expect.closeTo(0.5) },
    ]);
    expect(fuseScores([], near({}), 0)).toEqual([]);
  });
});
