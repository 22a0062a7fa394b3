/**
 * agent-rows.ts -- the memory rows of one agent in main memory, each text once.
 *
 * Rows are read from the store in pages, and only those that are new. Rows whose text differs only in case or white
 * space share one slot, which holds the newest of them; so no text is embedded twice. Slots are numbered from 0 and
 * never reused.
 */
import { hash } from "node:crypto";
import { isLive, isPast } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import { wordsOf } from "#util/words.ts";
import { createWordSet, type WordSet } from "../lexical/word-set.ts";
import { DuplicateGroups } from "./duplicate-groups.ts";

const PAGE_ROWS = 256;
/** Main memory of a row beside its text, measured with 20,000 rows of 400 characters. */
const ROW_BYTES = 3_300;
const OLDER_ROW_BYTES = 600;
const BYTES_PER_CHAR = 2;
/** Older rows kept per text; an agent that repeats itself may leave the same text a thousand times. */
const MAX_OLDER_ROWS = 16;

export interface RecallableRow extends Omit<MemoryRow, "vector" | "embedder"> {
  readonly words: WordSet;
}

/** A slot filled by the last reading, with the vector that the store had for it. */
export interface NewSlot {
  readonly slot: number;
  readonly embedder: string | null;
  readonly vector: Float32Array | null;
}

export class AgentRows {
  /** All live rows by their words. */
  readonly groups = new DuplicateGroups();
  readonly #agent: string;
  readonly #bySlot: RecallableRow[] = [];
  readonly #slotOfText = new Map<string, number>();
  readonly #slotOfId = new Map<string, number>();
  readonly #slotsOfStep = new Map<number, number[]>();
  /** Older rows of the same text, oldest first. The last one replaces a forgotten row. */
  readonly #olderRows = new Map<number, RecallableRow[]>();
  /** Slots whose row was forgotten or superseded. */
  readonly #removed = new Set<number>();
  /** Removed slots that `takeRemovedSlots` has not returned yet. */
  readonly #newlyRemoved: number[] = [];
  readonly #pinned = new Set<number>();
  /** The slot of the newest fact with each key and trust. */
  readonly #factSlots = new Map<string, number>();
  /** The slot of the newest past fact with each key and trust. */
  readonly #pastSlots = new Map<string, number>();
  /** Number of live rows with a word, by its hash. */
  readonly #rowsWithWord = new Map<number, number>();
  #bytes = 0;
  #lastChange = 0;
  #lastStep = 0;

  constructor(agent: string) {
    this.#agent = agent;
  }

  get size(): number {
    return this.#bySlot.length;
  }

  /** Estimated main memory of the rows and their words. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Step of the newest row. Ages are counted from it. */
  get lastStep(): number {
    return this.#lastStep;
  }

  at(slot: number): RecallableRow {
    const row = this.#bySlot[slot];
    if (!row) throw new RangeError(`Expected a slot below ${this.#bySlot.length}, got ${slot}.`);
    return row;
  }

  /** Returns the slots of these steps, even if another step shares the text. */
  slotsOf(steps: ReadonlySet<number>): Set<number> {
    const slots = new Set<number>();
    for (const step of steps) for (const slot of this.#slotsOfStep.get(step) ?? []) slots.add(slot);
    return slots;
  }

  /** Yields the slots of live rows, newest first. */
  *newestSlots(): Generator<number> {
    for (let slot = this.size - 1; slot >= 0; slot--) if (!this.#removed.has(slot)) yield slot;
  }

  /** Number of live rows with this word, by the hash of its stem. */
  rowsWithWord(hash: number): number {
    return this.#rowsWithWord.get(hash) ?? 0;
  }

  /** Returns the slots of pinned rows, newest first. */
  pinnedSlots(): readonly number[] {
    return [...this.#pinned].sort((a, b) => b - a);
  }

  /** The slot of the fact that holds instead of a past one; the same slot for any other row, and when no such fact is live. */
  holderOf(slot: number): number {
    const row = this.at(slot);
    if (!isPast(row) || row.factKey === undefined) return slot;
    const holder = this.#factSlots.get(factName(row));
    if (holder === undefined || this.#removed.has(holder)) return slot;
    const { factKey, closed } = this.at(holder);
    return factKey === row.factKey && !closed ? holder : slot;
  }

  /** The slot of the newest live fact that was true before the one that holds; undefined when there is none. */
  pastOf(slot: number): number | undefined {
    const row = this.at(slot);
    if (row.factKey === undefined || row.closed) return undefined;
    const past = this.#pastSlots.get(factName(row));
    return past === undefined || this.holderOf(past) !== slot || this.#removed.has(past) ? undefined : past;
  }

  /** The slot of a live row. */
  slotOf(id: string): number | undefined {
    return this.#slotOfId.get(id);
  }

  /** Whether the row of this id is live and the one that its slot holds. */
  has(id: string): boolean {
    const slot = this.#slotOfId.get(id);
    return slot !== undefined && this.at(slot).id === id && !this.#removed.has(slot);
  }

  /** Returns the slots removed since the last call. The caller deletes their vectors. */
  takeRemovedSlots(): readonly number[] {
    return this.#newlyRemoved.splice(0);
  }

  /** Reads the new rows page by page and yields the newly filled slots of each page. */
  async *readNew(store: Pick<Store, "memories">): AsyncGenerator<readonly NewSlot[]> {
    for (;;) {
      const page = await store.memories(this.#agent, this.#lastChange, PAGE_ROWS);
      yield page.flatMap((row) => this.#apply(row));
      if (page.length < PAGE_ROWS) return;
    }
  }

  #apply({ vector, embedder, ...row }: MemoryRow): NewSlot[] {
    this.#lastChange = row.change;
    if (!isLive(row)) {
      this.#remove(row.id);
      return [];
    }
    this.#lastStep = Math.max(this.#lastStep, row.step ?? 0);
    const key = textKey(row.text);
    const known = this.#slotOfText.get(key);
    const slot = known ?? this.#bySlot.length;
    const before = this.#bySlot[slot];
    const entry = { ...row, words: before ? before.words : this.#index(slot, row) };
    // A fact that became true again is not shown as one that was so before.
    const isBehind = before !== undefined && before.id !== row.id && isPast(row) && !isPast(before);
    if (before && before.id !== row.id) this.#keepOlderRow(slot, isBehind ? entry : before, row.id);
    if (!isBehind) this.#bySlot[slot] = entry;
    this.#noteFact(row, slot);
    this.#slotOfText.set(key, slot);
    this.#slotOfId.set(row.id, slot);
    if (row.pinned) this.#pinned.add(slot);
    else this.#pinned.delete(slot);
    if (row.step !== null) {
      const ofStep = this.#slotsOfStep.get(row.step);
      if (ofStep) ofStep.push(slot);
      else this.#slotsOfStep.set(row.step, [slot]);
    }
    return known === undefined ? [{ slot, embedder, vector }] : [];
  }

  #noteFact(row: Omit<MemoryRow, "vector" | "embedder">, slot: number): void {
    if (row.factKey === undefined) return;
    const slots = row.closed ? this.#pastSlots : this.#factSlots;
    const before = slots.get(factName(row));
    if (before === undefined || this.at(before).seq <= row.seq) slots.set(factName(row), slot);
  }

  #keepOlderRow(slot: number, row: RecallableRow, newId: string): void {
    const older = (this.#olderRows.get(slot) ?? []).filter(({ id }) => id !== newId);
    if (older.length < MAX_OLDER_ROWS) this.#bytes += OLDER_ROW_BYTES + BYTES_PER_CHAR * row.text.length;
    this.#olderRows.set(slot, [...older, row].slice(-MAX_OLDER_ROWS));
  }

  /** Also removes the words of the row: a person may have wanted just those forgotten. */
  #remove(id: string): void {
    const slot = this.#slotOfId.get(id);
    if (slot === undefined) return;
    this.#slotOfId.delete(id);
    const older = this.#olderRows.get(slot)?.filter((row) => row.id !== id) ?? [];
    const row = this.at(slot).id === id ? older.pop() : this.at(slot);
    if (older.length === 0) this.#olderRows.delete(slot);
    else this.#olderRows.set(slot, older);
    if (row) {
      this.#bySlot[slot] = row;
      if (!row.pinned) this.#pinned.delete(slot);
      return;
    }
    const { text, words } = this.at(slot);
    this.groups.remove(slot, wordsOf(text));
    this.#count(words, -1);
    this.#slotOfText.delete(textKey(text));
    this.#bySlot[slot] = { ...this.at(slot), text: "", pinned: false };
    this.#pinned.delete(slot);
    this.#removed.add(slot);
    this.#newlyRemoved.push(slot);
  }

  #index(slot: number, { text, namespace }: Pick<MemoryRow, "text" | "namespace">): WordSet {
    this.#bytes += ROW_BYTES + BYTES_PER_CHAR * text.length;
    const words = wordsOf(text);
    const set = createWordSet(words);
    this.#count(set, 1);
    this.groups.add(slot, words, set, namespace);
    return set;
  }

  #count({ hashes }: WordSet, rows: 1 | -1): void {
    for (const hash of hashes) this.#rowsWithWord.set(hash, this.rowsWithWord(hash) + rows);
  }
}

const factName = ({ trust, factKey }: Pick<MemoryRow, "trust" | "factKey">): string => `${trust} ${factKey}`;

const textKey = (text: string): string => hash("sha1", text.toLowerCase().replace(/\s+/g, " ").trim(), "base64");
