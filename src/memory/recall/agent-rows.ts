/**
 * agent-rows.ts -- the memory rows of one agent as recall sees them: every text once.
 *
 * Read from the store in pages, and only what came since the last reading. Rows whose text is the
 * same but for case and white space share one slot, in which the newest of them lies; a slot's
 * vector is therefore never made twice. Slots are numbered from 0 and never reused.
 */
import { hash } from "node:crypto";
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import { wordsOf } from "#util/words.ts";
import { type WordSet, wordSetOf } from "../lexical/word-set.ts";
import { Voices } from "./duplicate-groups.ts";

const PAGE_ROWS = 256;
/** An agent that repeats itself leaves the same text a thousand times; the newest of those are kept. */
const MAX_BEHIND = 16;

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
  readonly #agent: string;
  readonly #bySlot: Remembered[] = [];
  readonly #slotOfText = new Map<string, number>();
  readonly #slotOfId = new Map<string, number>();
  readonly #slotsOfStep = new Map<number, number[]>();
  /** Older rows of the same text, oldest first, for when the one in the slot is forgotten. */
  readonly #behind = new Map<number, Remembered[]>();
  /** Slots whose row was forgotten or superseded, and those of them that nobody was told of. */
  readonly #dead = new Set<number>();
  readonly #buried: number[] = [];
  readonly #pinned = new Set<number>();
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

  /** Slots of these steps, those included whose text an older or newer step shares. */
  slotsOf(steps: ReadonlySet<number>): Set<number> {
    const slots = new Set<number>();
    for (const step of steps) for (const slot of this.#slotsOfStep.get(step) ?? []) slots.add(slot);
    return slots;
  }

  /** Slots of rows that can be recalled, from the newest downward. */
  *newestSlots(): Generator<number> {
    for (let slot = this.size - 1; slot >= 0; slot--) if (!this.#dead.has(slot)) yield slot;
  }

  /** Of what a person wants recalled whatever the question, the newest first. */
  pinnedSlots(): readonly number[] {
    return [...this.#pinned].sort((a, b) => b - a);
  }

  /** Whether a row of this id lies in a slot, and is live. */
  has(id: string): boolean {
    const slot = this.#slotOfId.get(id);
    return slot !== undefined && this.at(slot).id === id && !this.#dead.has(slot);
  }

  /** Slots that died since this was last asked: their vectors are not to be kept. */
  takeBuried(): readonly number[] {
    return this.#buried.splice(0);
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
    const key = textKey(row.text);
    const known = this.#slotOfText.get(key);
    const slot = known ?? this.#bySlot.length;
    if (known !== undefined && this.at(slot).id !== row.id) this.#putBehind(slot, row.id);
    this.#bySlot[slot] = { ...row, words: known === undefined ? this.#index(slot, row) : this.at(known).words };
    this.#slotOfText.set(key, slot);
    this.#slotOfId.set(row.id, slot);
    if (row.pinned) this.#pinned.add(slot);
    else this.#pinned.delete(slot);
    if (row.step === null) return known === undefined ? [{ slot, embedder, vector }] : [];
    const ofStep = this.#slotsOfStep.get(row.step);
    if (ofStep) ofStep.push(slot);
    else this.#slotsOfStep.set(row.step, [slot]);
    return known === undefined ? [{ slot, embedder, vector }] : [];
  }

  #putBehind(slot: number, id: string): void {
    const behind = (this.#behind.get(slot) ?? []).filter((row) => row.id !== id);
    this.#behind.set(slot, [...behind, this.at(slot)].slice(-MAX_BEHIND));
  }

  /** Its words are let go as well: a person may have meant just those. */
  #bury({ id }: Pick<MemoryRow, "id">): Arrival[] {
    const slot = this.#slotOfId.get(id);
    if (slot === undefined) return [];
    this.#slotOfId.delete(id);
    const behind = this.#behind.get(slot)?.filter((row) => row.id !== id) ?? [];
    const row = this.at(slot).id === id ? behind.pop() : this.at(slot);
    this.#behind.set(slot, behind);
    if (behind.length === 0) this.#behind.delete(slot);
    if (row) {
      this.#bySlot[slot] = row;
      if (!row.pinned) this.#pinned.delete(slot);
      return [];
    }
    const { text } = this.at(slot);
    this.voices.remove(slot, wordsOf(text));
    this.#slotOfText.delete(textKey(text));
    this.#bySlot[slot] = { ...this.at(slot), text: "", pinned: false };
    this.#pinned.delete(slot);
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

const textKey = (text: string): string => hash("sha1", text.toLowerCase().replace(/\s+/g, " ").trim(), "base64");
