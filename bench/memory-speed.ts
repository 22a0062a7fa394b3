/**
 * memory-speed.ts -- measures the cost of adding and finding vectors with the exact index, and with the graph.
 *
 *   node bench/memory-speed.ts            10,000 vectors of 768 numbers
 *   node bench/memory-speed.ts --large    also a graph of 100,000 vectors of 384; minutes
 *
 * Figures are CPU time, medians of the rounds. A missed target is printed and does not fail the bench.
 */
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { measureGraph } from "./memory-speed/graph.ts";
import { mixture, trueTen } from "./memory-speed/vectors.ts";
import { median } from "./shared/median.ts";
import { cpuOf } from "./shared/meter.ts";
import { verdictOf } from "./shared/print.ts";

const ROWS = 10_000;
const DIMENSIONS = 768;
const QUERIES = 60;
const ROUNDS = 5;
/** Queries before the rounds, because code is optimized only after it has run for a while. */
const WARM_UP = 20;

await measureExact();
if (process.argv.includes("--large")) await measureGraph();

async function measureExact(): Promise<void> {
  const all = mixture(ROWS, QUERIES, DIMENSIONS);
  const [rows, queries] = [all.slice(0, ROWS), all.slice(ROWS)];
  const index = new ExactIndex(DIMENSIONS);
  const adds = await measureRounds([...rows.entries()], ([slot, vector]) => index.add(slot, vector));
  for (const query of queries.slice(0, WARM_UP)) await index.search(query, 10);
  const searches = await measureRounds(queries, (query) => index.search(query, 10));
  let lost = 0;
  for (const query of queries) {
    const slots = new Set((await index.search(query, 10)).map(({ slot }) => slot));
    lost += [...trueTen(rows, query)].filter((slot) => !slots.has(slot)).length;
  }
  await index.close();
  console.log(`Exact search among ${ROWS} vectors of ${DIMENSIONS} numbers, CPU:`);
  console.log(`an add ${(adds * 1_000).toFixed(1)} us, a query of ten ${searches.toFixed(3)} ms`);
  console.log(`Target: no neighbours lost. Measured: ${lost} of ${10 * QUERIES}, ${verdictOf(lost === 0)}`);
}

/** Returns the median CPU of one item in milliseconds. */
async function measureRounds<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<number> {
  const size = items.length / ROUNDS;
  const spent: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const part = items.slice(round * size, (round + 1) * size);
    const ms = await cpuOf(async () => {
      for (const item of part) await act(item);
    });
    spent.push(ms / size);
  }
  return median(spent);
}
