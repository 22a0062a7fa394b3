/**
 * fact-rows.ts -- finds the rows of a memory that are about the same subject and attribute.
 *
 * Each fact has a number: 48 bits of a hash of its key and trust. Facts about other things with the same number would need a memory of
 * millions of facts.
 */
import type { MemoryRow } from "#core/ports/memory.ts";
import { grown } from "../lexical/number-lists.ts";
import { NO_ITEM, NumberChains } from "../lexical/number-map.ts";
import type { Columns } from "../snapshots/columns.ts";
import { hashText } from "./hash-text.ts";
import type { RowColumns } from "./row-columns.ts";

/** Rows of one fact that are looked at, those read last first. */
const MAX_LOOKED_AT = 64;

/** The slots of the rows in main memory. */
interface RowSlots {
  /** The newest row of a slot. */
  rowOf(slot: number): number;
  /** The slot that holds a live row, or NO_ITEM. */
  slotShowing(row: number): number;
}

export class FactRows {
  readonly #rows: RowColumns;
  readonly #slots: RowSlots;
  /** By row: the number of its fact plus 1, 0 for any other row. */
  #keys = new Float64Array(256);
  readonly #rowsOfKey = new NumberChains();

  constructor(rows: RowColumns, slots: RowSlots) {
    this.#rows = rows;
    this.#slots = slots;
  }

  exchange(columns: Columns): void {
    this.#keys = columns.array("keys", this.#keys);
    this.#rowsOfKey.exchange(columns.part("rowsOfKey"));
  }

  /** A row may be added again. */
  add(row: number, { factKey, trust }: Pick<MemoryRow, "factKey" | "trust">): void {
    if (factKey === undefined || this.#keyOf(row) > 0) return;
    if (row >= this.#keys.length) this.#keys = grown(this.#keys, row + 1);
    const key = 1 + hashText(`${trust} ${factKey}`);
    this.#keys[row] = key;
    this.#rowsOfKey.add(key >>> 0, row);
  }

  /** Whether the slot holds a fact with a subject and an attribute. */
  has(slot: number): boolean {
    return this.#keyOf(this.#slots.rowOf(slot)) > 0;
  }

  /** The slot of the fact that holds instead of a past one; the same slot for any other row, and when no such fact is live. */
  holderOf(slot: number): number {
    const row = this.#slots.rowOf(slot);
    if (!this.#rows.isPast(row)) return slot;
    return this.#findNewest(row, (other) => !this.#rows.isClosed(other)) ?? slot;
  }

  /** The slot of the newest live fact that was true before the one that holds; undefined when there is none. */
  pastOf(slot: number): number | undefined {
    const row = this.#slots.rowOf(slot);
    return this.#rows.isClosed(row) ? undefined : this.#findNewest(row, (other) => this.#rows.isPast(other));
  }

  #keyOf(row: number): number {
    return this.#keys[row] ?? 0;
  }

  #findNewest(row: number, isWanted: (row: number) => boolean): number | undefined {
    const key = this.#keyOf(row);
    let newest = NO_ITEM;
    let other = key === 0 ? NO_ITEM : this.#rowsOfKey.last(key >>> 0);
    for (let seen = 0; other !== NO_ITEM && seen < MAX_LOOKED_AT; other = this.#rowsOfKey.before(other), seen++) {
      if (this.#keyOf(other) !== key || !isWanted(other) || this.#slots.slotShowing(other) === NO_ITEM) continue;
      if (newest === NO_ITEM || this.#rows.isAfter(other, newest)) newest = other;
    }
    return newest === NO_ITEM ? undefined : this.#slots.slotShowing(newest);
  }
}
