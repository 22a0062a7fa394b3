/**
 * choose-index.ts -- opens the vector index for each value of the setting `MEMORY_BACKEND`.
 *
 * `local` compares every vector up to 100,000 rows, or more if vectors are short, and uses a graph in a child process above that. It
 * switches in the background while recalls go on.
 */
import type { OpenIndex } from "#core/ports/vectors.ts";
import { ExactIndex, exactIndexes } from "./exact-index.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { HnswIndex } from "./hnsw-index.ts";
import { indexFolder } from "./index-folders.ts";
import { openScanMemory, type ScanMemory } from "./int8-scan.ts";

export interface IndexParts {
  /** Absolute path of the folder for index files; null: no files. */
  readonly folder: string | null;
  /** Called when an index is degraded. */
  readonly report: (problem: string) => void;
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

const BACKENDS = {
  local: (parts) => openGraphIndexes(parts, graphFrom),
  exact: () => exactIndexes(),
  hnsw: (parts) => openGraphIndexes(parts, () => MIN_GRAPH_ROWS),
} as const satisfies Readonly<Record<string, (parts: IndexParts) => OpenIndex>>;

export type MemoryBackend = keyof typeof BACKENDS;

export const chooseIndex = (backend: MemoryBackend, parts: IndexParts): OpenIndex => BACKENDS[backend](parts);

/** Returns a function that opens indexes which use a graph from a number of rows on that depends on the dimensions. */
export function openGraphIndexes(
  { folder, report }: IndexParts,
  graphFromRows: (dimensions: number) => number,
): OpenIndex {
  let memory: ScanMemory | undefined;
  return (scope) => {
    memory ??= openScanMemory();
    const exact = new ExactIndex(scope.dimensions, memory, scope);
    const fromRows = graphFromRows(scope.dimensions);
    const graphScope = { ...scope, folder: folder === null ? null : indexFolder(folder, scope) };
    return new HnswIndex(
      exact,
      new GraphKeeper({ scope: graphScope, fromRows, rows: exact, report }),
      scope.dimensions,
    );
  };
}
