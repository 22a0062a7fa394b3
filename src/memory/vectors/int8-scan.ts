/**
 * int8-scan.ts -- computes dot products of one query with many rows of bytes, by SIMD instructions in WebAssembly.
 *
 * Rows are stored in a WebAssembly memory, allocated in blocks of one page (64 KB): all indexes of a process share one
 * memory, and a growing index copies nothing. Without WebAssembly the blocks are in an ArrayBuffer, and a loop in
 * JavaScript computes the same numbers.
 *
 * `KERNEL` is int8-scan.wat assembled by wabt 1.0.39: `wat2wasm int8-scan.wat`, then base64.
 */
import { GoaldError } from "#core/errors.ts";

/** Largest number of components: 8,192 keep every sum below 2^31 (see int8-scan.wat). */
export const MAX_STRIDE = 8_192;
/** Largest magnitudes of a quantised component. */
export const ROW_LIMIT = 127;
export const QUERY_LIMIT = 2_047;

export const BLOCK_BYTES = 65_536;
/** The first page holds the query, then the products of one block. */
const QUERY_AT = 0;
const PRODUCTS_AT = 16_384;
/** Pages added per growth, because each growth detaches the views. Unused pages cost no memory. */
const GROW_PAGES = 16;

export interface ScanMemory {
  /** Returns the byte address of a block of `BLOCK_BYTES` with undefined content. Throws when memory is exhausted. */
  allocate(): number;
  free(block: number): void;
  /** Returns a view of all bytes, valid until the next `allocate`. */
  bytes(): Int8Array;
  /** Sets the query of the following scans. Components must be within ±`QUERY_LIMIT`. */
  setQuery(query: Int16Array): void;
  /** Returns the products with `count` rows of `stride` bytes (a multiple of 16), valid until the next scan. */
  scan(block: number, stride: number, count: number): Int32Array;
}

/** Uses WebAssembly if available; `native: false` selects the loop in JavaScript. */
export function openScanMemory(options: { readonly native: boolean } = { native: true }): ScanMemory {
  const pages = options.native ? (openNativePages() ?? openPlainPages()) : openPlainPages();
  const unused: number[] = [];
  let end = BLOCK_BYTES;

  return {
    allocate() {
      const reused = unused.pop();
      if (reused !== undefined) return reused;
      if (end >= pages.buffer().byteLength) pages.grow(GROW_PAGES);
      const block = end;
      end += BLOCK_BYTES;
      return block;
    },
    free: (block) => void unused.push(block),
    bytes: () => new Int8Array(pages.buffer()),
    setQuery: (query) => new Int16Array(pages.buffer(), QUERY_AT, query.length).set(query),
    scan(block, stride, count) {
      pages.scan(QUERY_AT, block, stride, count, PRODUCTS_AT);
      return new Int32Array(pages.buffer(), PRODUCTS_AT, count);
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

type ScanKernel = (query: number, row: number, stride: number, count: number, out: number) => void;
interface ScanPages {
  buffer(): ArrayBuffer;
  grow(pages: number): void;
  readonly scan: ScanKernel;
}

function openNativePages(): ScanPages | undefined {
  try {
    const memory = new WebAssembly.Memory({ initial: 1 + GROW_PAGES, maximum: 65_536 });
    const kernel = new WebAssembly.Module(Buffer.from(KERNEL, "base64"));
    const { exports } = new WebAssembly.Instance(kernel, { scan: { memory } });
    return { buffer: () => memory.buffer, grow: (pages) => void memory.grow(pages), scan: exports.scan as ScanKernel };
  } catch {
    return undefined;
  }
}

function openPlainPages(): ScanPages {
  let buffer = new ArrayBuffer((1 + GROW_PAGES) * BLOCK_BYTES);
  return {
    buffer: () => buffer,
    grow(pages) {
      const larger = new ArrayBuffer(buffer.byteLength * 2 + pages * BLOCK_BYTES);
      new Uint8Array(larger).set(new Uint8Array(buffer));
      buffer = larger;
    },
    scan(query, row, stride, count, out) {
      const left = new Int16Array(buffer, query, stride);
      const right = new Int8Array(buffer, row, stride * count);
      const products = new Int32Array(buffer, out, count);
      for (let index = 0, at = 0; index < count; index++) {
        let sum = 0;
        for (let component = 0; component < stride; component++, at++)
          sum += (left[component] as number) * (right[at] as number);
        products[index] = sum;
      }
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
  "AGFzbQEAAAABCQFgBX9/f39/AAIQAQRzY2FuBm1lbW9yeQIAAQMCAQAHCAEEc2NhbgAACssBAcgBAgN/A3sgBCADQQJ0aiEFAkADQCAEIAVP" +
  "DQH9DAAAAAAAAAAAAAAAAAAAAAAhCf0MAAAAAAAAAAAAAAAAAAAAACEKIAAhByABIAJqIQYDQCAB/QAEACEIIAkgB/0ABAAgCP2HAf26Af2u" +
  "ASEJIAogB/0ABBAgCP2IAf26Af2uASEKIAdBIGohByABQRBqIQEgASAGSQ0ACyAJIAr9rgEhCSAEIAn9GwAgCf0bAWogCf0bAiAJ/RsDamo2" +
  "AgAgBEEEaiEEDAALCws=";
