import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import {
  BLOCK_BYTES,
  MAX_STRIDE,
  openScanMemory,
  QUERY_LIMIT,
  ROW_LIMIT,
  strideOf,
} from "#memory/vectors/int8-scan.ts";
import { randomNumbers } from "../../helpers/random-vectors.ts";

/** Reference implementation. */
const product = (query: Int16Array, row: Int8Array): number =>
  query.reduce((sum, x, at) => sum + x * (row[at] ?? 0), 0);

describe.each([
  ["native", true],
  ["in JavaScript", false],
])("the scan, %s", (_title, native) => {
  it.each([1, 15, 16, 17, 256, 384, 1000, 1536])("computes exact products in %i dimensions", (dimensions) => {
    const stride = strideOf(dimensions);
    const next = randomNumbers(dimensions);
    const scan = openScanMemory({ native });
    const block = scan.allocate();
    const rows = Math.min(40, Math.floor(BLOCK_BYTES / stride));
    const query = new Int16Array(stride);
    for (let at = 0; at < dimensions; at++) query[at] = Math.round((next() * 2 - 1) * QUERY_LIMIT);
    const bytes = scan
      .bytes()
      .subarray(block, block + rows * stride)
      .fill(0);
    for (let row = 0; row < rows; row++)
      for (let at = 0; at < dimensions; at++) bytes[row * stride + at] = Math.round((next() * 2 - 1) * ROW_LIMIT);
    scan.setQuery(query);
    const expected = Array.from({ length: rows }, (_, row) =>
      product(query, bytes.subarray(row * stride, (row + 1) * stride)),
    );
    expect([...scan.scan(block, stride, rows)]).toEqual(expected);
  });

  it.each([
    ["highest", QUERY_LIMIT, ROW_LIMIT],
    ["lowest", -QUERY_LIMIT, ROW_LIMIT],
  ])("computes the %s possible sum without overflow", (_extreme, query, row) => {
    const scan = openScanMemory({ native });
    const block = scan.allocate();
    scan.setQuery(new Int16Array(MAX_STRIDE).fill(query));
    scan.bytes().fill(row, block, block + MAX_STRIDE);
    expect([...scan.scan(block, MAX_STRIDE, 1)]).toEqual([query * row * MAX_STRIDE]);
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
