import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { memoryFolder, removeMemoryOf, removeStrayIndexes } from "#app/memory-folders.ts";
import type { IndexedRows, IndexScope, ScoredSlot } from "#core/ports/memory.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { chooseIndex, HnswIndex } from "#memory/vectors/hnsw-index.ts";
import {
  BLOCK_BYTES,
  MAX_STRIDE,
  openScanMemory,
  QUERY_LIMIT,
  ROW_LIMIT,
  rowsPerBlock,
  type ScanMemory,
  strideOf,
  toScanQuery,
} from "#memory/vectors/int8-scan.ts";
import { roundVector } from "#memory/vectors/unit-vector.ts";
import { vectorIndexContract } from "../contracts/vector-index.ts";
import { useFolder } from "../helpers/folder.ts";
import { plainIndex } from "../helpers/indexes.ts";
import { clusteredVectors, randomNumbers } from "../helpers/memory-rows.ts";

// hnsw-index.long.ts has the others that keep it.
vectorIndexContract("the exact index", (dimensions) => new ExactIndex(dimensions));

describe("the exact index", () => {
  it("shares one memory with others without mixing rows, and frees its blocks", async () => {
    const memory = openScanMemory();
    const [first, second] = [new ExactIndex(64, memory), new ExactIndex(64, memory)];
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await (slot % 2 === 0 ? first : second).add(slot, vector);
    for (let slot = 0; slot < 3_000; slot += 2) await first.remove(slot);
    expect(first.size).toBe(0);
    const bytes = memory.bytes().byteLength;
    const third = new ExactIndex(64, memory);
    for (let slot = 0; slot < 1_500; slot++) await third.add(slot, vectors[slot] as Float32Array);
    expect(memory.bytes().byteLength).toBe(bytes);
    expect((await second.search(vectors[1] as Float32Array, 1))[0]?.slot).toBe(1);
    expect((await third.search(vectors[2] as Float32Array, 1))[0]?.slot).toBe(2);
  });

  it("answers each of the searches that are started together as if it were alone", async () => {
    const index = new ExactIndex(64);
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
    const asked = [5, 1_500, 2_999].map((slot, at) => ({ query: vectors[slot] as Float32Array, count: 4 + 3 * at }));
    const alone: unknown[] = [];
    for (const { query, count } of asked) alone.push(await index.search(query, count));
    expect(await Promise.all(asked.map(({ query, count }) => index.search(query, count)))).toEqual(alone);
    expect(new Set(alone.map((hits) => JSON.stringify(hits))).size).toBe(3);
  });

  it("is right even when rows are removed during a search", async () => {
    const index = new ExactIndex(64);
    const truth = plainIndex(64);
    const vectors = clusteredVectors(4_000, 64, 10);
    for (const [slot, vector] of vectors.entries()) await index.add(slot, vector);
    const query = vectors[7] as Float32Array;
    let isSearching = true;
    const searching = index.search(query, 10).finally(() => {
      isSearching = false;
    });
    for (let slot = 0; slot < 2_000; slot++) await index.remove(slot);
    expect(isSearching).toBe(true);
    const found = await searching;
    for (const [slot, vector] of vectors.entries()) if (slot >= 2_000) await truth.add(slot, vector);
    const slotsOf = (hits: readonly { slot: number }[]) => hits.map(({ slot }) => slot);
    expect(slotsOf(found)).toEqual(slotsOf(await truth.search(query, 10)));
  });

  it.each([0, 1, 2, 3])("is right when a row is removed %i microtasks after the start of a search", async (ticks) => {
    const index = new ExactIndex(2);
    for (let slot = 0; slot < 100; slot++) await index.add(slot, Float32Array.of(1, slot));
    const searching = index.search(Float32Array.of(0, 1), 1);
    for (let tick = 0; tick < ticks; tick++) await undefined;
    await index.remove(0);
    expect(await searching).toMatchObject([{ slot: 99 }]);
  });

  it("frees all blocks when it is closed", async () => {
    const memory = openScanMemory();
    const vector = new Float32Array(8_000).fill(1);
    const fill = async () => {
      const index = new ExactIndex(8_000, memory);
      for (let slot = 0; slot < 200; slot++) await index.add(slot, vector);
      return index;
    };
    await (await fill()).close();
    const bytes = memory.bytes().byteLength;
    await (await fill()).close();
    expect(memory.bytes().byteLength).toBe(bytes);
  });

  it("finds and returns rounded vectors as an index of other vectors does", async () => {
    const [whole, rounded] = [new ExactIndex(64), new ExactIndex(64, openScanMemory(), { isRounded: true })];
    const vectors = clusteredVectors(3_000, 64, 10);
    for (const [slot, vector] of vectors.entries())
      for (const index of [whole, rounded]) await index.add(slot, roundVector(vector));
    for (let slot = 0; slot < 3_000; slot += 3) for (const index of [whole, rounded]) await index.remove(slot);
    for (const [slot, vector] of vectors.entries())
      expect(rounded.vectorOf(slot)).toEqual(slot % 3 === 0 ? undefined : roundVector(vector));
    for (const query of vectors.slice(0, 50)) {
      const about = ({ slot, score }: ScoredSlot) => ({ slot, score: expect.closeTo(score, 5) });
      const expected = (await whole.search(query, 30)).map(about);
      expect(await rounded.search(query, 30)).toEqual(expected);
    }
    // The control: vectors that were not rounded are not kept whole.
    const [vector] = vectors as [Float32Array];
    await rounded.add(0, vector);
    expect(rounded.vectorOf(0)).not.toEqual(vector);
    expect(rounded.vectorOf(0)).toEqual(roundVector(vector));
  });

  it("ranks the newer of two equally near rows first", async () => {
    const index = new ExactIndex(16);
    const [vector] = clusteredVectors(1, 16, 1);
    for (const slot of [4, 9, 2]) await index.add(slot, vector as Float32Array);
    expect((await index.search(vector as Float32Array, 3)).map(({ slot }) => slot)).toEqual([9, 4, 2]);
  });
});

/** A block with random rows and scales, and a random query. */
function fillBlock(memory: ScanMemory, stride: number, rows: number) {
  const next = randomNumbers(stride);
  const randomBytes = (limit: number) => Int8Array.from({ length: stride }, () => Math.round((next() * 2 - 1) * limit));
  const block = memory.allocate();
  const query = randomBytes(QUERY_LIMIT);
  const scores = Array.from({ length: rows }, (_, row) => {
    const bytes = randomBytes(ROW_LIMIT);
    const scale = Math.fround(next());
    memory.bytes().set(bytes, block + row * stride);
    memory.scales(block, stride)[row] = scale;
    return Math.fround(bytes.reduce((sum, byte, at) => sum + byte * (query[at] as number), 0) * scale);
  });
  return { block, query: toScanQuery(query), scores };
}

/** The rows found, with their scores. */
function find(memory: ScanMemory, query: Int8Array, block: number, count: number, floor: number) {
  const found: [row: number, score: number][] = [];
  memory.scan(query, block, count, floor, (...hit) => found.push(hit));
  return found;
}

describe.each([
  ["native", true],
  ["in JavaScript", false],
])("the scan, %s", (_title, native) => {
  it.each([1, 15, 16, 17, 256, 384, 1000, 1536, 8_192])("computes exact products in %i dimensions", (dimensions) => {
    const stride = strideOf(dimensions);
    const rows = rowsPerBlock(stride);
    const memory = openScanMemory({ native });
    const { block, query, scores } = fillBlock(memory, stride, rows);
    expect(rows).toBeGreaterThanOrEqual(4);
    const all = scores.map((score, row) => [row, score]);
    expect(find(memory, query, block, rows, Number.NEGATIVE_INFINITY)).toEqual(all);
  });

  it("finds only the counted rows that reach the floor, whatever the memory holds behind them", () => {
    const memory = openScanMemory({ native });
    const { block, query, scores } = fillBlock(memory, 64, 101);
    const floor = scores.toSorted((a, b) => b - a)[20] as number;
    memory.scales(block, 64).fill(1e9, 101);
    for (const count of [0, 1, 3, 4, 5, 98, 101])
      expect(find(memory, query, block, count, floor)).toEqual(
        scores.slice(0, count).flatMap((score, row) => (score >= floor ? [[row, score]] : [])),
      );
    expect(find(memory, query, block, 101, floor)).toHaveLength(21);
  });

  it.each([
    ["highest", QUERY_LIMIT, ROW_LIMIT],
    ["lowest", -QUERY_LIMIT, ROW_LIMIT],
  ])("computes the %s possible sum without overflow", (_extreme, query, row) => {
    const memory = openScanMemory({ native });
    const block = memory.allocate();
    const highest = toScanQuery(new Int8Array(MAX_STRIDE).fill(query));
    memory.bytes().fill(row, block, block + MAX_STRIDE);
    memory.scales(block, MAX_STRIDE).fill(1);
    expect(find(memory, highest, block, 1, Number.NEGATIVE_INFINITY)).toEqual([[0, query * row * MAX_STRIDE]]);
  });

  it("allocates disjoint blocks, keeps them over growth, and reuses freed ones", () => {
    const scan = openScanMemory({ native });
    const blocks = Array.from({ length: 40 }, () => scan.allocate());
    for (const [number, block] of blocks.entries()) scan.bytes().fill(number, block, block + BLOCK_BYTES);
    for (const [number, block] of blocks.entries())
      expect([scan.bytes()[block], scan.bytes()[block + BLOCK_BYTES - 1]]).toEqual([number, number]);
    scan.free(blocks[3] as number);
    expect(scan.allocate()).toBe(blocks[3]);
  });
});

it.each([0, -1, Number.NaN, MAX_STRIDE + 1])("rejects vectors of %d dimensions", (dimensions) => {
  expect(() => strideOf(dimensions)).toThrow(expect.objectContaining({ code: "GOALD_CONFIG" }));
});

it("runs the WebAssembly kernel, not the loop, if Node has it", () => {
  const source = readFileSync("src/memory/vectors/int8-scan.ts", "utf8");
  const bytes = Buffer.from([...source.matchAll(/^ {2}"([\w+/=]+)"/gm)].map(([, line]) => line).join(""), "base64");
  expect(bytes.subarray(0, 4)).toEqual(Buffer.from("\0asm"));
  const memory = openScanMemory().bytes().buffer as ArrayBuffer;
  expect(() => structuredClone(memory, { transfer: [memory] })).toThrow();
});

const at = useFolder();
const report = (problem: string) => expect(problem).toBe("");
const scope: IndexScope = { namespace: "foo", embedder: "hash-v2@8", dimensions: 8 };
const noRows: IndexedRows = { at: (slot) => ({ id: `foo/${slot}` }), read: async () => undefined, has: () => false };

it.each([
  ["exact", false],
  ["local", true],
  ["hnsw", true],
] as const)("MEMORY_BACKEND %s: a graph may come to stand beside the rows: %s", async (backend, hasGraph) => {
  const index = chooseIndex(backend, report)(scope, noRows);
  expect(index.constructor === HnswIndex).toBe(hasGraph);
  await index.close();
});

describe("the folder of index files", () => {
  it("differs for each namespace and is inside the root, whatever their names", () => {
    const names = ["a", "A", "a/b", "a_b", "..", ".", "", "a\0b", "ä", "x".repeat(300)];
    const folders = names.map((namespace) => memoryFolder("/root", namespace));
    expect(new Set(folders).size).toBe(names.length);
    for (const path of folders) expect(path).toMatch(/^\/root\/[\w@-]{1,80}$/);
  });

  it("is deleted with its agent, and stray folders are deleted at the next start", async () => {
    const names = ["a", "shared", "gone", "a/b"];
    const make = (namespace: string) => mkdirSync(memoryFolder(at("memory"), namespace), { recursive: true });
    const left = () => names.filter((namespace) => existsSync(memoryFolder(at("memory"), namespace)));
    for (const name of names) make(name);
    await removeMemoryOf({ privateFolder: at() }, "a/b");
    expect(left()).toEqual(["a", "shared", "gone"]);
    await removeStrayIndexes(at("memory"), ["a", "b", "shared"]);
    expect(left()).toEqual(["a", "shared"]);
    await removeStrayIndexes(at("nowhere"), []);
  });
});
