/**
 * memory-speed.ts -- measures the cost of adding and finding memories, compared with other packages for Node.
 *
 *   node bench/memory-speed.ts            10,000 vectors of 768 numbers; under a minute
 *   node bench/memory-speed.ts --large    also a graph of 100,000 vectors of 384; minutes
 *
 * All contenders run in one process and take turns. Figures are CPU time, medians of the rounds. A peer that cannot be
 * loaded is named and left out. A missed target is printed and does not fail the bench.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONTENDERS, type Contender, GOALD, type Row } from "./memory-speed/contenders.ts";
import { measureDurable } from "./memory-speed/durable.ts";
import { measureGraph } from "./memory-speed/graph.ts";
import { cpuOf } from "./memory-speed/meter.ts";
import { mixture, trueTen } from "./memory-speed/vectors.ts";
import { median } from "./shared/median.ts";

const ROWS = 10_000;
const DIMENSIONS = 768;
const QUERIES = 60;
const ROUNDS = 5;
/** Queries before the rounds, because code is optimized only after it has run for a while. */
const WARM_UP = 20;
/** Rows are added in this many batches, so that there is a median. */
const LOTS = 5;

interface Figures {
  readonly add: number[];
  readonly query: number[];
  found: number;
}

const folder = mkdtempSync(join(tmpdir(), "goald-bench-"));
try {
  const all: Row[] = mixture(ROWS, QUERIES, DIMENSIONS).map((vector, at) => ({ at, vector, numbers: [...vector] }));
  const [rows, queries] = [all.slice(0, ROWS), all.slice(ROWS)];
  const opened = await openAll();
  const figures = new Map(
    [...opened.keys()].map((name): [string, Figures] => [name, { add: [], query: [], found: 0 }]),
  );
  await measureAdding(opened, figures, rows);
  await measureQueries(opened, figures, queries);
  await countFound(opened, figures, rows, queries);
  for (const contender of opened.values()) await contender.close?.();
  showFigures(figures);
  await measureDurable(folder, all);
  if (process.argv.includes("--large")) await measureGraph(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function openAll(): Promise<ReadonlyMap<string, Contender>> {
  const opened = new Map<string, Contender>();
  for (const [name, open] of Object.entries(CONTENDERS))
    try {
      opened.set(name, await open(folder, DIMENSIONS));
    } catch (error) {
      console.log(`${name} is left out: ${Error.isError(error) ? error.message : error}`);
    }
  return opened;
}

async function measureAdding(
  opened: ReadonlyMap<string, Contender>,
  figures: ReadonlyMap<string, Figures>,
  rows: readonly Row[],
): Promise<void> {
  const size = rows.length / LOTS;
  for (let lot = 0; lot < LOTS; lot++)
    for (const [name, contender] of opened) {
      const part = rows.slice(lot * size, (lot + 1) * size);
      figures.get(name)?.add.push(((await cpuOf(() => contender.add(part))) * 1_000) / size);
    }
}

async function measureQueries(
  opened: ReadonlyMap<string, Contender>,
  figures: ReadonlyMap<string, Figures>,
  queries: readonly Row[],
): Promise<void> {
  const size = queries.length / ROUNDS;
  for (const contender of opened.values())
    for (const query of queries.slice(0, WARM_UP)) await contender.search(query, 10);
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, contender] of opened) {
      const part = queries.slice(round * size, (round + 1) * size);
      const spent = await cpuOf(async () => {
        for (const query of part) await contender.search(query, 10);
      });
      figures.get(name)?.query.push(spent / size);
    }
}

async function countFound(
  opened: ReadonlyMap<string, Contender>,
  figures: ReadonlyMap<string, Figures>,
  rows: readonly Row[],
  queries: readonly Row[],
): Promise<void> {
  const vectors = rows.map(({ vector }) => vector);
  for (const query of queries) {
    const truth = trueTen(vectors, query.vector);
    for (const [name, contender] of opened) {
      const figure = figures.get(name);
      if (figure) figure.found += (await contender.search(query, 10)).filter((at) => truth.has(at)).length;
    }
  }
}

function showFigures(figures: ReadonlyMap<string, Figures>): void {
  const own = figures.get(GOALD) as Figures;
  const ratio = (one: number, other: number) => `${(one / other).toFixed(1)}x`;
  console.log(
    `CPU of one add and one query (ten nearest) with ${ROWS} vectors of ${DIMENSIONS} numbers, and the share of neighbours lost`,
  );
  console.table(
    Object.fromEntries(
      [...figures].map(([name, { add, query, found }]) => [
        name,
        {
          "add us": Number(median(add).toFixed(1)),
          "add / goald": ratio(median(add), median(own.add)),
          "query ms": Number(median(query).toFixed(3)),
          "query / goald": ratio(median(query), median(own.query)),
          lost: `${(100 * (1 - found / (10 * QUERIES))).toFixed(2)} %`,
        },
      ]),
    ),
  );
  for (const peer of ["vectra", "LangChain", "sqlite-vec"])
    showTarget(`a query at least 10 times cheaper than ${peer}`, figures.get(peer)?.query, own.query, 10);
  showTarget("an add at least 20 times cheaper than hnswlib-node", figures.get("hnswlib-node")?.add, own.add, 20);
  console.log(`Target: no neighbours lost by exact search: ${own.found === 10 * QUERIES ? "met" : "MISSED"}`);
}

function showTarget(
  target: string,
  theirs: readonly number[] | undefined,
  ours: readonly number[],
  times: number,
): void {
  if (!theirs) return;
  const ratio = median(theirs) / median(ours);
  console.log(`Target: ${target}. Measured: ${ratio.toFixed(1)} times, ${ratio >= times ? "met" : "MISSED"}`);
}
