/** An index changes from a scan to a graph while searches go on, as the backend `local` does. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { clusteredVectors } from "../../helpers/random-vectors.ts";
import { openSettledGraph } from "../../helpers/settled-graph.ts";

const LINE = 50_000;
const DIMENSIONS = 16;
it("misses nothing before and while the graph is built, and almost nothing after", async () => {
  const index = openSettledGraph(DIMENSIONS, { fromRows: LINE + 1, waits: false });
  const exact = new ExactIndex(DIMENSIONS);
  const vectors = clusteredVectors(LINE + 200, DIMENSIONS, 100);
  const asked = async (): Promise<number> => {
    let missed = 0;
    for (let at = 0; at < 20; at++) {
      const query = vectors[at * 2_311] as Float32Array;
      const truth = new Set((await exact.search(query, 10)).map(({ slot }) => slot));
      missed += 10 - (await index.search(query, 10)).filter(({ slot }) => truth.has(slot)).length;
    }
    return missed;
  };
  for (const [slot, vector] of vectors.slice(0, LINE).entries())
    await Promise.all([index.add(slot, vector), exact.add(slot, vector)]);
  expect(await asked()).toBe(0);
  expect(index.keeper.pid).toBeUndefined();

  // The graph is being built from here on.
  for (let slot = LINE; slot < vectors.length; slot++) {
    await Promise.all([index.add(slot, vectors[slot] as Float32Array), exact.add(slot, vectors[slot] as Float32Array)]);
    expect(await index.search(vectors[slot] as Float32Array, 1)).toEqual([{ slot, score: expect.closeTo(1, 5) }]);
    await sleep(1);
  }
  expect(index.keeper.isReady).toBe(false);
  while (!index.keeper.isReady) {
    expect(await asked()).toBeLessThanOrEqual(1);
    await sleep(25);
  }
  await index.settled();
  const scans = index.scans();
  expect(await asked()).toBeLessThanOrEqual(1);
  expect(index.scans()).toBe(scans);
  expect(index.reports).toEqual([]);
  await index.close();
}, 600_000);
