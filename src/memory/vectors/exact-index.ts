/**
 * exact-index.ts -- finds nearest neighbours by comparing every row, without error.
 *
 * A scan over 8-bit rows finds candidates; their 32-bit vectors determine the exact order. Vectors that are rounded to 8 bits have only
 * these rows. Up to 100,000 rows and more this costs less in total than building and searching a graph, because an agent adds one
 * row per query.
 *
 * Rows are stored in blocks that never move. The last row replaces a removed one, so there are no gaps to skip or
 * compact, and an empty block is freed.
 */
import type { IndexScope, OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import { BestOf } from "#util/best-of.ts";
import { createTurns } from "#util/turns.ts";
import { BLOCK_BYTES, openScanMemory, QUERY_LIMIT, ROW_LIMIT, type ScanMemory, strideOf } from "./int8-scan.ts";
import { rankSlots, SPARE_CANDIDATES } from "./rank-slots.ts";
import { factorToUnit, fromBytes, quantise, toUnit } from "./unit-vector.ts";

/** Consecutive rows: their bytes in the scan memory, their vectors and scales here. */
interface RowBlock {
  readonly address: number;
  /** Unit vectors; undefined when the bytes have all of them. */
  readonly vectors: Float32Array | undefined;
  /** Largest component of each row: 127 in its bytes. */
  readonly scales: Float32Array;
}

/** Returns a function that opens exact indexes with one shared memory. */
export function exactIndexes(): OpenIndex {
  let memory: ScanMemory | undefined;
  return (scope) => {
    memory ??= openScanMemory();
    return new ExactIndex(scope.dimensions, memory, scope);
  };
}

export class ExactIndex implements VectorIndex {
  readonly #dimensions: number;
  readonly #isRounded: boolean;
  readonly #stride: number;
  readonly #rowsPerBlock: number;
  readonly #memory: ScanMemory;
  readonly #blocks: RowBlock[] = [];
  /** By position. */
  readonly #slots: number[] = [];
  /** By slot. */
  readonly #positions = new Map<number, number>();
  readonly #takeTurn = createTurns();
  /** Number of additions and removals. An interrupted search detects by it that rows have moved. */
  #changes = 0;

  /** Throws GOALD_CONFIG for more dimensions than the scan supports. */
  constructor(
    dimensions: number,
    memory: ScanMemory = openScanMemory(),
    { isRounded = false }: Pick<IndexScope, "isRounded"> = {},
  ) {
    this.#dimensions = dimensions;
    this.#isRounded = isRounded;
    this.#stride = strideOf(dimensions);
    this.#rowsPerBlock = Math.floor(BLOCK_BYTES / this.#stride);
    this.#memory = memory;
  }

  get size(): number {
    return this.#slots.length;
  }

  slots(): Uint32Array {
    return Uint32Array.from(this.#slots);
  }

  has(slot: number): boolean {
    return this.#positions.has(slot);
  }

  /** Returns the unit vector of a slot, valid until the next change. */
  vectorOf(slot: number): Float32Array | undefined {
    const position = this.#positions.get(slot);
    return position === undefined ? undefined : this.#vectorAt(position);
  }

  /** Replaces the vector of a known slot. Rejects a vector without a direction: wrong length, not finite or all zero. */
  async add(slot: number, vector: Float32Array): Promise<void> {
    const factor = factorToUnit(vector, this.#dimensions);
    const position = this.#positions.get(slot) ?? this.#slots.length;
    this.#writeRow(position, vector, factor);
    this.#slots[position] = slot;
    this.#positions.set(slot, position);
    this.#changes++;
  }

  async remove(slot: number): Promise<void> {
    const position = this.#positions.get(slot);
    if (position === undefined) return;
    const last = this.#slots.length - 1;
    const moved = this.#slots[last] as number;
    if (position !== last) {
      this.#writeRow(position, this.#vectorAt(last), 1);
      this.#slots[position] = moved;
      this.#positions.set(moved, position);
    }
    this.#positions.delete(slot);
    this.#slots.length = last;
    this.#changes++;
    if (last % this.#rowsPerBlock === 0) this.#freeLastBlock();
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const unit = toUnit(query, this.#dimensions);
    if (count < 1) return [];
    const nearest =
      (await this.#scanInTurns(unit, count + SPARE_CANDIDATES)) ?? this.#scan(unit, count + SPARE_CANDIDATES);
    const slots = nearest.map((position) => this.#slots[position] as number);
    return rankSlots(unit, slots, (slot) => this.vectorOf(slot), count);
  }

  async close(): Promise<void> {
    for (const { address } of this.#blocks.splice(0)) this.#memory.free(address);
    this.#slots.length = 0;
    this.#positions.clear();
    this.#changes++;
  }

  /** Writes directly into the block: a copy would cost more than everything else. */
  #writeRow(position: number, vector: Float32Array, factor: number): void {
    const row = position % this.#rowsPerBlock;
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] ?? this.#addBlock();
    const { vectors, scales } = block;
    const from = vectors ? row * this.#dimensions : 0;
    if (vectors && factor === 1) vectors.set(vector, from);
    else if (vectors) for (let at = 0; at < vector.length; at++) vectors[from + at] = (vector[at] as number) * factor;
    const bytes = this.#memory.bytes();
    const start = block.address + row * this.#stride;
    bytes.fill(0, start + this.#dimensions, start + this.#stride);
    const unit = vectors ?? toUnit(vector, this.#dimensions);
    scales[row] = quantise(unit, from, this.#dimensions, ROW_LIMIT, bytes, start);
  }

  #addBlock(): RowBlock {
    const block = {
      address: this.#memory.allocate(),
      vectors: this.#isRounded ? undefined : new Float32Array(this.#rowsPerBlock * this.#dimensions),
      scales: new Float32Array(this.#rowsPerBlock),
    };
    this.#blocks.push(block);
    return block;
  }

  /** Frees the last block, which must be empty. */
  #freeLastBlock(): void {
    const block = this.#blocks.pop();
    if (block) this.#memory.free(block.address);
  }

  #vectorAt(position: number): Float32Array {
    const row = position % this.#rowsPerBlock;
    const { address, vectors } = this.#blocks[Math.floor(position / this.#rowsPerBlock)] as RowBlock;
    if (vectors) return vectors.subarray(row * this.#dimensions, (row + 1) * this.#dimensions);
    const start = address + row * this.#stride;
    return fromBytes(this.#memory.bytes().subarray(start, start + this.#dimensions));
  }

  /** As `#scan`, but yields to other work between blocks. Returns undefined when rows changed meanwhile. */
  async #scanInTurns(unit: Float32Array, count: number): Promise<number[] | undefined> {
    const best = new BestOf(Math.min(count, this.size));
    const changes = this.#changes;
    const query = this.#quantiseQuery(unit);
    this.#memory.setQuery(query);
    for (let block = 0; block < this.#blocks.length; block++) {
      const pause = this.#takeTurn();
      if (pause) {
        await pause;
        if (this.#changes !== changes) return undefined;
        this.#memory.setQuery(query);
      }
      this.#scanBlock(block, best);
    }
    return best.slots();
  }

  /** Returns the positions of the best rows by 8-bit product, in no order. */
  #scan(unit: Float32Array, count: number): number[] {
    const best = new BestOf(Math.min(count, this.size));
    this.#memory.setQuery(this.#quantiseQuery(unit));
    for (let block = 0; block < this.#blocks.length; block++) this.#scanBlock(block, best);
    return best.slots();
  }

  #quantiseQuery(unit: Float32Array): Int16Array {
    const query = new Int16Array(this.#stride);
    quantise(unit, 0, unit.length, QUERY_LIMIT, query, 0);
    return query;
  }

  #scanBlock(number: number, best: BestOf): void {
    const { address, scales } = this.#blocks[number] as RowBlock;
    const first = number * this.#rowsPerBlock;
    const rows = Math.min(this.#rowsPerBlock, this.size - first);
    if (rows > 0) offerAll(best, this.#memory.scan(address, this.#stride, rows), scales, first);
  }
}

/** Offers the rows of one block, which starts at position `first`. */
function offerAll(best: BestOf, products: Int32Array, scales: Float32Array, first: number): void {
  let { floor } = best;
  for (let row = 0; row < products.length; row++) {
    const score = (products[row] as number) * (scales[row] as number);
    if (score <= floor) continue;
    best.offer(score, first + row);
    floor = best.floor;
  }
}
