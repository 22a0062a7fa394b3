/**
 * exact-index.ts -- finds nearest neighbours by comparing every row, without error.
 *
 * A scan over 8-bit rows finds candidates, which are then ordered by their exact scores. Up to 100,000 rows and more
 * this costs less in total than building and searching a graph, because an agent adds one row per query.
 *
 * The last row replaces a removed one, so there are no gaps to skip or compact.
 */
import type { IndexScope, OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import { BestOf } from "#util/best-of.ts";
import { once } from "#util/caches.ts";
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
import {
  dotFinely,
  dotOfBytes,
  factorToUnit,
  fromBytes,
  fromFineBytes,
  quantise,
  quantiseFinely,
  toUnit,
} from "./unit-vector.ts";

/** A search that waits for a scan. */
interface Search {
  readonly query: Int8Array;
  readonly count: number;
  best: BestOf;
  /** The slots of these after the scan. */
  slots: readonly number[];
}

/** Returns a function that opens indexes with one shared memory. Default: exact ones. */
export function shareMemory(
  open = (scope: IndexScope, memory: ScanMemory) => new ExactIndex(scope.dimensions, memory, scope),
): OpenIndex {
  const memory = once(() => openScanMemory());
  return (scope) => open(scope, memory());
}

export class ExactIndex implements VectorIndex {
  readonly #dimensions: number;
  readonly #rows: RowBlocks;
  /** By position. */
  readonly #slots: number[] = [];
  /** By slot. */
  readonly #positions = new Map<number, number>();
  readonly #takeTurn = createTurns();
  /** Searches that the next scan answers. */
  readonly #waiting: Search[] = [];
  #scanning: Promise<void> | undefined;
  /** Number of additions and removals. An interrupted scan detects by it that rows have moved. */
  #changes = 0;

  /** Throws GOALD_CONFIG for more dimensions than the scan supports. */
  constructor(
    dimensions: number,
    memory: ScanMemory = openScanMemory(),
    { isRounded = false }: Pick<IndexScope, "isRounded"> = {},
  ) {
    this.#dimensions = dimensions;
    this.#rows = new RowBlocks(dimensions, memory, { isRounded });
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Returns a copy. */
  slots(): Uint32Array {
    return Uint32Array.from(this.#slots);
  }

  has(slot: number): boolean {
    return this.#positions.has(slot);
  }

  vectorOf(slot: number): Float32Array | undefined {
    const position = this.#positions.get(slot);
    return position === undefined ? undefined : this.#rows.vectorAt(position);
  }

  scoreOf(slot: number, unit: Float32Array): number | undefined {
    const position = this.#positions.get(slot);
    return position === undefined ? undefined : this.#rows.scoreAt(position, unit);
  }

  /** Replaces the vector of a known slot. Rejects a vector without a direction: wrong length, not finite or all zero. */
  async add(slot: number, vector: Float32Array): Promise<void> {
    const factor = factorToUnit(vector, this.#dimensions);
    const position = this.#positions.get(slot) ?? this.#slots.length;
    this.#rows.write(position, vector, factor);
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
      this.#rows.copy(last, position);
      this.#slots[position] = moved;
      this.#positions.set(moved, position);
    }
    this.#positions.delete(slot);
    this.#slots.length = last;
    this.#rows.truncate(last);
    this.#changes++;
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const unit = toUnit(query, this.#dimensions);
    return count < 1 ? [] : this.find(unit, count);
  }

  protected find(unit: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    return this.scan(unit, count);
  }

  async scan(unit: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const best = new BestOf(0);
    const search: Search = { query: this.#rows.toQuery(unit), count: count + SPARE_CANDIDATES, best, slots: [] };
    this.#waiting.push(search);
    this.#scanning ??= this.#scanTogether();
    await this.#scanning;
    return rankSlots(search.slots, (slot) => this.scoreOf(slot, unit), count);
  }

  async close(): Promise<void> {
    this.#slots.length = 0;
    this.#positions.clear();
    this.#rows.truncate(0);
    this.#changes++;
  }

  /**
   * Scans for all searches that were started in the same turn, because reading the rows takes longer than comparing them.
   * Yields to other work between blocks, until rows change meanwhile: then it begins again and yields no more.
   */
  async #scanTogether(): Promise<void> {
    await undefined;
    const searches = this.#waiting.splice(0);
    this.#scanning = undefined;
    this.#openBest(searches);
    const changes = this.#changes;
    for (let block = 0; block < this.#rows.blocks; block++) {
      await this.#takeTurn();
      if (this.#changes !== changes) return this.#scan(searches);
      this.#scanBlock(block, searches);
    }
    this.#nameSlots(searches);
  }

  #scan(searches: readonly Search[]): void {
    this.#openBest(searches);
    for (let block = 0; block < this.#rows.blocks; block++) this.#scanBlock(block, searches);
    this.#nameSlots(searches);
  }

  #openBest(searches: readonly Search[]): void {
    for (const search of searches) search.best = new BestOf(Math.min(search.count, this.size));
  }

  /** Call in the turn of the last block: later changes move rows. */
  #nameSlots(searches: readonly Search[]): void {
    for (const search of searches)
      search.slots = search.best.slots().map((position) => this.#slots[position] as number);
  }

  #scanBlock(block: number, searches: readonly Search[]): void {
    for (const { query, best } of searches) this.#rows.scan(block, this.size, query, best);
  }
}

interface RowBlock {
  readonly address: number;
  /** The lower 16 bits of each component; undefined when the vectors were rounded to the upper 8. */
  readonly rests: Int16Array | undefined;
}

/**
 * Stores the vectors of an exact index, in rows numbered from 0, and scans them. Rows are stored in blocks that never
 * move. The first 8 bits of the components and their scale are in the scan memory; the other 16, which determine the
 * exact order, are here. Vectors that were rounded to 8 bits have only the first.
 */
class RowBlocks {
  readonly #dimensions: number;
  readonly #isRounded: boolean;
  readonly #stride: number;
  readonly #rowsPerBlock: number;
  readonly #memory: ScanMemory;
  readonly #blocks: RowBlock[] = [];

  constructor(dimensions: number, memory: ScanMemory, { isRounded = false }: Pick<IndexScope, "isRounded">) {
    this.#dimensions = dimensions;
    this.#isRounded = isRounded;
    this.#stride = strideOf(dimensions);
    this.#rowsPerBlock = rowsPerBlock(this.#stride);
    this.#memory = memory;
  }

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

/**
 * Additional candidates to search for: an index that finds them by rounded products ranks a true neighbour slightly too low, and
 * does not know which of equally near rows is the newest.
 */
export const SPARE_CANDIDATES = 32;

/**
 * Gives candidates their exact scores, so that all indexes rank them alike. Returns the `count` nearest of the slots
 * that have a vector, each once, best first; of equals the newer one first.
 */
export function rankSlots(
  slots: Iterable<number>,
  scoreOf: (slot: number) => number | undefined,
  count: number,
): ScoredSlot[] {
  const hits: ScoredSlot[] = [];
  for (const slot of new Set(slots)) {
    const score = scoreOf(slot);
    if (score !== undefined) hits.push({ slot, score });
  }
  return hits.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
}
