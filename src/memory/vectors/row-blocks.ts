/**
 * row-blocks.ts -- stores the vectors of an exact index, in rows numbered from 0, and scans them.
 *
 * Rows are stored in blocks that never move. The first 8 bits of the components and their scale are in the scan memory;
 * the other 16, which determine the exact order, are here. Vectors that were rounded to 8 bits have only the first.
 */
import type { IndexScope } from "#core/ports/memory.ts";
import type { BestOf } from "#util/best-of.ts";
import { QUERY_LIMIT, ROW_LIMIT, rowsPerBlock, type ScanMemory, strideOf, toScanQuery } from "./int8-scan.ts";
import { dotFinely, dotOfBytes, fromBytes, fromFineBytes, quantise, quantiseFinely } from "./unit-vector.ts";

interface RowBlock {
  readonly address: number;
  /** The lower 16 bits of each component; undefined when the vectors were rounded to the upper 8. */
  readonly rests: Int16Array | undefined;
}

export class RowBlocks {
  readonly #dimensions: number;
  readonly #isRounded: boolean;
  readonly #stride: number;
  readonly #rowsPerBlock: number;
  readonly #memory: ScanMemory;
  readonly #blocks: RowBlock[] = [];

  /** Throws GOALD_CONFIG for more dimensions than the scan supports. */
  constructor(dimensions: number, memory: ScanMemory, { isRounded = false }: Pick<IndexScope, "isRounded">) {
    this.#dimensions = dimensions;
    this.#isRounded = isRounded;
    this.#stride = strideOf(dimensions);
    this.#rowsPerBlock = rowsPerBlock(this.#stride);
    this.#memory = memory;
  }

  /** Number of blocks, for `scan`. */
  get blocks(): number {
    return this.#blocks.length;
  }

  /** Writes a row: one that exists, or the next one. `factor` makes `vector` a unit vector. */
  write(number: number, vector: Float32Array, factor: number): void {
    if (number === this.#blocks.length * this.#rowsPerBlock) this.#addBlock();
    const { row, start, rests, address } = this.#placeOf(number);
    const bytes = this.#memory.bytes();
    bytes.fill(0, start + this.#dimensions, start + this.#stride);
    const largest = rests
      ? quantiseFinely(vector, bytes, start, rests, row * this.#dimensions)
      : quantise(vector, ROW_LIMIT, bytes, start);
    this.#scales(address)[row] = largest * factor;
  }

  /** Copies one row over another. */
  copy(from: number, to: number): void {
    const [source, target] = [this.#placeOf(from), this.#placeOf(to)];
    this.#memory.bytes().copyWithin(target.start, source.start, source.start + this.#stride);
    const rests = source.rests?.subarray(source.row * this.#dimensions, (source.row + 1) * this.#dimensions);
    if (rests) target.rests?.set(rests, target.row * this.#dimensions);
    this.#scales(target.address)[target.row] = this.#scales(source.address)[source.row] as number;
  }

  /** Frees the blocks that the first `rows` rows do not need. */
  truncate(rows: number): void {
    const needed = Math.ceil(rows / this.#rowsPerBlock);
    for (const { address } of this.#blocks.splice(needed)) this.#memory.free(address);
  }

  /** Returns the unit vector of a row. */
  vectorAt(number: number): Float32Array {
    const { row, start, rests, address } = this.#placeOf(number);
    const bytes = this.#memory.bytes().subarray(start, start + this.#dimensions);
    if (!rests) return fromBytes(bytes);
    const own = rests.subarray(row * this.#dimensions, (row + 1) * this.#dimensions);
    return fromFineBytes(bytes, own, this.#scales(address)[row] as number);
  }

  /** Returns the dot product of a row's unit vector with another vector: the cosine if that is a unit vector. */
  scoreAt(number: number, unit: Float32Array): number {
    const { row, start, rests, address } = this.#placeOf(number);
    if (!rests) return dotOfBytes(unit, this.#memory.bytes(), start);
    const scale = this.#scales(address)[row] as number;
    return dotFinely(unit, this.#memory.bytes(), start, rests, row * this.#dimensions) * scale;
  }

  /** Returns a unit vector as a query of `scan`. */
  toQuery(unit: Float32Array): Int8Array {
    const components = new Int8Array(this.#stride);
    quantise(unit, QUERY_LIMIT, components);
    return toScanQuery(components);
  }

  /** Offers the rows of one block by their 8-bit products with a query. `rows` is the number of rows in all blocks. */
  scan(block: number, rows: number, query: Int8Array, best: BestOf): void {
    const first = block * this.#rowsPerBlock;
    const count = Math.min(this.#rowsPerBlock, rows - first);
    if (count <= 0) return;
    const { address } = this.#blocks[block] as RowBlock;
    this.#memory.scan(query, address, count, best.floor, (row, score) => best.offer(score, first + row));
  }

  /** The block of a row, its place there and the address of its bytes. */
  #placeOf(number: number): RowBlock & { readonly row: number; readonly start: number } {
    const { address, rests } = this.#blocks[Math.floor(number / this.#rowsPerBlock)] as RowBlock;
    const row = number % this.#rowsPerBlock;
    return { address, rests, row, start: address + row * this.#stride };
  }

  /** Largest component of each unit vector: 127 in its bytes. */
  #scales(address: number): Float32Array {
    return this.#memory.scales(address, this.#stride);
  }

  #addBlock(): void {
    this.#blocks.push({
      address: this.#memory.allocate(),
      rests: this.#isRounded ? undefined : new Int16Array(this.#rowsPerBlock * this.#dimensions),
    });
  }
}
