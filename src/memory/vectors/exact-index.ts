/**
 * exact-index.ts -- finds nearest neighbours by comparing every row, without error.
 *
 * A scan over 8-bit rows finds candidates; another 16 bits of their components determine the exact order. Vectors that were rounded
 * to 8 bits have only the first. Up to 100,000 rows and more this costs less in total than building and searching a graph, because
 * an agent adds one row per query.
 *
 * Rows are stored in blocks that never move. The last row replaces a removed one, so there are no gaps to skip or
 * compact, and an empty block is freed.
 */
import type { IndexScope, OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import { BestOf } from "#util/best-of.ts";
import { createTurns } from "#util/turns.ts";
import {
  openScanMemory,
  QUERY_LIMIT,
  ROW_LIMIT,
  rowsPerBlock,
  type ScanMemory,
  strideOf,
  toScanQuery,
} from "./int8-scan.ts";
import { rankSlots, SPARE_CANDIDATES } from "./rank-slots.ts";
import {
  dot,
  dotFinely,
  factorToUnit,
  fromBytes,
  fromFineBytes,
  quantise,
  quantiseFinely,
  toUnit,
} from "./unit-vector.ts";

/** Consecutive rows: their bytes and scales in the scan memory, their rests here. */
interface RowBlock {
  readonly address: number;
  /** The lower 16 bits of each component; undefined when the vectors were rounded to the upper 8. */
  readonly rests: Int16Array | undefined;
}

/** A search that has not returned yet, and its candidates. */
interface Search {
  readonly query: Int8Array;
  readonly count: number;
  slots: readonly number[];
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
  /** Searches that the next scan answers. */
  readonly #waiting: Search[] = [];
  #scanning: Promise<void> | undefined;
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
    this.#rowsPerBlock = rowsPerBlock(this.#stride);
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

  vectorOf(slot: number): Float32Array | undefined {
    const position = this.#positions.get(slot);
    return position === undefined ? undefined : this.#vectorAt(position);
  }

  scoreOf(slot: number, unit: Float32Array): number | undefined {
    const position = this.#positions.get(slot);
    if (position === undefined) return undefined;
    const { row, start, rests, address } = this.#placeOf(position);
    if (!rests) return dot(unit, this.#vectorAt(position));
    const scale = this.#scales(address)[row] as number;
    return dotFinely(unit, this.#memory.bytes(), start, rests, row * this.#dimensions) * scale;
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
      this.#moveRow(last, position);
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
    const search: Search = { query: this.#quantiseQuery(unit), count: count + SPARE_CANDIDATES, slots: [] };
    this.#waiting.push(search);
    this.#scanning ??= this.#scanTogether();
    await this.#scanning;
    return rankSlots(search.slots, (slot) => this.scoreOf(slot, unit), count);
  }

  async close(): Promise<void> {
    for (const { address } of this.#blocks.splice(0)) this.#memory.free(address);
    this.#slots.length = 0;
    this.#positions.clear();
    this.#changes++;
  }

  /** `factor` makes it a unit vector. */
  #writeRow(position: number, vector: Float32Array, factor: number): void {
    if (position === this.#blocks.length * this.#rowsPerBlock) this.#addBlock();
    const { row, start, rests, address } = this.#placeOf(position);
    const bytes = this.#memory.bytes();
    bytes.fill(0, start + this.#dimensions, start + this.#stride);
    const largest = rests
      ? quantiseFinely(vector, bytes, start, rests, row * this.#dimensions)
      : quantise(vector, ROW_LIMIT, bytes, start);
    this.#scales(address)[row] = largest * factor;
  }

  #moveRow(from: number, to: number): void {
    const [source, target] = [this.#placeOf(from), this.#placeOf(to)];
    this.#memory.bytes().copyWithin(target.start, source.start, source.start + this.#stride);
    const rests = source.rests?.subarray(source.row * this.#dimensions, (source.row + 1) * this.#dimensions);
    if (rests) target.rests?.set(rests, target.row * this.#dimensions);
    this.#scales(target.address)[target.row] = this.#scales(source.address)[source.row] as number;
  }

  /** The block of a position, its row there and the address of its bytes. */
  #placeOf(position: number): RowBlock & { readonly row: number; readonly start: number } {
    const block = this.#blocks[Math.floor(position / this.#rowsPerBlock)] as RowBlock;
    const row = position % this.#rowsPerBlock;
    return { ...block, row, start: block.address + row * this.#stride };
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

  /** Frees the last block, which must be empty. */
  #freeLastBlock(): void {
    const block = this.#blocks.pop();
    if (block) this.#memory.free(block.address);
  }

  #vectorAt(position: number): Float32Array {
    const { row, start, rests, address } = this.#placeOf(position);
    const bytes = this.#memory.bytes().subarray(start, start + this.#dimensions);
    if (!rests) return fromBytes(bytes);
    const own = rests.subarray(row * this.#dimensions, (row + 1) * this.#dimensions);
    return fromFineBytes(bytes, own, this.#scales(address)[row] as number);
  }

  /** Scans for all searches that were started in the same turn, because reading the rows takes longer than comparing them. */
  async #scanTogether(): Promise<void> {
    await undefined;
    const searches = this.#waiting.splice(0);
    this.#scanning = undefined;
    const best = (await this.#scanInTurns(searches)) ?? this.#scan(searches);
    for (const [at, search] of searches.entries())
      search.slots = (best[at] as BestOf).slots().map((position) => this.#slots[position] as number);
  }

  /** As `#scan`, but yields to other work between blocks. Returns undefined when rows changed meanwhile. */
  async #scanInTurns(searches: readonly Search[]): Promise<readonly BestOf[] | undefined> {
    const best = this.#openBest(searches);
    const changes = this.#changes;
    for (let block = 0; block < this.#blocks.length; block++) {
      const pause = this.#takeTurn();
      if (pause) {
        await pause;
        if (this.#changes !== changes) return undefined;
      }
      this.#scanBlock(block, searches, best);
    }
    return best;
  }

  /** Returns the positions of the best rows by 8-bit product. */
  #scan(searches: readonly Search[]): readonly BestOf[] {
    const best = this.#openBest(searches);
    for (let block = 0; block < this.#blocks.length; block++) this.#scanBlock(block, searches, best);
    return best;
  }

  #openBest(searches: readonly Search[]): readonly BestOf[] {
    return searches.map(({ count }) => new BestOf(Math.min(count, this.size)));
  }

  #quantiseQuery(unit: Float32Array): Int8Array {
    const components = new Int8Array(this.#stride);
    quantise(unit, QUERY_LIMIT, components);
    return toScanQuery(components);
  }

  #scanBlock(number: number, searches: readonly Search[], bests: readonly BestOf[]): void {
    const { address } = this.#blocks[number] as RowBlock;
    const first = number * this.#rowsPerBlock;
    const count = Math.min(this.#rowsPerBlock, this.size - first);
    if (count <= 0) return;
    for (const [at, { query }] of searches.entries()) {
      const best = bests[at] as BestOf;
      this.#memory.setQuery(query);
      const hits = this.#memory.scan(address, this.#stride, count, best.floor);
      for (let hit = 0; hit < 2 * hits.count; hit += 2)
        best.offer(hits.scores[hit + 1] as number, first + (hits.rows[hit] as number));
    }
  }
}
