/**
 * agent-rows.ts -- the memory rows of one agent in main memory, without their texts.
 *
 * Rows are read from the store in pages, and only those that are new; a text is read again when it is shown. Rows whose
 * text differs only in case or white space share one slot, which holds the newest of them; so no text is embedded twice.
 * Slots are numbered from 0 and never reused.
 */
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { wordsOf } from "#util/words.ts";
import { NO_ITEM } from "../lexical/number-map.ts";
import type { WordSet } from "../lexical/word-set.ts";
import type { Columns } from "../snapshots/columns.ts";
import { DuplicateGroups } from "./duplicate-groups.ts";
import { FactRows } from "./fact-rows.ts";
import { hashText } from "./hash-text.ts";
import { type RecallableRow, RowColumns } from "./row-columns.ts";
import { contentOf } from "./row-content.ts";
import { RowNeighbours } from "./row-neighbours.ts";
import { RowTexts } from "./row-texts.ts";
import { SavedVectors } from "./saved-vectors.ts";
import { SlotRows } from "./slot-rows.ts";

const PAGE_ROWS = 64;
/** Main memory of a slot without its words, and of an older row of the same text: measured with 1,000 to 50,000 rows. */
const SLOT_BYTES = 120;
const OLDER_ROW_BYTES = 40;

/** A slot filled by the last reading or by a snapshot, with the vector that the store had for it. */
export interface NewSlot extends Pick<MemoryRow, "embedder" | "vector"> {
  readonly slot: number;
  readonly isPiece: boolean;
}

export class AgentRows {
  /** All live rows by their words. */
  readonly groups = new DuplicateGroups();
  readonly neighbours = new RowNeighbours();
  /** The rows that recalls show. */
  readonly texts = new RowTexts((id) => this.read(id));
  readonly facts: FactRows;
  /** Empty but while a snapshot is written or read. */
  readonly savedVectors = new SavedVectors();
  readonly namespace: string;
  readonly #store: Pick<Store, "memories" | "memory">;
  readonly #rows: RowColumns;
  readonly #slots = new SlotRows();
  /** Slots whose row was forgotten or superseded. */
  readonly #removed = new Set<number>();
  /** Removed slots that `takeRemovedSlots` has not returned yet. */
  readonly #newlyRemoved: number[] = [];
  readonly #pinned = new Set<number>();
  #lastChange = 0;
  #lastStep = 0;
  #changesRead = 0;
  #hasErased = false;

  constructor(namespace: string, store: Pick<Store, "memories" | "memory">) {
    this.namespace = namespace;
    this.#store = store;
    this.#rows = new RowColumns(namespace);
    this.facts = new FactRows(this.#rows, {
      rowOf: (slot) => this.#slots.newest(slot),
      slotShowing: (row) => this.#slotShowing(row),
    });
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
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Number of slots whose row was forgotten or superseded. */
  get removedSize(): number {
    return this.#removed.size;
  }

  /** `MemoryRow.change` of the row read last; 0 before the first. */
  get lastChange(): number {
    return this.#lastChange;
  }

  /** Number of rows that this object has read. */
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
    const row = this.#slots.newest(slot);
    const { groups } = this;
    let words: WordSet | undefined;
    return {
      ...this.#rows.read(row),
      // Most candidates are never compared with another one.
      get words() {
        words ??= groups.wordsOf(slot);
        return words;
      },
    };
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

  /** Returns the slots of these steps, even if another step shares the text. */
  slotsOf(steps: ReadonlySet<number>): Set<number> {
    const slots = new Set<number>();
    for (const step of steps) for (const row of this.#rows.ofStep(step)) slots.add(this.#slots.slotOf(row));
    return slots;
  }

  isLive(slot: number): boolean {
    return slot >= 0 && slot < this.size && !this.#removed.has(slot);
  }

  isPiece(slot: number): boolean {
    return this.#rows.kindOf(this.#slots.newest(slot)) === "piece";
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
    return row !== NO_ITEM && this.#slotShowing(row) !== NO_ITEM;
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
    const read = (after: number, limit: number) => this.#store.memories(this.namespace, after, limit);
    for await (const page of readPages(read, byChange, { limit: PAGE_ROWS, after: this.#lastChange }))
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
    const slot = known === NO_ITEM ? this.#slots.open(place, key) : known;
    if (known === NO_ITEM) this.groups.add(wordsOf(contentOf(row)), row.namespace);
    else this.#slots.link(place, slot, (other) => this.#rows.isPast(other));
    this.facts.add(place, row);
    this.neighbours.add(row, slot);
    this.#markPinned(slot);
    return known === NO_ITEM
      ? [{ slot, embedder: row.embedder, vector: row.vector, isPiece: row.kind === "piece" }]
      : [];
  }

  /** Returns the slot that holds a live row, or NO_ITEM. */
  #slotShowing(row: number): number {
    const slot = this.#slots.slotOf(row);
    return !this.#rows.isGone(row) && this.#slots.newest(slot) === row ? slot : NO_ITEM;
  }

  /** Also removes the words of the row: a person may have wanted just those forgotten. */
  #remove(id: string): void {
    const row = this.#rows.find(id);
    if (row === NO_ITEM || this.#rows.isGone(row)) return;
    const slot = this.#slots.slotOf(row);
    this.#rows.markGone(row);
    const isEmpty = this.#slots.remove(row);
    this.#markPinned(slot);
    if (!isEmpty) return;
    this.groups.remove(slot);
    this.#removed.add(slot);
    this.#newlyRemoved.push(slot);
  }

  #markPinned(slot: number): void {
    if (this.#rows.isPinned(this.#slots.newest(slot))) this.#pinned.add(slot);
    else this.#pinned.delete(slot);
  }
}
