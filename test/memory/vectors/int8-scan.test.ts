import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
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
import { randomNumbers } from "../../helpers/random-vectors.ts";

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
  const source = readFileSync(new URL("../../../src/memory/vectors/int8-scan.ts", import.meta.url), "utf8");
  const bytes = Buffer.from([...source.matchAll(/^ {2}"([\w+/=]+)"/gm)].map(([, line]) => line).join(""), "base64");
  expect(bytes.subarray(0, 4)).toEqual(Buffer.from("\0asm"));
  const memory = openScanMemory().bytes().buffer as ArrayBuffer;
  expect(() => structuredClone(memory, { transfer: [memory] })).toThrow();
});
