/**
 * exact-index.ts -- finds nearest neighbours by comparing every row, without error.
 *
 * A scan over 8-bit rows finds candidates, which are then ordered by their exact scores. Up to 100,000 rows and more this costs less
 * in total than building and searching a graph, because an agent adds one row per query.
 *
 * The last row replaces a removed one, so there are no gaps to skip or compact.
 */
import type { IndexScope, OpenIndex, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import { BestOf } from "#util/best-of.ts";
import { createTurns } from "#util/turns.ts";
import { openScanMemory, type ScanMemory } from "./int8-scan.ts";
import { rankSlots, SPARE_CANDIDATES } from "./rank-slots.ts";
import { RowBlocks } from "./row-blocks.ts";
import { factorToUnit, toUnit } from "./unit-vector.ts";

/** A search that waits for a scan. */
interface Search {
  readonly query: Int8Array;
  readonly count: number;
  /** The best positions that the scan has found so far. */
  best: BestOf;
  /** The slots of these after the scan. */
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
    if (count < 1) return [];
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

  /** Scans for all searches that were started in the same turn, because reading the rows takes longer than comparing them. */
  async #scanTogether(): Promise<void> {
    await undefined;
    const searches = this.#waiting.splice(0);
    this.#scanning = undefined;
    if (!(await this.#scanInTurns(searches))) this.#scan(searches);
    for (const search of searches)
      search.slots = search.best.slots().map((position) => this.#slots[position] as number);
  }

  /** As `#scan`, but yields to other work between blocks. Resolves to false when rows changed meanwhile. */
  async #scanInTurns(searches: readonly Search[]): Promise<boolean> {
    this.#openBest(searches);
    const changes = this.#changes;
    for (let block = 0; block < this.#rows.blocks; block++) {
      const pause = this.#takeTurn();
      if (pause) {
        await pause;
        if (this.#changes !== changes) return false;
      }
      this.#scanBlock(block, searches);
    }
    return true;
  }

  #scan(searches: readonly Search[]): void {
    this.#openBest(searches);
    for (let block = 0; block < this.#rows.blocks; block++) this.#scanBlock(block, searches);
  }

  #openBest(searches: readonly Search[]): void {
    for (const search of searches) search.best = new BestOf(Math.min(search.count, this.size));
  }

  #scanBlock(block: number, searches: readonly Search[]): void {
    for (const { query, best } of searches) this.#rows.scan(block, this.size, query, best);
  }
}
