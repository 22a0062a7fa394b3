/**
 * rows.ts -- the memory rows of one agent as recall sees them: every text once.
 *
 * Read from the store in pages, and only what came since the last reading. Rows whose text is the
 * same but for case and white space share one slot, in which the newest of them lies; a slot's
 * vector is therefore never made twice. Slots are numbered from 0 and never reused.
 */
import { hash } from "node:crypto";
import { isLive } from "#core/memory.ts";
import type { MemoryRow, Store } from "#core/ports.ts";
import { wordsOf } from "#util/words.ts";
import { Voices } from "./voices.ts";
import { type WordSet, wordSetOf } from "./word-set.ts";

const PAGE_ROWS = 256;

export interface Remembered extends Omit<MemoryRow, "vector" | "embedder"> {
  readonly words: WordSet;
}

/** A slot that was filled by the last reading, with the vector that the store had for it. */
export interface Arrival {
  readonly slot: number;
  readonly embedder: string | null;
  readonly vector: Float32Array | null;
}

export class AgentRows {
  /** All rows, by their words. */
  readonly voices = new Voices();
  /** The last recall met so many near-duplicates that the next one looks farther at once. */
  repetitive = false;
  readonly #agent: string;
  readonly #bySlot: Remembered[] = [];
  readonly #slotOfText = new Map<string, number>();
  readonly #slotOfId = new Map<string, number>();
  readonly #slotsOfStep = new Map<number, number[]>();
  /** Slots whose row was forgotten or superseded. */
  readonly #dead = new Set<number>();
  readonly #buried: number[] = [];
  #lastChange = 0;
  #lastStep = 0;

  constructor(agent: string) {
    this.#agent = agent;
  }

  get size(): number {
    return this.#bySlot.length;
  }

  /** Step of the newest row: what ages are counted from. */
  get lastStep(): number {
    return this.#lastStep;
  }

  at(slot: number): Remembered {
    const row = this.#bySlot[slot];
    if (!row) throw new RangeError(`No memory lies in slot ${slot} of ${this.#bySlot.length}.`);
    return row;
  }

  /** What is not to be recalled: slots of these steps, those included whose text another step shares, and dead ones. */
  slotsOf(steps: ReadonlySet<number>): Set<number> {
    const slots = new Set(this.#dead);
    for (const step of steps) for (const slot of this.#slotsOfStep.get(step) ?? []) slots.add(slot);
    return slots;
  }

  /** Slots from the newest downward. */
  *newestSlots(): Generator<number> {
    for (let slot = this.size - 1; slot >= 0; slot--) yield slot;
  }

  /** Whether a row of this id lies in a slot, and is live. */
  has(id: string): boolean {
    const slot = this.#slotOfId.get(id);
    return slot !== undefined && this.at(slot).id === id && !this.#dead.has(slot);
  }

  /** Slots that died since this was last asked: their vectors are not to be kept. */
  takeBuried(): readonly number[] {
    return this.#buried.splice(0).filter((slot) => this.#dead.has(slot));
  }

  /** Reads what is new, a page at a time, handing over each page's newly filled slots. */
  async *readNew(store: Pick<Store, "memories">): AsyncGenerator<readonly Arrival[]> {
    for (;;) {
      const page = await store.memories(this.#agent, this.#lastChange, PAGE_ROWS);
      yield page.flatMap((row) => this.#take(row));
      if (page.length < PAGE_ROWS) return;
    }
  }

  #take({ vector, embedder, ...row }: MemoryRow): Arrival[] {
    this.#lastChange = row.change;
    if (!isLive(row)) return this.#bury(row);
    this.#lastStep = Math.max(this.#lastStep, row.step ?? 0);
    const text = row.text.toLowerCase().replace(/\s+/g, " ").trim();
    const key = hash("sha1", text, "base64");
    const known = this.#slotOfText.get(key);
    const slot = known ?? this.#bySlot.length;
    this.#bySlot[slot] = { ...row, words: known === undefined ? this.#index(slot, row) : this.at(known).words };
    this.#slotOfText.set(key, slot);
    this.#slotOfId.set(row.id, slot);
    const isNew = this.#dead.delete(slot) || known === undefined;
    if (row.step === null) return isNew ? [{ slot, embedder, vector }] : [];
    const ofStep = this.#slotsOfStep.get(row.step);
    if (ofStep) ofStep.push(slot);
    else this.#slotsOfStep.set(row.step, [slot]);
    return isNew ? [{ slot, embedder, vector }] : [];
  }

  #bury({ id }: Pick<MemoryRow, "id">): Arrival[] {
    const slot = this.#slotOfId.get(id);
    if (slot === undefined || this.at(slot).id !== id) return [];
    this.#dead.add(slot);
    this.#buried.push(slot);
    return [];
  }

  #index(slot: number, { text, namespace }: Pick<MemoryRow, "text" | "namespace">): WordSet {
    const words = wordsOf(text);
    const set = wordSetOf(words);
    this.voices.add(slot, words, set, namespace);
    return set;
  }
}
