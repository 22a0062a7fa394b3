/**
 * exact-index.ts -- nearest neighbours by looking at every row.
 *
 * A scan over 8-bit rows finds the nearest candidates, the 32-bit originals of those put them in
 * their exact order. Up to some 50,000 rows this costs less in all than building and
 * asking a graph, because an agent adds one row for each query; and it is never wrong.
 *
 * Rows lie in blocks that never move. A removed row is replaced by the last one, so there
 * are no gaps to skip and nothing to compact; a block that becomes empty is given back.
 */
import type { OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import { BestOf } from "#util/best-of.ts";
import { createTurns } from "#util/turns.ts";
import { BLOCK_BYTES, openScanMemory, QUERY_LIMIT, ROW_LIMIT, type ScanMemory, strideOf } from "./int8-scan.ts";
import { dot, factorToUnit, quantise, toUnit } from "./unit-vector.ts";

/**
 * Candidates beyond the asked number that are compared exactly. The 8-bit product is off by a
 * few thousandths, so a true neighbour may stand a few places too low.
 */
const SPARE_CANDIDATES = 16;

interface Block {
  readonly address: number;
  /** Unit vectors, as they were given. */
  readonly originals: Float32Array;
  /** Largest component of each row: what one step of its bytes is worth, times 127. */
  readonly scales: Float32Array;
}

/** Opens exact indexes that share one memory. */
export function exactIndexes(): OpenIndex {
  let memory: ScanMemory | undefined;
  return ({ dimensions }) => {
    memory ??= openScanMemory();
    return new ExactIndex(dimensions, memory);
  };
}

export class ExactIndex implements VectorIndex {
  readonly #dimensions: number;
  readonly #stride: number;
  readonly #rowsPerBlock: number;
  readonly #memory: ScanMemory;
  readonly #blocks: Block[] = [];
  /** Position -> slot, and back. */
  readonly #slots: number[] = [];
  readonly #positions = new Map<number, number>();
  readonly #turn = createTurns();
  /** Counts additions and removals: a search that others interrupted sees by it that rows have moved. */
  #changes = 0;

  /** Throws GOALD_CONFIG when vectors are longer than the scan can add up. */
  constructor(dimensions: number, memory: ScanMemory = openScanMemory()) {
    this.#dimensions = dimensions;
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

  /** The unit vector of a slot, until the next change: not a copy. */
  vectorOf(slot: number): Float32Array | undefined {
    const position = this.#positions.get(slot);
    return position === undefined ? undefined : this.#original(position);
  }

  /** A slot that is taken gets the new vector. Rejects a vector that has no direction: wrong length, not finite, zero. */
  async add(slot: number, vector: Float32Array): Promise<void> {
    const factor = factorToUnit(vector, this.#dimensions);
    const position = this.#positions.get(slot) ?? this.#slots.length;
    this.#write(position, vector, factor);
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
      this.#write(position, this.#original(last), 1);
      this.#slots[position] = moved;
      this.#positions.set(moved, position);
    }
    this.#positions.delete(slot);
    this.#slots.length = last;
    this.#changes++;
    if (last % this.#rowsPerBlock === 0) this.#shrink();
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const unit = toUnit(query, this.#dimensions);
    if (count < 1) return [];
    const nearest =
      (await this.#scanInTurns(unit, count + SPARE_CANDIDATES)) ?? this.#scan(unit, count + SPARE_CANDIDATES);
    const found = nearest.map((position) => ({
      slot: this.#slots[position] as number,
      score: dot(unit, this.#original(position)),
    }));
    return found.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
  }

  async close(): Promise<void> {
    for (const { address } of this.#blocks.splice(0)) this.#memory.free(address);
    this.#slots.length = 0;
    this.#positions.clear();
    this.#changes++;
  }

  /** Straight to where the row lies: a copy in between would cost more than all else. */
  #write(position: number, vector: Float32Array, factor: number): void {
    const row = position % this.#rowsPerBlock;
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] ?? this.#grow();
    const from = row * this.#dimensions;
    const { originals } = block;
    if (factor === 1) originals.set(vector, from);
    else for (let at = 0; at < vector.length; at++) originals[from + at] = (vector[at] as number) * factor;
    const bytes = this.#memory.bytes();
    const start = block.address + row * this.#stride;
    bytes.fill(0, start + this.#dimensions, start + this.#stride);
    block.scales[row] = quantise(originals, from, this.#dimensions, ROW_LIMIT, bytes, start);
  }

  #grow(): Block {
    const block = {
      address: this.#memory.allocate(),
      originals: new Float32Array(this.#rowsPerBlock * this.#dimensions),
      scales: new Float32Array(this.#rowsPerBlock),
    };
    this.#blocks.push(block);
    return block;
  }

  /** Gives the last block back, which has no row any more. */
  #shrink(): void {
    const block = this.#blocks.pop();
    if (block) this.#memory.free(block.address);
  }

  #original(position: number): Float32Array {
    const from = (position % this.#rowsPerBlock) * this.#dimensions;
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] as Block;
    return block.originals.subarray(from, from + this.#dimensions);
  }

  /** As `#scan`, with a turn for everybody else now and then; undefined when rows were changed meanwhile. */
  async #scanInTurns(unit: Float32Array, count: number): Promise<number[] | undefined> {
    const best = new BestOf(Math.min(count, this.size));
    const changes = this.#changes;
    const query = this.#quantised(unit);
    this.#memory.setQuery(query);
    for (let block = 0; block < this.#blocks.length; block++) {
      const pause = this.#turn();
      if (pause) {
        await pause;
        if (this.#changes !== changes) return undefined;
        this.#memory.setQuery(query);
      }
      this.#scanBlock(block, best);
    }
    return best.slots();
  }

  /** Positions of the best rows by their 8-bit products, in no order. */
  #scan(unit: Float32Array, count: number): number[] {
    const best = new BestOf(Math.min(count, this.size));
    this.#memory.setQuery(this.#quantised(unit));
    for (let block = 0; block < this.#blocks.length; block++) this.#scanBlock(block, best);
    return best.slots();
  }

  #quantised(unit: Float32Array): Int16Array {
    const query = new Int16Array(this.#stride);
    quantise(unit, 0, unit.length, QUERY_LIMIT, query, 0);
    return query;
  }

  #scanBlock(number: number, best: BestOf): void {
    const { address, scales } = this.#blocks[number] as Block;
    const first = number * this.#rowsPerBlock;
    const rows = Math.min(this.#rowsPerBlock, this.size - first);
    if (rows > 0) offerAll(best, this.#memory.scan(address, this.#stride, rows), scales, first);
  }
}

/** The rows of one block, from position `first` on. */
function offerAll(best: BestOf, products: Int32Array, scales: Float32Array, first: number): void {
  let { floor } = best;
  for (let row = 0; row < products.length; row++) {
    const score = (products[row] as number) * (scales[row] as number);
    if (score <= floor) continue;
    best.offer(score, first + row);
    floor = best.floor;
  }
}
