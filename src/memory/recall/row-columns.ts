/**
 * row-columns.ts -- what ranking needs of each memory row, in flat columns: identity, step, importance and marks. Rows
 * are numbered from 0 in the order in which they were first read. Texts and everything else stay in the store.
 */
import { hash } from "node:crypto";
import { GoaldError } from "#core/errors.ts";
import { MEMORY_KINDS, TRUSTS } from "#core/memory.ts";
import type { MemoryKind, MemoryRow, Trust } from "#core/ports/memory.ts";
import { hashOf } from "#util/words.ts";
import type { Columns } from "../columns.ts";
import { IMPORTANCE } from "../remember/remember.ts";
import { growAll, grown, NO_ITEM, NumberChains } from "../words/flat-lists.ts";
import type { WordSet } from "../words/vocabulary.ts";
import type { SlotRows } from "./agent-rows.ts";

const NO_STEP = 2 ** 32 - 1;
/** Added to the number of a row that a person added, so that it differs from an ordinal. */
const FIRST_MADE = 2 ** 31;
const PINNED = 1;
const CORRECTION = 2;
const GONE = 4;
const QUESTION = 8;
const CLOSED = 16;

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

export class RowColumns {
  readonly #namespace: string;
  /** Rows ever added. */
  #count = 0;
  readonly #rows = {
    /** `MemoryRow.seq`, and the ordinal in the id, or FIRST_MADE and the number of a row that a person added. */
    seqs: new Uint32Array(256),
    ordinals: new Uint32Array(256),
    steps: new Uint32Array(256),
    importances: new Float64Array(256),
    marks: new Uint8Array(256),
    /** Places in MEMORY_KINDS and TRUSTS. */
    kinds: new Uint8Array(256),
    trusts: new Uint8Array(256),
    sourceKeys: new Uint32Array(256),
  };
  readonly #byName = new NumberChains();
  readonly #byStep = new NumberChains();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  exchange(columns: Columns): void {
    this.#count = columns.number("count", this.#count);
    columns.arrays(this.#rows);
    this.#byName.exchange(columns.part("byName"));
    this.#byStep.exchange(columns.part("byStep"));
  }

  /** Adds a row, or replaces what is known of it. Returns its number. */
  put(row: MemoryRow): number {
    const known = this.find(row.id);
    const place = known === NO_ITEM ? this.#add(row) : known;
    const isCorrection = row.supersedes !== null && row.trust === "person";
    this.#rows.importances[place] = row.importance;
    this.#rows.marks[place] =
      (row.pinned ? PINNED : 0) |
      (row.closed ? CLOSED : 0) |
      (isCorrection ? CORRECTION : 0) |
      (/[?？؟]/.test(row.text) ? QUESTION : 0);
    this.#rows.kinds[place] = MEMORY_KINDS.indexOf(row.kind);
    this.#rows.trusts[place] = TRUSTS.indexOf(row.trust);
    this.#rows.sourceKeys[place] = row.source === null ? 0 : hashOf(row.source);
    return place;
  }

  /** `readWords` is called once, when the words are read: most candidates are never compared with another one. */
  read(row: number, readWords: () => WordSet): RecallableRow {
    const marks = this.#rows.marks[row] as number;
    let words: WordSet | undefined;
    return {
      id: this.idOf(row),
      seq: this.#rows.seqs[row] as number,
      step: this.#stepOf(row),
      importance: this.#rows.importances[row] as number,
      kind: this.kindOf(row),
      trust: this.trustOf(row),
      sourceKey: this.#rows.sourceKeys[row] as number,
      isQuestion: (marks & QUESTION) !== 0,
      isCorrection: (marks & CORRECTION) !== 0,
      isPinned: (marks & PINNED) !== 0,
      get words() {
        words ??= readWords();
        return words;
      },
    };
  }

  kindOf(row: number): MemoryKind {
    return MEMORY_KINDS[this.#rows.kinds[row] as number] as MemoryKind;
  }

  /** Returns the number of the row with this id, or NO_ITEM. */
  find(id: string): number {
    const name = this.#readName(id);
    let row = this.#byName.last(hashName(name));
    while (row !== NO_ITEM && !this.#hasName(row, name)) row = this.#byName.before(row);
    return row;
  }

  idOf(row: number): string {
    const ordinal = this.#rows.ordinals[row] as number;
    const name =
      ordinal >= FIRST_MADE ? `+${ordinal - FIRST_MADE}` : `${this.#rows.seqs[row]}${ordinal > 0 ? `.${ordinal}` : ""}`;
    return `${this.#namespace}/${name}`;
  }

  #stepOf(row: number): number | null {
    const step = this.#rows.steps[row] as number;
    return step === NO_STEP ? null : step;
  }

  isPinned(row: number): boolean {
    return ((this.#rows.marks[row] as number) & PINNED) !== 0;
  }

  /** Whether the row is a fact that a newer one has closed. */
  isClosed(row: number): boolean {
    return ((this.#rows.marks[row] as number) & CLOSED) !== 0;
  }

  /** As `isPast` of core/memory.ts. */
  isPast(row: number): boolean {
    return this.isClosed(row) && !this.isPinned(row);
  }

  /** In the order of events. A row that a person added comes after those of the event before it. */
  isAfter(row: number, other: number): boolean {
    const [seq, otherSeq] = [this.#rows.seqs[row] as number, this.#rows.seqs[other] as number];
    return (
      seq > otherSeq ||
      (seq === otherSeq && (this.#rows.ordinals[row] as number) > (this.#rows.ordinals[other] as number))
    );
  }

  /** Whether the row was forgotten or superseded. */
  isGone(row: number): boolean {
    return ((this.#rows.marks[row] as number) & GONE) !== 0;
  }

  markGone(row: number): void {
    this.#rows.marks[row] = GONE;
  }

  /**
   * Yields the rows of the work that was nested in a command and done before the event `seq`: they are of later steps than the command.
   * Words of people and pinned rows are not among them.
   */
  *nestedIn(command: { readonly step: number; readonly seq: number }, lastStep: number): Generator<number> {
    for (let later = command.step + 1; later <= lastStep; later++) {
      const rows = [...this.ofStep(later)];
      const before = rows.filter((row) => (this.#rows.seqs[row] as number) < command.seq);
      if (before.length < rows.length && before.length === 0) return;
      yield* before.filter((row) => this.isOfStep(row) && this.trustOf(row) !== "person" && !this.isPinned(row));
    }
  }

  /** Whether the row is of a step: its own row, or a piece of its texts. */
  isOfStep(row: number): boolean {
    return ["step", "piece"].includes(this.kindOf(row));
  }

  isFailure(row: number): boolean {
    return this.#rows.importances[row] === IMPORTANCE.failure && this.isOfStep(row);
  }

  trustOf(row: number): Trust {
    return TRUSTS[this.#rows.trusts[row] as number] as Trust;
  }

  /** Yields the rows of a step, the newest first. */
  *ofStep(step: number): Generator<number> {
    for (let row = this.#byStep.last(step); row !== NO_ITEM; row = this.#byStep.before(row)) yield row;
  }

  #add({ id, seq, step }: MemoryRow): number {
    const row = this.#count++;
    if (row === this.#rows.seqs.length) growAll(this.#rows);
    const name = this.#readName(id);
    this.#rows.seqs[row] = seq;
    this.#rows.ordinals[row] = name.ordinal;
    this.#rows.steps[row] = step ?? NO_STEP;
    this.#byName.add(hashName(name), row);
    this.#byStep.add(step ?? NO_STEP, row);
    return row;
  }

  #hasName(row: number, { number, ordinal }: RowName): boolean {
    return this.#rows.ordinals[row] === ordinal && (ordinal >= FIRST_MADE || this.#rows.seqs[row] === number);
  }

  #readName(id: string): RowName {
    const [, made, seq, ordinal = 0] =
      NAME.exec(id.slice(this.#namespace.length)) ?? throwStrangeId(id, this.#namespace);
    return made === undefined
      ? { number: Number(seq), ordinal: Number(ordinal) }
      : { number: 0, ordinal: FIRST_MADE + Number(made) };
  }
}

/** The part of `MemoryRow.id` after the namespace. */
interface RowName {
  readonly number: number;
  readonly ordinal: number;
}

const NAME = /^\/(?:\+(\d+)|(\d+)(?:\.(\d+))?)$/;

const hashName = ({ number, ordinal }: RowName): number => (number ^ Math.imul(ordinal, 0x9e3779b1)) >>> 0;

function throwStrangeId(id: string, namespace: string): never {
  throw new GoaldError("GOALD_INTERNAL", `Expected the id of a memory of ${namespace}, got ${JSON.stringify(id)}.`);
}

/** Rows of one fact that are looked at, those read last first. */
const MAX_LOOKED_AT = 64;

/**
 * Finds the rows of a memory that are about the same subject and attribute. Each fact has a number: 48 bits of a hash
 * of its key and trust. Facts about other things with the same number would need a memory of millions of facts.
 */
export class FactRows {
  readonly #rows: RowColumns;
  readonly #slots: SlotRows;
  /** By row: the number of its fact plus 1, 0 for any other row. */
  #keys = new Float64Array(256);
  readonly #rowsOfKey = new NumberChains();

  constructor(rows: RowColumns, slots: SlotRows) {
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
    return this.#keyOf(this.#slots.newest(slot)) > 0;
  }

  /** The slot of the fact that holds instead of a past one; the same slot for any other row, and when no such fact is live. */
  holderOf(slot: number): number {
    const row = this.#slots.newest(slot);
    if (!this.#rows.isPast(row)) return slot;
    return this.#findNewest(row, (other) => !this.#rows.isClosed(other)) ?? slot;
  }

  /** The slot of the newest live fact that was true before the one that holds; undefined when there is none. */
  pastOf(slot: number): number | undefined {
    const row = this.#slots.newest(slot);
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
      if (this.#keyOf(other) !== key || !isWanted(other)) continue;
      if (this.#rows.isGone(other) || !this.#slots.shows(other)) continue;
      if (newest === NO_ITEM || this.#rows.isAfter(other, newest)) newest = other;
    }
    return newest === NO_ITEM ? undefined : this.#slots.slotOf(newest);
  }
}

/**
 * Returns 48 bits of a hash of the text without its case and white space, by which rows are found without their texts.
 */
export const hashText = (text: string): number =>
  hash(
    "sha1",
    text
      .toLowerCase()
      .replace(/\s{2,}|[^\S ]/g, " ")
      .trim(),
    "buffer",
  ).readUIntBE(0, 6);
