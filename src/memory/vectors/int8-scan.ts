/**
 * int8-scan.ts -- finds the rows of bytes with the highest dot products, by SIMD instructions in WebAssembly.
 *
 * Rows and their scales are stored in a WebAssembly memory, allocated in blocks of one page (64 KB): all indexes of a process
 * share one memory, and a growing index copies nothing. Without WebAssembly the blocks are in an ArrayBuffer, and a loop
 * in JavaScript computes the same numbers.
 *
 * `KERNEL` is int8-scan.wat assembled by wabt 1.0.39: `wat2wasm --enable-relaxed-simd int8-scan.wat`, then base64.
 */
import { GoaldError, orUndefined } from "#core/errors.ts";

/** Largest number of components: 8,192 keep every sum below 2^31, and four rows fit into a block. */
export const MAX_STRIDE = 8_192;
/** Largest magnitudes of a quantised component. The kernel needs queries of 7 bits. */
export const ROW_LIMIT = 127;
export const QUERY_LIMIT = 63;
/** Makes the components of a query positive. */
const QUERY_SHIFT = 64;

export const BLOCK_BYTES = 65_536;
const SCALE_BYTES = 4;
/** Rows that the kernel compares at a time. A block has room for a multiple of them. */
const ROWS_AT_A_TIME = 4;
/** The first page holds the query, then the hits of one block. The kernel overwrites 16 bytes before the hits. */
const QUERY_AT = 0;
const HITS_AT = 16_384;
/** A hit has the number of its row, then its score. */
const CELL_BYTES = 4;
const CELLS_PER_HIT = 2;
/** Pages added per growth, because each growth detaches the views. Unused pages cost no memory. */
const GROW_PAGES = 16;

export type ScanMemory = ReturnType<typeof openScanMemory>;

/** Returns the query with these components, which must be within ±`QUERY_LIMIT`. */
export const toScanQuery = (components: Int8Array): Int8Array => components.map((each) => each + QUERY_SHIFT);

/** Returns the number of rows, with their scales, in a block. */
export const rowsPerBlock = (stride: number): number =>
  Math.floor(BLOCK_BYTES / (stride + SCALE_BYTES) / ROWS_AT_A_TIME) * ROWS_AT_A_TIME;

const scalesAt = (block: number, stride: number): number => block + rowsPerBlock(stride) * stride;

/** Uses WebAssembly if available; `native: false` selects the loop in JavaScript. */
export function openScanMemory(options: { readonly native: boolean } = { native: true }) {
  const pages = (options.native ? orUndefined(openNativePages) : undefined) ?? openPlainPages();
  const unused: number[] = [];
  let end = BLOCK_BYTES;

  return {
    /** Returns the byte address of a block of `BLOCK_BYTES` with undefined content. Throws when memory is exhausted. */
    allocate(): number {
      const reused = unused.pop();
      if (reused !== undefined) return reused;
      if (end >= pages.buffer().byteLength) pages.grow(GROW_PAGES);
      const block = end;
      end += BLOCK_BYTES;
      return block;
    },
    free: (block: number): void => void unused.push(block),
    /** Returns a view of all bytes, valid until the next `allocate`. */
    bytes: () => new Int8Array(pages.buffer()),
    /** Returns a view of the scales of a block, one per row, valid until the next `allocate`. */
    scales: (block: number, stride: number) =>
      new Float32Array(pages.buffer(), scalesAt(block, stride), rowsPerBlock(stride)),
    /**
     * Offers those of the first `count` rows of a block, in their order, whose product with the query, times their scale, is at
     * least `floor`: `offer` receives the number of a row in its block, and its score. `query` is a result of `toScanQuery`; the rows have as many bytes, a multiple of 16.
     */
    scan(query: Int8Array, block: number, count: number, floor: number, offer: (row: number, score: number) => void) {
      const stride = query.length;
      new Int8Array(pages.buffer(), QUERY_AT, stride).set(query);
      const end = pages.scan(QUERY_AT, block, stride, count, scalesAt(block, stride), floor, HITS_AT);
      if (end === HITS_AT) return;
      const rows = new Int32Array(pages.buffer(), HITS_AT);
      const scores = new Float32Array(pages.buffer(), HITS_AT);
      const cells = (end - HITS_AT) / CELL_BYTES;
      for (let at = 0; at < cells; at += CELLS_PER_HIT) offer(rows[at] as number, scores[at + 1] as number);
    },
  };
}

/** The used part of WebAssembly, which the types of Node lack. */
declare const WebAssembly: {
  readonly Memory: new (size: {
    initial: number;
    maximum: number;
  }) => { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
};

type ScanPages = ReturnType<typeof openPlainPages>;

function openNativePages(): ScanPages {
  const memory = new WebAssembly.Memory({ initial: 1 + GROW_PAGES, maximum: 65_536 });
  const kernel = new WebAssembly.Module(Buffer.from(KERNEL, "base64"));
  const { exports } = new WebAssembly.Instance(kernel, { scan: { memory } });
  return {
    buffer: () => memory.buffer,
    grow: (pages) => void memory.grow(pages),
    scan: exports.scan as ScanPages["scan"],
  };
}

function openPlainPages() {
  let buffer = new ArrayBuffer((1 + GROW_PAGES) * BLOCK_BYTES);
  return {
    buffer: () => buffer,
    grow(pages: number): void {
      const larger = new ArrayBuffer(buffer.byteLength * 2 + pages * BLOCK_BYTES);
      new Uint8Array(larger).set(new Uint8Array(buffer));
      buffer = larger;
    },
    /** int8-scan.wat documents the parameters. */
    scan(query: number, row: number, stride: number, count: number, scale: number, floor: number, hit: number): number {
      const left = new Int8Array(buffer, query, stride);
      const right = new Int8Array(buffer, row, stride * count);
      const scales = new Float32Array(buffer, scale, count);
      const rows = new Int32Array(buffer, hit, CELLS_PER_HIT * count);
      const scores = new Float32Array(buffer, hit, CELLS_PER_HIT * count);
      const least = Math.fround(floor);
      let end = 0;
      for (let number = 0, at = 0; number < count; number++) {
        let sum = 0;
        for (let component = 0; component < stride; component++, at++)
          sum += ((left[component] as number) - QUERY_SHIFT) * (right[at] as number);
        const score = Math.fround(Math.fround(sum) * (scales[number] as number));
        if (!(score >= least)) continue;
        rows[end] = number;
        scores[end + 1] = score;
        end += CELLS_PER_HIT;
      }
      return hit + end * CELL_BYTES;
    },
  };
}

/** Returns the bytes of a row of so many components. Throws beyond `MAX_STRIDE`. */
export function strideOf(dimensions: number): number {
  const stride = Math.ceil(dimensions / 16) * 16;
  if (!(dimensions >= 1 && stride <= MAX_STRIDE))
    throw new GoaldError("GOALD_CONFIG", `Expected vectors of 1 to ${MAX_STRIDE} dimensions, got ${dimensions}.`, {
      hint: "Choose an embedding model or a number of dimensions within this range.",
    });
  return stride;
}

const KERNEL =
  "AGFzbQEAAAABDAFgB39/f39/fX8BfwIQAQRzY2FuBm1lbW9yeQIAAQMCAQAHCAEEc2NhbgAACoAGAf0FAgh/CnsgBkEQayELAkADQCAHIANPDQH9DAAAAA" +
  "AAAAAAAAAAAAAAAAAhEf0MAAAAAAAAAAAAAAAAAAAAACES/QwAAAAAAAAAAAAAAAAAAAAAIRP9DAAAAAAAAAAAAAAAAAAAAAAhFP0MAAAAAAAAAAAAAAAA" +
  "AAAAACEV/QwAAAAAAAAAAAAAAAAAAAAAIRb9DAAAAAAAAAAAAAAAAAAAAAAhF/0MAAAAAAAAAAAAAAAAAAAAACEYIAAhCSABIAJqIQggCCEMIAwgAmohDS" +
  "ANIAJqIQ4DQCAJ/QAEACEPIAH9AAQAIRAgECAPIBH9kwIhESAQ/QxAQEBAQEBAQEBAQEBAQEBAIBX9kwIhFSAM/QAEACEQIBAgDyAS/ZMCIRIgEP0MQEBA" +
  "QEBAQEBAQEBAQEBAQCAW/ZMCIRYgDf0ABAAhECAQIA8gE/2TAiETIBD9DEBAQEBAQEBAQEBAQEBAQEAgF/2TAiEXIA79AAQAIRAgECAPIBT9kwIhFCAQ/Q" +
  "xAQEBAQEBAQEBAQEBAQEBAIBj9kwIhGCAJQRBqIQkgAUEQaiEBIAxBEGohDCANQRBqIQ0gDkEQaiEOIAEgCEkNAAsgDiEBIBEgFf2xASERIBIgFv2xASES" +
  "IBMgF/2xASETIBQgGP2xASEUIBEgEv0NAAECAwQFBgcQERITFBUWFyARIBL9DQgJCgsMDQ4PGBkaGxwdHh/9rgEhESATIBT9DQABAgMEBQYHEBESExQVFh" +
  "cgEyAU/Q0ICQoLDA0ODxgZGhscHR4f/a4BIRMgESAT/Q0AAQIDCAkKCxAREhMYGRobIBEgE/0NBAUGBwwNDg8UFRYXHB0eH/2uASERIBH9+gEgBP0ABAD9" +
  "5gEhESAEQRBqIQQgESAF/RP9Rv2kASEKIAoEQCALIBH9CwQAA0AgCmghCSAGIAcgCWo2AgAgBiALIAlBAnRqKgIAOAIEIAcgCWogA0kEQCAGQQhqIQYLIA" +
  "ogCkEBa3EhCiAKDQALCyAHQQRqIQcMAAsLIAYL";
