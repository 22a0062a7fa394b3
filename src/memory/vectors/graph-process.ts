/**
 * graph-process.ts -- the program of the process in which a graph lives: hnswlib may crash here, and nothing else does.
 *
 * Started by graph-child.ts with an empty environment. It reads and writes one folder of index files, answers its
 * parent in the order asked, and ends when its parent is gone, however that went.
 */
import { constants, setPriority } from "node:os";
import { toError } from "#core/errors.ts";
import { Graph, type Library } from "./graph.ts";
import { discardGraph, keepGraph, readGraph } from "./graph-files.ts";
import type { GraphRequestName, GraphRequests, GraphScope } from "./graph-messages.ts";

export interface ToGraph {
  readonly id: number;
  readonly name: GraphRequestName;
  readonly request: unknown;
}
export type FromGraph = {
  readonly id: number;
} & ({ readonly answer: unknown } | { readonly problem: string; readonly isMissing?: true });

let library: Library | undefined;
let scope: GraphScope | undefined;
let graph: Graph | undefined;

type Handlers = {
  readonly [Name in GraphRequestName]: (
    request: GraphRequests[Name]["request"],
  ) => GraphRequests[Name]["answer"] | Promise<GraphRequests[Name]["answer"]>;
};

const handlers: Handlers = {
  open: async ({ from, ...asked }) => {
    library ??= await loadLibrary();
    scope = asked;
    graph = undefined;
    const found = await lookFor(library, asked, from);
    graph = found.graph ?? new Graph(library, asked.dimensions);
    return { found: graph.dead, ...(found.problem === undefined ? {} : { problem: found.problem }) };
  },
  change: ({ removed, added, vectors }) => {
    const { graph: open } = opened();
    const { dimensions } = open;
    if (vectors.length !== added.length * dimensions)
      throw new RangeError(`Expected ${added.length} vectors of ${dimensions} numbers, got ${vectors.length} numbers.`);
    for (const slot of removed) open.remove(slot);
    for (const [at, slot] of added.entries()) open.add(slot, vectors.subarray(at * dimensions, (at + 1) * dimensions));
    return { live: open.live, dead: open.dead, unkept: open.unkept };
  },
  search: ({ query, count }) => opened().graph.search(query, count),
  keep: async () => {
    const { library: loaded, scope: of, graph: open } = opened();
    open.unkept = 0;
    if (of.folder !== null && open.live > 0) await keepGraph(loaded, { ...of, folder: of.folder }, open);
    return null;
  },
};

/** A folder that cannot be read is a graph that is not there. */
async function lookFor(
  loaded: Library,
  { folder, ...of }: GraphScope,
  from: GraphRequests["open"]["request"]["from"],
): Promise<{ readonly graph?: Graph | undefined; readonly problem?: string }> {
  try {
    if (folder !== null && from === "discarded") await discardGraph(folder);
    return folder === null || from !== "kept" ? {} : await readGraph(loaded, { ...of, folder });
  } catch (error) {
    return { problem: toError(error).message };
  }
}

function opened() {
  if (!library || !scope || !graph) throw new Error("Expected `open` first.");
  return { library, scope, graph };
}

/** It is optional: not installed, or not built for this machine. */
let isMissing = false;

async function loadLibrary(): Promise<Library> {
  try {
    return (await import("hnswlib-node")).default;
  } catch (error) {
    isMissing = true;
    throw error;
  }
}

/** One after the other: a search must not meet a graph that is being replaced. */
let last: Promise<void> = Promise.resolve();

process.on("message", (message: ToGraph) => {
  last = last.then(async () => answer(await handle(message)));
});
process.on("disconnect", () => process.exit());
// The terminal's Ctrl-C is meant for the parent, which lets its graph be kept first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.umask(0o077);
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

async function handle({ id, name, request }: ToGraph): Promise<FromGraph> {
  try {
    const act = handlers[name] as (request: unknown) => unknown;
    return { id, answer: await act(request) };
  } catch (error) {
    const problem = toError(error).message;
    return isMissing ? { id, problem, isMissing } : { id, problem };
  }
}

function answer(message: FromGraph): void {
  // A parent that is gone reads nothing; `disconnect` follows.
  process.send?.(message, () => undefined);
}
