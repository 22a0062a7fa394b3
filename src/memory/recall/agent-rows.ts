/**
 * agent-rows.ts -- the memory rows of one agent in main memory, without their texts.
 *
 * Rows are read from the store in pages, and only those that are new; a text is read again when it is shown. Rows whose
 * text differs only in case or white space share one slot, which holds the newest of them; so no text is embedded twice.
 * Slots are numbered from 0 and never reused.
 */
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import { wordsOf } from "#util/words.ts";
import { grown } from "../lexical/number-lists.ts";
import { NO_ITEM, NumberChains } from "../lexical/number-map.ts";
import type { WordSet } from "../lexical/word-set.ts";
import { DuplicateGroups } from "./duplicate-groups.ts";
import { FactRows } from "./fact-rows.ts";
import { hashText } from "./hash-text.ts";
import { RowColumns } from "./row-columns.ts";
import { contentOf } from "./row-content.ts";
import { RowNeighbours } from "./row-neighbours.ts";

const PAGE_ROWS = 64;
/** Main memory of a slot without its words, and of an older row of the same text: measured with 1,000 to 50,000 rows. */
const SLOT_BYTES = 120;
const OLDER_ROW_BYTES = 40;

/** A row with the fields that ranking needs. */
export interface RecallableRow extends Pick<MemoryRow, "id" | "seq" | "step" | "importance" | "kind" | "trust"> {
  /** Hash of the file or page that contains the text; 0 for none. */
  readonly sourceKey: number;
  /** Its text has a question mark. */
  readonly isQuestion: boolean;
  /** A person wrote it to replace another row. */
  readonly isCorrection: boolean;
  readonly isPinned: boolean;
  readonly words: WordSet;
}

/** A slot filled by the last reading, with the vector that the store had for it. */
export interface NewSlot extends Pick<MemoryRow, "embedder" | "vector"> {
  readonly slot: number;
  readonly isPiece: boolean;
}

export class AgentRows {
  /** All live rows by their words. */
  readonly groups = new DuplicateGroups();
  readonly neighbours = new RowNeighbours();
  readonly facts: FactRows;
  readonly namespace: string;
  readonly #store: Pick<Store, "memories" | "memory">;
  readonly #rows: RowColumns;
  #size = 0;
  /** By slot: its newest row. */
  #newest = new Uint32Array(256);
  /** By row: its slot, and the next older row of the same text plus 1, 0 for none. */
  #slotOfRow = new Uint32Array(256);
  #older = new Uint32Array(256);
  /** By slot: hash of its text. */
  #textKeys = new Float64Array(256);
  readonly #slotsOfText = new NumberChains();
  /** Rows that are not the newest of their text. */
  #olderRows = 0;
  /** Slots whose row was forgotten or superseded. */
  readonly #removed = new Set<number>();
  /** Removed slots that `takeRemovedSlots` has not returned yet. */
  readonly #newlyRemoved: number[] = [];
  readonly #pinned = new Set<number>();
  #lastChange = 0;
  #lastStep = 0;

  constructor(namespace: string, store: Pick<Store, "memories" | "memory">) {
    this.namespace = namespace;
    this.#store = store;
    this.#rows = new RowColumns(namespace);
    this.facts = new FactRows(this.#rows, {
      rowOf: (slot) => this.#newest[slot] as number,
      slotShowing: (row) => this.#slotShowing(row),
    });
  }

  get size(): number {
    return this.#size;
  }

  /** Estimated main memory of the rows and their words. */
  get bytes(): number {
    return SLOT_BYTES * this.#size + OLDER_ROW_BYTES * this.#olderRows + this.groups.bytes;
  }

  /** Step of the newest row. Ages are counted from it. */
  get lastStep(): number {
    return this.#lastStep;
  }

  at(slot: number): RecallableRow {
    if (!(slot >= 0 && slot < this.#size)) throw new RangeError(`Expected a slot below ${this.#size}, got ${slot}.`);
    const row = this.#newest[slot] as number;
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

  /** Returns the slots of these steps, even if another step shares the text. */
  slotsOf(steps: ReadonlySet<number>): Set<number> {
    const slots = new Set<number>();
    for (const step of steps) for (const row of this.#rows.ofStep(step)) slots.add(this.#slotOfRow[row] as number);
    return slots;
  }

  /** Yields the slots of live rows, newest first. */
  *newestSlots(): Generator<number> {
    for (let slot = this.#size - 1; slot >= 0; slot--) if (!this.#removed.has(slot)) yield slot;
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

  /** Returns the slots removed since the last call. The caller deletes their vectors. */
  takeRemovedSlots(): readonly number[] {
    return this.#newlyRemoved.splice(0);
  }

  /** Reads the new rows page by page and yields the newly filled slots of each page. */
  async *readNew(): AsyncGenerator<readonly NewSlot[]> {
    for (;;) {
      const page = await this.#store.memories(this.namespace, this.#lastChange, PAGE_ROWS);
      yield page.flatMap((row) => this.#apply(row));
      if (page.length < PAGE_ROWS) return;
    }
  }

  #apply(row: MemoryRow): NewSlot[] {
    this.#lastChange = row.change;
    if (!isLive(row)) {
      this.#remove(row.id);
      return [];
    }
    this.#lastStep = Math.max(this.#lastStep, row.step ?? 0);
    const key = hashText(row.text);
    const known = this.#findSlot(key);
    const slot = known === NO_ITEM ? this.#addSlot(key, row) : known;
    const place = this.#rows.put(row);
    this.facts.add(place, row);
    this.#link(place, slot, known === NO_ITEM);
    this.neighbours.add(row, slot);
    this.#markPinned(slot);
    return known === NO_ITEM
      ? [{ slot, embedder: row.embedder, vector: row.vector, isPiece: row.kind === "piece" }]
      : [];
  }

  /** Returns the slot that holds a live row, or NO_ITEM. */
  #slotShowing(row: number): number {
    const slot = this.#slotOfRow[row] as number;
    return !this.#rows.isGone(row) && this.#newest[slot] === row ? slot : NO_ITEM;
  }

  #findSlot(key: number): number {
    let slot = this.#slotsOfText.last(key >>> 0);
    while (slot !== NO_ITEM && (this.#textKeys[slot] !== key || this.#removed.has(slot)))
      slot = this.#slotsOfText.before(slot);
    return slot;
  }

  #addSlot(key: number, row: MemoryRow): number {
    const slot = this.#size++;
    if (slot >= this.#newest.length) {
      this.#newest = grown(this.#newest, slot + 1);
      this.#textKeys = grown(this.#textKeys, slot + 1);
    }
    this.#textKeys[slot] = key;
    this.#slotsOfText.add(key >>> 0, slot);
    this.groups.add(wordsOf(contentOf(row)), row.namespace);
    return slot;
  }

  /** Makes the row the newest one of its slot. A fact that became true again is not shown as one that was so before. */
  #link(row: number, slot: number, isNewSlot: boolean): void {
    if (row >= this.#older.length) {
      this.#older = grown(this.#older, row + 1);
      this.#slotOfRow = grown(this.#slotOfRow, row + 1);
    }
    this.#slotOfRow[row] = slot;
    const newest = this.#newest[slot] as number;
    if (!isNewSlot && newest === row) return;
    if (!isNewSlot && !this.#unlink(row, slot)) this.#olderRows++;
    const isBehind = !isNewSlot && this.#rows.isPast(row) && !this.#rows.isPast(newest);
    this.#older[row] = isNewSlot ? 0 : isBehind ? (this.#older[newest] as number) : newest + 1;
    if (isBehind) this.#older[newest] = row + 1;
    else this.#newest[slot] = row;
  }

  /** Takes out a row that is not the newest one of its slot. Returns false when the slot does not hold it. */
  #unlink(row: number, slot: number): boolean {
    for (let newer = this.#newest[slot] as number; ; ) {
      const older = (this.#older[newer] as number) - 1;
      if (older < 0) return false;
      if (older === row) {
        this.#older[newer] = this.#older[row] as number;
        return true;
      }
      newer = older;
    }
  }

  /** Also removes the words of the row: a person may have wanted just those forgotten. */
  #remove(id: string): void {
    const row = this.#rows.find(id);
    if (row === NO_ITEM || this.#rows.isGone(row)) return;
    const slot = this.#slotOfRow[row] as number;
    this.#rows.markGone(row);
    const isNewest = this.#newest[slot] === row;
    const older = this.#older[row] as number;
    if (!isNewest) this.#unlink(row, slot);
    else if (older > 0) this.#newest[slot] = older - 1;
    this.#markPinned(slot);
    if (!isNewest || older > 0) return;
    this.groups.remove(slot);
    this.#removed.add(slot);
    this.#newlyRemoved.push(slot);
  }

  #markPinned(slot: number): void {
    if (this.#rows.isPinned(this.#newest[slot] as number)) this.#pinned.add(slot);
    else this.#pinned.delete(slot);
  }
}
