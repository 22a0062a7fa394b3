/**
 * choose-index.ts -- which index stands behind a memory: the one table of what `MEMORY_BACKEND` may say.
 *
 * `local` looks at every vector while they are few, and asks a graph in a process of its own when they are many;
 * it changes over while it is running, and nobody waits for it.
 */
import type { OpenIndex } from "#core/ports/vectors.ts";
import { ExactIndex, exactIndexes } from "./exact-index.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { HnswIndex } from "./hnsw-index.ts";
import { indexFolder } from "./index-folders.ts";
import { openScanMemory, type ScanMemory } from "./int8-scan.ts";

export interface IndexParts {
  /** Absolute path of the folder for index files; null: none are kept. */
  readonly folder: string | null;
  /** Told in words when an index works less well than it should. */
  readonly report: (problem: string) => void;
}

/** Up to here a scan costs less in all than building and asking a graph, when each row is asked about once. */
const MAX_SCANNED_ROWS = 50_000;

const BACKENDS = {
  local: (parts) => graphIndexes(parts, MAX_SCANNED_ROWS + 1),
  exact: () => exactIndexes(),
  hnsw: (parts) => graphIndexes(parts, 1),
} as const satisfies Readonly<Record<string, (parts: IndexParts) => OpenIndex>>;

export type MemoryBackend = keyof typeof BACKENDS;

export const chooseIndex = (backend: MemoryBackend, parts: IndexParts): OpenIndex => BACKENDS[backend](parts);

/** Indexes with a graph beside them as soon as they have `fromRows` rows. */
export function graphIndexes({ folder, report }: IndexParts, fromRows: number): OpenIndex {
  let memory: ScanMemory | undefined;
  return (scope) => {
    memory ??= openScanMemory();
    const exact = new ExactIndex(scope.dimensions, memory);
    const graphScope = { ...scope, folder: folder === null ? null : indexFolder(folder, scope) };
    return new HnswIndex(
      exact,
      new GraphKeeper({ scope: graphScope, fromRows, rows: exact, report }),
      scope.dimensions,
    );
  };
}
