/**
 * graph-process.ts -- the program of the process that holds a graph, so that a crash of hnswlib ends nothing else.
 *
 * graph-child.ts starts it with an empty environment. It reads and writes one folder of index files, answers requests
 * in their order, and ends when its parent is gone for any reason.
 */
import { constants, setPriority } from "node:os";
import { toError } from "#core/errors.ts";
import { Graph, type Library } from "./graph.ts";
import { discardGraph, readGraph, saveGraph } from "./graph-files.ts";
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
  open: async ({ from, centre, ...requested }) => {
    library ??= await loadLibrary();
    scope = requested;
    graph = undefined;
    const found = await readSaved(library, requested, from);
    if (centre.length !== requested.dimensions)
      throw new RangeError(`Expected a centre of ${requested.dimensions} numbers, got ${centre.length}.`);
    graph = found.graph ?? new Graph(library, centre);
    return { found: graph.dead, ...(found.problem === undefined ? {} : { problem: found.problem }) };
  },
  change: ({ removed, added, vectors }) => {
    const { graph: open } = requireOpen();
    const { dimensions } = open;
    if (vectors.length !== added.length * dimensions)
      throw new RangeError(`Expected ${added.length} vectors of ${dimensions} numbers, got ${vectors.length} numbers.`);
    for (const slot of removed) open.remove(slot);
    for (const [at, slot] of added.entries()) open.add(slot, vectors.subarray(at * dimensions, (at + 1) * dimensions));
    return { live: open.live, dead: open.dead, unsaved: open.unsaved };
  },
  search: ({ query, count }) => requireOpen().graph.search(query, count),
  save: async () => {
    const { library: loaded, scope: of, graph: open } = requireOpen();
    open.unsaved = 0;
    if (of.folder !== null && open.live > 0) await saveGraph(loaded, { ...of, folder: of.folder }, open);
    return null;
  },
};

/** Treats an unreadable folder as a missing graph. */
async function readSaved(
  loaded: Library,
  { folder, ...of }: GraphScope,
  from: GraphRequests["open"]["request"]["from"],
): Promise<{ readonly graph?: Graph | undefined; readonly problem?: string }> {
  try {
    if (folder !== null && from === "discarded") await discardGraph(folder);
    return folder === null || from !== "saved" ? {} : await readGraph(loaded, { ...of, folder });
  } catch (error) {
    return { problem: toError(error).message };
  }
}

function requireOpen() {
  if (!library || !scope || !graph) throw new Error("Expected the request `open` first.");
  return { library, scope, graph };
}

/** The optional library is not installed or not built for this machine. */
let isMissing = false;

async function loadLibrary(): Promise<Library> {
  try {
    return (await import("hnswlib-node")).default;
  } catch (error) {
    isMissing = true;
    throw error;
  }
}

/** Handles one request after the other: a search must not run on a graph that is being replaced. */
let last: Promise<void> = Promise.resolve();

process.on("message", (message: ToGraph) => {
  last = last.then(async () => sendAnswer(await handleRequest(message)));
});
process.on("disconnect", () => process.exit());
// A terminal sends Ctrl-C to this process too, but the parent saves the graph before it ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.umask(0o077);
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

async function handleRequest({ id, name, request }: ToGraph): Promise<FromGraph> {
  try {
    const act = handlers[name] as (request: unknown) => unknown;
    return { id, answer: await act(request) };
  } catch (error) {
    const problem = toError(error).message;
    return isMissing ? { id, problem, isMissing } : { id, problem };
  }
}

function sendAnswer(message: FromGraph): void {
  // Errors are ignored: `disconnect` follows when the parent is gone.
  process.send?.(message, () => undefined);
}
