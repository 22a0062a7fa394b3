/**
 * graph-process.ts -- the program of the process that holds a graph, so that a crash of hnswlib ends nothing else.
 *
 * graph-child.ts starts it with an empty environment. It answers each request once, in their order, and ends when its parent is gone
 * for any reason. Vectors are concatenated in one array, in the order of their slots. Every message is checked, because wrong
 * numbers would crash native code.
 */
import { constants, setPriority } from "node:os";
import { toError } from "#core/errors.ts";
import { Graph, type Library } from "./graph.ts";

export interface GraphRequests {
  /** The first request; again to start over with an empty graph. `centre` is about the mean of the rows. */
  open: { readonly request: { readonly centre: Float32Array }; readonly answer: null };
  /** Removes, then adds. An added slot that exists gets the new vector. */
  change: {
    readonly request: {
      readonly removed: Uint32Array;
      readonly added: Uint32Array;
      readonly vectors: Float32Array;
    };
    readonly answer: GraphCounts;
  };
  search: { readonly request: { readonly query: Float32Array; readonly count: number }; readonly answer: Uint32Array };
}
export type GraphRequestName = keyof GraphRequests;

export interface GraphCounts {
  readonly live: number;
  /** Vectors of the graph without a slot: they cost time and are never found. */
  readonly dead: number;
}

export interface ToGraph {
  readonly id: number;
  readonly name: GraphRequestName;
  readonly request: unknown;
}
export type FromGraph = {
  readonly id: number;
} & ({ readonly answer: unknown } | { readonly problem: string; readonly isMissing?: true });

let library: Library | undefined;
let graph: Graph | undefined;

type Handlers = {
  readonly [Name in GraphRequestName]: (
    request: GraphRequests[Name]["request"],
  ) => GraphRequests[Name]["answer"] | Promise<GraphRequests[Name]["answer"]>;
};

const handlers: Handlers = {
  open: async ({ centre }) => {
    library ??= await loadLibrary();
    graph = new Graph(library, centre);
    return null;
  },
  change: ({ removed, added, vectors }) => {
    const open = requireGraph();
    const { dimensions } = open;
    if (vectors.length !== added.length * dimensions)
      throw new RangeError(`Expected ${added.length} vectors of ${dimensions} numbers, got ${vectors.length} numbers.`);
    for (const slot of removed) open.remove(slot);
    for (const [at, slot] of added.entries()) open.add(slot, vectors.subarray(at * dimensions, (at + 1) * dimensions));
    return { live: open.live, dead: open.dead };
  },
  search: ({ query, count }) => requireGraph().search(query, count),
};

function requireGraph(): Graph {
  if (!graph) throw new Error("Expected the request `open` first.");
  return graph;
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
// A terminal sends Ctrl-C to this process too, but the parent goes on until its agents have stopped.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
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
