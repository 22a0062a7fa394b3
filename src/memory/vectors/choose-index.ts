/**
 * choose-index.ts -- opens the vector index for each value of the setting `MEMORY_BACKEND`.
 *
 * `local` compares every vector up to 100,000 rows, or more if vectors are short, and uses a graph in a child process above that. The
 * first search above fills the graph in the background, which takes 95 s of CPU for 100,000 rows, while recalls go on by comparing.
 */
import type { OpenIndex } from "#core/ports/vectors.ts";
import { ExactIndex, exactIndexes } from "./exact-index.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { HnswIndex } from "./hnsw-index.ts";
import { openScanMemory, type ScanMemory } from "./int8-scan.ts";

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

export type MemoryBackend = keyof typeof BACKENDS;

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
