/**
 * graph-process.ts -- the program of the process that holds a graph, so that a crash of hnswlib ends nothing else.
 * graph-child.ts starts it with an empty environment. It answers each request once, in their order, and ends when its
 * parent is gone for any reason. Vectors are concatenated in one array, in the order of their slots. Every message is
 * checked, because wrong numbers would crash native code.
 */
import { constants, setPriority } from "node:os";
import type { HierarchicalNSW } from "hnswlib-node";
import { toError } from "#core/errors.ts";

export interface GraphCounts {
  readonly live: number;
  /** Vectors of the graph without a slot: they cost time and are never found. */
  readonly dead: number;
}

export interface GraphChange {
  readonly removed: Uint32Array;
  readonly added: Uint32Array;
  readonly vectors: Float32Array;
}

export interface ToGraph {
  readonly id: number;
  readonly name: keyof GraphHandlers;
  readonly request: unknown;
}
export type FromGraph = {
  readonly id: number;
} & ({ readonly answer: unknown } | { readonly problem: string; readonly isMissing: boolean });

let library: Library | undefined;
let graph: Graph | undefined;

/** The requests by their names. */
export type GraphHandlers = typeof handlers;

const handlers = {
  /** The first request; again to start over with an empty graph. `centre` is about the mean of the rows. */
  open: async ({ centre }: { readonly centre: Float32Array }): Promise<null> => {
    library ??= await loadLibrary();
    graph = new Graph(library, centre);
    return null;
  },
  /** Removes, then adds. An added slot that exists gets the new vector. */
  change: ({ removed, added, vectors }: GraphChange): GraphCounts => {
    const open = requireGraph();
    const { dimensions } = open;
    if (vectors.length !== added.length * dimensions)
      throw new RangeError(`Expected ${added.length} vectors of ${dimensions} numbers, got ${vectors.length} numbers.`);
    for (const slot of removed) open.remove(slot);
    for (const [at, slot] of added.entries()) open.add(slot, vectors.subarray(at * dimensions, (at + 1) * dimensions));
    return { live: open.live, dead: open.dead };
  },
  search: ({ query, count }: { readonly query: Float32Array; readonly count: number }): Uint32Array =>
    requireGraph().search(query, count),
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
  last = last.then(async () => {
    // Errors are ignored: `disconnect` follows when the parent is gone.
    process.send?.(await handleRequest(message), () => undefined);
  });
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
    return { id, problem: toError(error).message, isMissing };
  }
}

type Library = Pick<typeof import("hnswlib-node"), "HierarchicalNSW">;

const SPACE = "ip";
const LINKS = 16;
const CONSTRUCTION_EF = 400;
/**
 * hnswlib's ef, the candidates of a search. Of the thirty nearest of 100 centred queries among 74,212 texts with the offline
 * embedder, 99.0, 99.6 and 99.8 % are found with 512, 1,024 and 2,048, and of the ten nearest all with 2,048.
 */
const SEARCH_EF = 2_048;

const FIRST_CAPACITY = 1_024;
const SEED = 100;
/** Deviation of a 32-bit unit vector from length 1; larger ones are rejected. */
const NORM_TOLERANCE = 1e-3;

/**
 * Vectors in an HNSW graph of hnswlib-node; used only in a process of its own. The library crashes the process on a
 * wrong type or a wrong length, so every call is checked first and gets no function of ours. We choose the labels:
 * counted from 0, never reused. A replaced or removed vector stays in the graph, marked as deleted.
 *
 * Queries are centred: the mean of the rows is subtracted from them, so they are far from all rows, and a search among
 * the rows as they are misses a tenth of the nearest. So the graph holds the rows less a centre that never changes:
 * their products with a query are those of the rows less one number, the same for all. Each is divided by the root of
 * its length: at full length the long ones have all links and some others cannot be reached, at equal length the order
 * differs too much.
 */
class Graph {
  readonly #centre: Float32Array;
  readonly #graph: HierarchicalNSW;
  /** By label; undefined: dead. */
  readonly #slots: (number | undefined)[] = [];
  /** By label: the length of its vector in the graph, which is the root of its distance from the centre. */
  readonly #lengths: number[] = [];
  /** By slot. */
  readonly #labels = new Map<number, number>();

  constructor(library: Library, centre: Float32Array) {
    this.#centre = centre;
    this.#graph = new library.HierarchicalNSW(SPACE, this.dimensions);
    this.#graph.initIndex(FIRST_CAPACITY, LINKS, CONSTRUCTION_EF, SEED);
    this.#graph.setEf(SEARCH_EF);
  }

  get dimensions(): number {
    return this.#centre.length;
  }

  get live(): number {
    return this.#labels.size;
  }

  get dead(): number {
    return this.#slots.length - this.#labels.size;
  }

  /** Throws for an invalid vector. */
  add(slot: number, vector: Float32Array): void {
    checkVector(vector, this.dimensions);
    this.remove(slot);
    const centred = vector.map((component, at) => component - (this.#centre[at] as number));
    const length = Math.hypot(...centred) ** 0.5;
    const label = this.#slots.length;
    const capacity = this.#graph.getMaxElements();
    if (label >= capacity) this.#graph.resizeIndex(2 * capacity);
    const point = Array.from(centred, (component) => component / (length || 1));
    this.#graph.addPoint(point, label);
    this.#slots.push(slot);
    this.#lengths.push(length);
    this.#labels.set(slot, label);
  }

  remove(slot: number): void {
    const label = this.#labels.get(slot);
    if (label === undefined) return;
    this.#graph.markDelete(label);
    this.#slots[label] = undefined;
    this.#labels.delete(slot);
  }

  /** Returns the slots of approximately the nearest vectors, nearest first. */
  search(query: Float32Array, count: number): Uint32Array {
    checkVector(query, this.dimensions);
    const wanted = Math.min(Math.max(0, Math.floor(count)), this.live);
    if (wanted === 0) return new Uint32Array(0);
    const { neighbors, distances } = this.#graph.searchKnn(Array.from(query), Math.min(SEARCH_EF, this.live));
    const found = neighbors.map((label, at) => ({
      slot: this.#slots[label],
      product: (1 - (distances[at] as number)) * (this.#lengths[label] as number),
    }));
    found.sort((a, b) => b.product - a.product);
    const slots = found.flatMap(({ slot }) => slot ?? []);
    return Uint32Array.from(slots.slice(0, wanted));
  }
}

/** The sum of squares also detects NaN and infinite numbers. */
function checkVector(vector: Float32Array, dimensions: number): void {
  let squares = 0;
  for (let at = 0; at < vector.length; at++) squares += (vector[at] as number) ** 2;
  if (vector.length !== dimensions || !(Math.abs(squares - 1) < NORM_TOLERANCE))
    throw new RangeError(
      `Expected a unit vector of ${dimensions} numbers, got ${vector.length} with a length of ${Math.sqrt(squares)}.`,
    );
}
