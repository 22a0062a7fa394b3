/**
 * graph.ts -- vectors in an HNSW graph of hnswlib-node. Only ever used in a process of its own (graph-process.ts).
 *
 * The library takes the whole process with it when it is handed a wrong type, a wrong length or a damaged file, so
 * everything is checked before each call, and no function of ours is handed to it. Its labels are ours: counted
 * up from 0 and never used again. A vector that is replaced or removed stays in the graph, marked as deleted.
 *
 * Each label carries a digest of its vector. A graph that was read from a file begins with all of its vectors marked,
 * and takes one up again when a vector with the same digest is added: the file need not know what slots meant.
 */
import { hash } from "node:crypto";
import type { HierarchicalNSW } from "hnswlib-node";

export type Library = Pick<typeof import("hnswlib-node"), "HierarchicalNSW">;

export const SPACE = "ip";
export const LINKS = 16;
export const CONSTRUCTION_REACH = 200;
export const KEY_BYTES = 16;

const FIRST_CAPACITY = 1_024;
const SEED = 100;
/** Vectors come normalised in 32 bits; what is farther from 1 is none of ours. */
const NORM_TOLERANCE = 1e-3;

export class Graph {
  readonly dimensions: number;
  /** Vectors added to the graph and marked in it; whoever keeps it sets it back. */
  unkept = 0;
  readonly #graph: HierarchicalNSW;
  /** Digest of each label's vector, one after the other; zeros: not to be taken up again. */
  #keys: Uint8Array;
  /** Label -> slot, undefined for the dead. */
  readonly #slots: (number | undefined)[] = [];
  readonly #labels = new Map<number, number>();
  /** Digest -> dead labels that wait for it. */
  readonly #waiting = new Map<string, number[]>();

  /** An empty graph, or what `readGraph` found: a graph with the digests of its labels. */
  constructor(library: Library, dimensions: number, found?: { graph: HierarchicalNSW; keys: Uint8Array }) {
    this.dimensions = dimensions;
    if (!found) {
      this.#graph = new library.HierarchicalNSW(SPACE, dimensions);
      this.#graph.initIndex(FIRST_CAPACITY, LINKS, CONSTRUCTION_REACH, SEED);
      this.#keys = new Uint8Array(FIRST_CAPACITY * KEY_BYTES);
      return;
    }
    this.#graph = found.graph;
    this.#keys = found.keys;
    const count = found.keys.length / KEY_BYTES;
    this.#slots.length = count;
    for (let label = 0; label < count; label++) {
      const key = this.#keyOf(label);
      if (key === NO_KEY) continue;
      this.#mark(label);
      const others = this.#waiting.get(key);
      if (others) others.push(label);
      else this.#waiting.set(key, [label]);
    }
  }

  get live(): number {
    return this.#labels.size;
  }

  get dead(): number {
    return this.#slots.length - this.#labels.size;
  }

  /** Digests of all labels: what lies beside the graph's file. */
  get keys(): Uint8Array {
    return this.#keys.subarray(0, this.#slots.length * KEY_BYTES);
  }

  /** For the files; not to be changed by anyone else. */
  get native(): HierarchicalNSW {
    return this.#graph;
  }

  /** Throws for a slot or a vector that is none. */
  add(slot: number, vector: Float32Array): void {
    checkSlot(slot);
    checkVector(vector, this.dimensions);
    this.remove(slot);
    const key = hash("sha256", vector, "buffer").subarray(0, KEY_BYTES);
    const label = this.#takeUp(key) ?? this.#append(key, vector);
    this.#slots[label] = slot;
    this.#labels.set(slot, label);
  }

  remove(slot: number): void {
    const label = this.#labels.get(slot);
    if (label === undefined) return;
    this.#graph.markDelete(label);
    this.#keys.fill(0, label * KEY_BYTES, (label + 1) * KEY_BYTES);
    this.#slots[label] = undefined;
    this.#labels.delete(slot);
    this.unkept++;
  }

  /** Slots of about the nearest, nearest first. */
  search(query: Float32Array, count: number): Uint32Array {
    checkVector(query, this.dimensions);
    const wanted = Math.min(Math.max(0, Math.floor(count)), this.live);
    if (wanted === 0) return new Uint32Array(0);
    this.#graph.setEf(reachFor(this.#slots.length));
    const { neighbors } = this.#graph.searchKnn(Array.from(query), wanted);
    return Uint32Array.from(neighbors.map((label) => this.#slots[label]).filter((slot) => slot !== undefined));
  }

  /** One that nobody took up before the file was written is marked already, which the library refuses to do again. */
  #mark(label: number): void {
    try {
      this.#graph.markDelete(label);
    } catch {
      // It is marked.
    }
  }

  #takeUp(key: Uint8Array): number | undefined {
    const name = nameOf(key);
    const labels = this.#waiting.get(name);
    const label = labels?.pop();
    if (labels?.length === 0) this.#waiting.delete(name);
    if (label !== undefined) this.#graph.unmarkDelete(label);
    return label;
  }

  #append(key: Uint8Array, vector: Float32Array): number {
    const label = this.#slots.length;
    const capacity = this.#graph.getMaxElements();
    if (label >= capacity) this.#graph.resizeIndex(2 * Math.max(FIRST_CAPACITY, capacity));
    this.#graph.addPoint(Array.from(vector), label);
    if ((label + 1) * KEY_BYTES > this.#keys.length) {
      const larger = new Uint8Array(2 * Math.max(this.#keys.length, FIRST_CAPACITY * KEY_BYTES));
      larger.set(this.#keys);
      this.#keys = larger;
    }
    this.#keys.set(key, label * KEY_BYTES);
    this.#slots.push(undefined);
    this.unkept++;
    return label;
  }

  #keyOf(label: number): string {
    return nameOf(this.#keys.subarray(label * KEY_BYTES, (label + 1) * KEY_BYTES));
  }
}

/**
 * How far a search looks about: a larger graph hides more of the nearest. Measured: at most 0.5 % are missed up to 100,000.
 * The library forgets it with every file that it reads.
 */
const reachFor = (count: number): number => Math.round(Math.min(256, Math.max(128, 64 * Math.sqrt(count / 10_000))));

const nameOf = (key: Uint8Array): string => Buffer.from(key).toString("latin1");
const NO_KEY = "\0".repeat(KEY_BYTES);

function checkSlot(slot: number): void {
  if (!(Number.isInteger(slot) && slot >= 0 && slot <= 0xffff_ffff))
    throw new RangeError(`Expected a slot of 0 to 2^32-1, got ${slot}.`);
}

/** No number in it may be NaN or infinite: the sum of squares tells. */
function checkVector(vector: Float32Array, dimensions: number): void {
  let squares = 0;
  for (let at = 0; at < vector.length; at++) squares += (vector[at] as number) ** 2;
  if (vector.length !== dimensions || !(Math.abs(squares - 1) < NORM_TOLERANCE))
    throw new RangeError(
      `Expected a unit vector of ${dimensions} numbers, got ${vector.length} with a length of ${Math.sqrt(squares)}.`,
    );
}
