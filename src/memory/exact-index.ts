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
import { GoaldError } from "#core/errors.ts";
import type { VectorIndex } from "#core/ports.ts";
import { BestOf } from "./best-of.ts";
import { BLOCK_BYTES, openScanMemory, QUERY_LIMIT, ROW_LIMIT, type ScanMemory, strideOf } from "./int8-scan.ts";

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

export class ExactIndex implements VectorIndex {
  readonly #dimensions: number;
  readonly #stride: number;
  readonly #rowsPerBlock: number;
  readonly #memory: ScanMemory;
  readonly #blocks: Block[] = [];
  /** Position -> slot, and back. */
  readonly #slots: number[] = [];
  readonly #positions = new Map<number, number>();

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

  /** A slot that is taken gets the new vector. Rejects a vector that has no direction: wrong length, not finite, zero. */
  async add(slot: number, vector: Float32Array): Promise<void> {
    const unit = toUnit(vector, this.#dimensions);
    const position = this.#positions.get(slot) ?? this.#slots.length;
    this.#write(position, unit);
    this.#slots[position] = slot;
    this.#positions.set(slot, position);
  }

  async remove(slot: number): Promise<void> {
    const position = this.#positions.get(slot);
    if (position === undefined) return;
    const last = this.#slots.length - 1;
    const moved = this.#slots[last] as number;
    if (position !== last) {
      this.#write(position, this.#original(last));
      this.#slots[position] = moved;
      this.#positions.set(moved, position);
    }
    this.#positions.delete(slot);
    this.#slots.length = last;
    if (last % this.#rowsPerBlock === 0) this.#shrink();
  }

  async search(
    query: Float32Array,
    count: number,
  ): Promise<readonly { readonly slot: number; readonly score: number }[]> {
    const unit = toUnit(query, this.#dimensions);
    if (count < 1) return [];
    const found = this.#scan(unit, count + SPARE_CANDIDATES).map((position) => ({
      slot: this.#slots[position] as number,
      score: this.#score(unit, position),
    }));
    return found.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
  }

  #write(position: number, unit: Float32Array): void {
    const row = position % this.#rowsPerBlock;
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] ?? this.#grow();
    const from = block.address + row * this.#stride;
    const bytes = this.#memory
      .bytes()
      .subarray(from, from + this.#stride)
      .fill(0);
    block.originals.set(unit, row * this.#dimensions);
    block.scales[row] = quantise(unit, ROW_LIMIT, bytes);
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

  #score(unit: Float32Array, position: number): number {
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] as Block;
    return dot(unit, block.originals, (position % this.#rowsPerBlock) * this.#dimensions);
  }

  #original(position: number): Float32Array {
    const from = (position % this.#rowsPerBlock) * this.#dimensions;
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] as Block;
    return block.originals.subarray(from, from + this.#dimensions);
  }

  /** Positions of the best rows by their 8-bit products, in no order. */
  #scan(unit: Float32Array, count: number): number[] {
    const query = new Int16Array(this.#stride);
    quantise(unit, QUERY_LIMIT, query);
    this.#memory.setQuery(query);
    const best = new BestOf(Math.min(count, this.size));
    let first = 0;
    for (const { address, scales } of this.#blocks) {
      const rows = Math.min(this.#rowsPerBlock, this.size - first);
      if (rows <= 0) break;
      offerAll(best, this.#memory.scan(address, this.#stride, rows), scales, first);
      first += rows;
    }
    return best.kept();
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

/** Spreads the components over ±`limit`; returns the largest magnitude. */
function quantise(unit: Float32Array, limit: number, into: Int8Array | Int16Array): number {
  let largest = 0;
  for (let at = 0; at < unit.length; at++) largest = Math.max(largest, Math.abs(unit[at] as number));
  const factor = limit / largest;
  for (let at = 0; at < unit.length; at++) into[at] = Math.round((unit[at] as number) * factor);
  return largest;
}

/** Four sums side by side: one alone would wait for each addition to end. */
export function dot(a: Float32Array, b: Float32Array, from = 0): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  const whole = a.length - (a.length % 4);
  for (let at = 0; at < whole; at += 4) {
    first += (a[at] as number) * (b[from + at] as number);
    second += (a[at + 1] as number) * (b[from + at + 1] as number);
    third += (a[at + 2] as number) * (b[from + at + 2] as number);
    fourth += (a[at + 3] as number) * (b[from + at + 3] as number);
  }
  for (let at = whole; at < a.length; at++) first += (a[at] as number) * (b[from + at] as number);
  return first + second + third + fourth;
}

function toUnit(vector: Float32Array, dimensions: number): Float32Array {
  const norm = vector.length === dimensions ? Math.sqrt(dot(vector, vector)) : Number.NaN;
  if (!(norm > 0 && norm < Number.POSITIVE_INFINITY))
    throw new GoaldError(
      "GOALD_INTERNAL",
      `Expected ${dimensions} finite numbers, not all zero; got ${vector.length} with a length of ${norm}.`,
      { hint: "The embedder does not keep its contract." },
    );
  return Math.abs(norm - 1) < 1e-6 ? vector : vector.map((component) => component / norm);
}
