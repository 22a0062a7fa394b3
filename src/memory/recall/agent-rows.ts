/**
 * agent-rows.ts -- the memory rows of one agent in main memory, without their texts. Rows are read from the store in
 * pages, and only those that are new; a text is read again when it is shown. Rows whose text differs only in case or
 * white space share one slot, which holds the newest of them; so no text is embedded twice. Slots are numbered from 0
 * and never reused.
 */
import { isLive } from "#core/memory.ts";
import type { MemoryRow, RecallQuery } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { wordsOf } from "#util/words.ts";
import type { Columns } from "../columns.ts";
import { contentOf } from "../remember/step-lines.ts";
import { grown, NO_ITEM, NumberChains } from "../words/flat-lists.ts";
import { SavedVectors } from "./agent-vectors.ts";
import { RowTexts } from "./read-rows.ts";
import { FactRows, hashText, type RecallableRow, RowColumns } from "./row-columns.ts";
import { RowNeighbours } from "./row-neighbours.ts";
import { SeriesGroups } from "./series-groups.ts";

const PAGE_ROWS = 64;
/** Main memory of a slot without its words, and of an older row of the same text: measured with 1,000 to 50,000 rows. */
const SLOT_BYTES = 120;
const OLDER_ROW_BYTES = 40;

/** The rows of a memory that changed after `after`. */
export const memoryPages = (store: Pick<Store, "memories">, namespace: string, after = 0) =>
  readPages((last, limit) => store.memories(namespace, last, limit), byChange, { limit: PAGE_ROWS, after });

/** A slot filled by the last reading or by a snapshot, with the vector that the store had for it. */
export interface NewSlot extends Pick<MemoryRow, "embedder" | "vector"> {
  readonly slot: number;
}

export class AgentRows {
  /** All live rows by their words. */
  readonly groups = new SeriesGroups();
  readonly neighbours = new RowNeighbours();
  readonly texts = new RowTexts((id) => this.read(id));
  readonly facts: FactRows;
  /** Empty but while a snapshot is written or read. */
  readonly savedVectors = new SavedVectors();
  readonly namespace: string;
  readonly #store: Pick<Store, "memories" | "memory">;
  readonly #rows: RowColumns;
  readonly #slots = new SlotRows();
  /** Slots whose row was forgotten or superseded, or is over. */
  readonly #removed = new Set<number>();
  /** Removed slots that `takeRemovedSlots` has not returned yet. */
  readonly #newlyRemoved: number[] = [];
  readonly #pinned = new Set<number>();
  #lastChange = 0;
  #lastStep = 0;
  /** Step that ended the last turn, and number of slots of `#removed` whose row only is over. */
  #lastTurn = 0;
  #ended = 0;
  #changesRead = 0;
  #hasErased = false;

  constructor(namespace: string, store: Pick<Store, "memories" | "memory">) {
    this.namespace = namespace;
    this.#store = store;
    this.#rows = new RowColumns(namespace);
    this.facts = new FactRows(this.#rows, this.#slots);
  }

  exchange(columns: Columns): void {
    this.#rows.exchange(columns.part("rows"));
    this.#slots.exchange(columns.part("slots"));
    this.groups.exchange(columns.part("groups"));
    this.neighbours.exchange(columns.part("neighbours"));
    this.facts.exchange(columns.part("facts"));
    this.savedVectors.exchange(columns.part("vectors"));
    columns.set("removed", this.#removed);
    columns.set("pinned", this.#pinned);
    this.#lastChange = columns.number("lastChange", this.#lastChange);
    this.#lastStep = columns.number("lastStep", this.#lastStep);
    this.#lastTurn = columns.number("lastTurn", this.#lastTurn);
    this.#ended = columns.number("ended", this.#ended);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Number of slots that a new reading of the store would not fill: their row was forgotten or superseded. */
  get removedSize(): number {
    return this.#removed.size - this.#ended;
  }

  /** `MemoryRow.change` of the row read last; 0 before the first. */
  get lastChange(): number {
    return this.#lastChange;
  }

  get changesRead(): number {
    return this.#changesRead;
  }

  /** Whether a person has forgotten a row whose words are still among those of the index. */
  get hasErased(): boolean {
    return this.#hasErased;
  }

  /** Estimated main memory of the rows, their words and the cached texts. */
  get bytes(): number {
    return SLOT_BYTES * this.size + OLDER_ROW_BYTES * this.#slots.olderRows + this.groups.bytes + this.texts.bytes;
  }

  /** Step of the newest row. Ages are counted from it. */
  get lastStep(): number {
    return this.#lastStep;
  }

  at(slot: number): RecallableRow {
    if (!(slot >= 0 && slot < this.size)) throw new RangeError(`Expected a slot below ${this.size}, got ${slot}.`);
    return this.#rows.read(this.#slots.newest(slot), () => this.groups.wordsOf(slot));
  }

  /** Reads a row with its text from the store. Returns undefined when it may not be recalled any more. */
  async read(id: string): Promise<MemoryRow | undefined> {
    const row = await this.#store.memory(this.namespace, id);
    return row && isLive(row) ? row : undefined;
  }

  /** Drops the cached texts of rows that changed since `readNew`. Call it before texts are read for a recall. */
  dropChangedTexts(): Promise<void> {
    return this.texts.dropChanged((limit) => this.#store.memories(this.namespace, this.#lastChange, limit));
  }

  /** Returns the slots of what the prompt shows or needs no more, even if another step shares the text. */
  slotsLeftOut({ excludeSteps, shownTurns = [], waiting = [] }: RecallQuery): Set<number> {
    const slots = new Set<number>();
    const rows = this.#rows;
    const leaveOut = (row: number) => slots.add(this.#slots.slotOf(row));
    for (const step of excludeSteps) for (const row of rows.ofStep(step)) leaveOut(row);
    for (const command of waiting) for (const row of rows.nestedIn(command, this.#lastStep)) leaveOut(row);
    for (const { afterStep, upToStep } of shownTurns)
      for (let step = afterStep + 1; step <= upToStep; step++)
        for (const row of rows.ofStep(step)) if (rows.isOfStep(row) && rows.trustOf(row) === "agent") leaveOut(row);
    return slots;
  }

  isLive(slot: number): boolean {
    return slot >= 0 && slot < this.size && !this.#removed.has(slot);
  }

  /** Yields the slots of live rows, newest first. */
  *newestSlots(): Generator<number> {
    for (let slot = this.size - 1; slot >= 0; slot--) if (!this.#removed.has(slot)) yield slot;
  }

  /** Returns the slots of pinned rows, newest first. */
  pinnedSlots(): readonly number[] {
    return [...this.#pinned].sort((a, b) => b - a);
  }

  /** Whether the row of this id is live and the one that its slot holds. */
  has(id: string): boolean {
    const row = this.#rows.find(id);
    return row !== NO_ITEM && !this.#rows.isGone(row) && this.#slots.shows(row);
  }

  idAt(slot: number): string {
    return this.#rows.idOf(this.#slots.newest(slot));
  }

  /** Returns the slot of a row, which may show a newer one of the same text or be removed; NO_ITEM for an unknown row. */
  slotOf(id: string): number {
    const row = this.#rows.find(id);
    return row === NO_ITEM ? NO_ITEM : this.#slots.slotOf(row);
  }

  /** Returns the slots removed since the last call. The caller deletes their vectors. */
  takeRemovedSlots(): readonly number[] {
    return this.#newlyRemoved.splice(0);
  }

  /** Reads the new rows page by page and yields the newly filled slots of each page. */
  async *readNew(): AsyncGenerator<readonly NewSlot[]> {
    for await (const page of memoryPages(this.#store, this.namespace, this.#lastChange))
      yield page.flatMap((row) => this.#apply(row));
  }

  #apply(row: MemoryRow): NewSlot[] {
    this.#lastChange = row.change;
    this.#changesRead++;
    this.texts.drop(row.id);
    if (!isLive(row)) {
      this.#hasErased ||= row.forgotten === "person" && this.#rows.find(row.id) !== NO_ITEM;
      this.#remove(row.id);
      return [];
    }
    this.#lastStep = Math.max(this.#lastStep, row.step ?? 0);
    const key = hashText(row.text);
    const place = this.#rows.put(row);
    const known = this.#slots.find(key);
    this.texts.keep(row);
    const slot = known === NO_ITEM ? this.#slots.open(place, key) : known;
    if (known === NO_ITEM) this.groups.add(wordsOf(contentOf(row)), row.namespace);
    else this.#slots.link(place, slot, (other) => this.#rows.isPast(other));
    this.facts.add(place, row);
    this.neighbours.add(row, slot);
    this.#markPinned(slot);
    this.#removeEnded(row);
    return known === NO_ITEM ? [{ slot, embedder: row.embedder, vector: row.vector }] : [];
  }

  /**
   * A command's row ends what was nested in it, and a turn's row the failures of the turn: the rows of both leave the index. A row
   * that a person changes later, such as by a pin, comes back.
   */
  #removeEnded({ kind, step, seq }: MemoryRow): void {
    if (step === null || (kind !== "step" && kind !== "turn")) return;
    for (const row of this.#rows.nestedIn({ step, seq }, this.#lastStep)) this.#end(row);
    if (kind !== "turn") return;
    for (let ended = step; ended > this.#lastTurn; ended--)
      for (const row of this.#rows.ofStep(ended)) if (this.#rows.isFailure(row)) this.#end(row);
    this.#lastTurn = Math.max(this.#lastTurn, step);
  }

  #end(row: number): void {
    if (this.#remove(this.#rows.idOf(row))) this.#ended++;
  }

  /** Also removes the words of the row: a person may have wanted just those forgotten. Returns whether its slot is empty now. */
  #remove(id: string): boolean {
    const row = this.#rows.find(id);
    if (row === NO_ITEM || this.#rows.isGone(row)) return false;
    const slot = this.#slots.slotOf(row);
    this.#rows.markGone(row);
    const isEmpty = this.#slots.remove(row);
    this.#markPinned(slot);
    if (!isEmpty) return false;
    this.groups.remove(slot);
    this.#removed.add(slot);
    this.#newlyRemoved.push(slot);
    return true;
  }

  #markPinned(slot: number): void {
    if (this.#rows.isPinned(this.#slots.newest(slot))) this.#pinned.add(slot);
    else this.#pinned.delete(slot);
  }
}

const NO_KEY = -1;

/**
 * The slots of a memory: which rows share a slot, because their texts have one key, and which of them it shows. A slot
 * whose last row was removed is never found again.
 */
export class SlotRows {
  /** Number of slots ever opened. */
  size = 0;
  /** Number of rows that their slots do not show. */
  olderRows = 0;
  /** By slot: the key of its text, or NO_KEY. */
  #keys = new Float64Array(256);
  readonly #byKey = new NumberChains();
  /** By slot: the row that it shows. */
  #newest = new Uint32Array(256);
  /** By row: its slot, and the next older row of the same text plus 1, 0 for none. */
  #slotOfRow = new Uint32Array(256);
  #older = new Uint32Array(256);

  exchange(columns: Columns): void {
    this.size = columns.number("size", this.size);
    this.#keys = columns.array("keys", this.#keys);
    this.#byKey.exchange(columns.part("byKey"));
    this.#newest = columns.array("newest", this.#newest);
    this.#slotOfRow = columns.array("slotOfRow", this.#slotOfRow);
    this.#older = columns.array("older", this.#older);
    this.olderRows = columns.number("olderRows", this.olderRows);
  }

  newest(slot: number): number {
    return this.#newest[slot] as number;
  }

  slotOf(row: number): number {
    return this.#slotOfRow[row] as number;
  }

  /** Whether the row is the one that its slot shows. An empty slot goes on showing its last row. */
  shows(row: number): boolean {
    return this.newest(this.slotOf(row)) === row;
  }

  /** Returns the slot of the texts with this key, or NO_ITEM. */
  find(key: number): number {
    let slot = this.#byKey.last(key >>> 0);
    while (slot !== NO_ITEM && this.#keys[slot] !== key) slot = this.#byKey.before(slot);
    return slot;
  }

  open(row: number, key: number): number {
    const slot = this.size++;
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
    if (!this.#unlink(row, slot)) this.olderRows++;
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
