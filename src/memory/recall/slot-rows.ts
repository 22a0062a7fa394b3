/**
 * slot-rows.ts -- the slots of a memory: which rows share a slot, because their texts have one key, and which of them it shows.
 *
 * Slots are numbered from 0 and never reused. A slot whose last row was removed is never found again.
 */
import { grown } from "../lexical/number-lists.ts";
import { NO_ITEM, NumberChains } from "../lexical/number-map.ts";
import type { Columns } from "../snapshots/columns.ts";

const NO_KEY = -1;

export class SlotRows {
  #size = 0;
  /** By slot: the key of its text, or NO_KEY. */
  #keys = new Float64Array(256);
  readonly #byKey = new NumberChains();
  /** By slot: the row that it shows. */
  #newest = new Uint32Array(256);
  /** By row: its slot, and the next older row of the same text plus 1, 0 for none. */
  #slotOfRow = new Uint32Array(256);
  #older = new Uint32Array(256);
  #olderRows = 0;

  exchange(columns: Columns): void {
    this.#size = columns.number("size", this.#size);
    this.#keys = columns.array("keys", this.#keys);
    this.#byKey.exchange(columns.part("byKey"));
    this.#newest = columns.array("newest", this.#newest);
    this.#slotOfRow = columns.array("slotOfRow", this.#slotOfRow);
    this.#older = columns.array("older", this.#older);
    this.#olderRows = columns.number("olderRows", this.#olderRows);
  }

  /** Number of slots ever opened. */
  get size(): number {
    return this.#size;
  }

  /** Number of rows that their slots do not show. */
  get olderRows(): number {
    return this.#olderRows;
  }

  newest(slot: number): number {
    return this.#newest[slot] as number;
  }

  slotOf(row: number): number {
    return this.#slotOfRow[row] as number;
  }

  /** Returns the slot of the texts with this key, or NO_ITEM. */
  find(key: number): number {
    let slot = this.#byKey.last(key >>> 0);
    while (slot !== NO_ITEM && this.#keys[slot] !== key) slot = this.#byKey.before(slot);
    return slot;
  }

  /** Opens a slot for a row and returns it. */
  open(row: number, key: number): number {
    const slot = this.#size++;
    if (slot >= this.#newest.length) {
      this.#newest = grown(this.#newest, slot + 1);
      this.#keys = grown(this.#keys, slot + 1);
    }
    this.#keys[slot] = key;
    this.#byKey.add(key >>> 0, slot);
    this.#putInto(slot, row);
    this.#newest[slot] = row;
    this.#older[row] = 0;
    return slot;
  }

  /** Makes the row the newest one of its slot, or the second newest if `isPast` tells that it yields to the newest. */
  link(row: number, slot: number, isPast: (row: number) => boolean): void {
    this.#putInto(slot, row);
    const newest = this.newest(slot);
    if (newest === row) return;
    if (!this.#unlink(row, slot)) this.#olderRows++;
    const isBehind = isPast(row) && !isPast(newest);
    this.#older[row] = isBehind ? (this.#older[newest] as number) : newest + 1;
    if (isBehind) this.#older[newest] = row + 1;
    else this.#newest[slot] = row;
  }

  /** Takes a row out. Returns true when its slot has no other row; the slot then goes on showing it. */
  remove(row: number): boolean {
    const slot = this.slotOf(row);
    if (this.newest(slot) !== row) {
      this.#unlink(row, slot);
      return false;
    }
    const older = this.#older[row] as number;
    if (older > 0) this.#newest[slot] = older - 1;
    else this.#keys[slot] = NO_KEY;
    return older === 0;
  }

  /** Takes out a row that is not the newest one of its slot. Returns false when the slot does not hold it. */
  #unlink(row: number, slot: number): boolean {
    for (let newer = this.newest(slot); ; ) {
      const older = (this.#older[newer] as number) - 1;
      if (older < 0) return false;
      if (older === row) {
        this.#older[newer] = this.#older[row] as number;
        return true;
      }
      newer = older;
    }
  }

  #putInto(slot: number, row: number): void {
    if (row >= this.#older.length) {
      this.#older = grown(this.#older, row + 1);
      this.#slotOfRow = grown(this.#slotOfRow, row + 1);
    }
    this.#slotOfRow[row] = slot;
  }
}
