/** graph.ts -- measures the graph of 100,000 vectors: lost neighbours, and CPU in both processes. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type GraphKeeper, HnswIndex } from "#memory/vectors/hnsw-index.ts";
import { openScanMemory } from "#memory/vectors/int8-scan.ts";
import { toUnit } from "#memory/vectors/unit-vector.ts";
import { createTurns } from "#util/turns.ts";
import { cpuMsOf, cpuOf } from "../shared/meter.ts";
import { verdictOf } from "../shared/print.ts";
import { mixture } from "./vectors.ts";

const ROWS = 100_000;
const DIMENSIONS = 384;
const QUERIES = 200;

export async function measureGraph(): Promise<void> {
  const all = mixture(ROWS, QUERIES, DIMENSIONS);
  const queries = all.slice(ROWS);
  const truth: ReadonlySet<number>[] = [];
  console.log(`\nA graph of ${ROWS} vectors of ${DIMENSIONS} numbers`);
  const index = new HnswIndex(
    openScanMemory(),
    { dimensions: DIMENSIONS },
    { fromRows: 1, report: console.log, searchLimitMs: 10_000 },
  );
  const { keeper } = index;
  const began = performance.now();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const here = await cpuOf(async () => {
    const turn = createTurns();
    for (const [slot, vector] of all.slice(0, ROWS).entries()) {
      await index.add(slot, vector);
      await turn();
    }
    await settle(index, keeper);
  });
  const there = cpuMsOf(keeper.pid);
  const wall = performance.now() - began;
  delay.disable();
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  console.log(
    `CPU ${seconds(here)} in this process, ${seconds(there)} in the graph's process; ${seconds(wall)} in total`,
  );
  const pauses = [99.9, 100].map((percent) => `${(delay.percentile(percent) / 1e6 - 5).toFixed(0)} ms`);
  console.log(`The event loop was delayed by at most ${pauses[1]}, and by at most ${pauses[0]} in 99.9 % of cases`);
  for (const query of queries)
    truth.push(new Set((await index.scan(toUnit(query, DIMENSIONS), 10)).map(({ slot }) => slot)));
  let found = 0;
  const asked = await cpuOf(async () => {
    for (const [at, query] of queries.entries())
      found += (await index.search(query, 10)).filter(({ slot }) => truth[at]?.has(slot)).length;
  });
  const asking = cpuMsOf(keeper.pid) - there;
  const scanned = await cpuOf(async () => {
    for (const query of queries) await index.scan(toUnit(query, DIMENSIONS), 10);
  });
  const each = (ms: number) => `${(ms / QUERIES).toFixed(2)} ms`;
  const lost = 100 * (1 - found / (10 * QUERIES));
  console.log(
    `A query: CPU ${each(asked)} in this process, ${each(asking)} in the graph's process; exact search ${each(scanned)}`,
  );
  console.log(`Target: at most 0.5 % of neighbours lost. Measured: ${lost.toFixed(2)} %, ${verdictOf(lost <= 0.5)}`);
  await index.close();
}

/** The first search starts the process. */
async function settle(index: HnswIndex, keeper: GraphKeeper): Promise<void> {
  await index.search(new Float32Array(DIMENSIONS).fill(1), 1);
  while (!keeper.isReady || !keeper.unsent()[Symbol.iterator]().next().done) await sleep(50);
}
