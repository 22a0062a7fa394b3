/**
 * row-statistics.ts -- by slot the length of each row of a lexical index, of its window, its namespace and whether it is live.
 *
 * Slots are numbered from 0 without gaps. Removed rows count in no total and in no window.
 */
import type { Columns } from "../snapshots/columns.ts";
import { grown } from "./number-lists.ts";

export class RowStatistics {
  readonly #window: readonly (readonly [distance: number, weight: number])[];
  #namespaces = new Uint16Array(256);
  #lengths = new Float32Array(256);
  #windowLengths = new Float64Array(256);
  #live = new Uint8Array(256);
  /** The namespace of each number. */
  #namespaceNames: readonly string[] = [];
  #slots = 0;
  #size = 0;
  #totalLength = 0;
  #totalWindowLength = 0;

  constructor(window: readonly (readonly [distance: number, weight: number])[]) {
    this.#window = window;
  }

  exchange(columns: Columns): void {
    this.#namespaces = columns.array("namespaces", this.#namespaces);
    this.#lengths = columns.array("lengths", this.#lengths);
    this.#windowLengths = columns.array("windowLengths", this.#windowLengths);
    this.#live = columns.array("live", this.#live);
    this.#namespaceNames = columns.words("namespaceNames", this.#namespaceNames);
    this.#slots = columns.number("slots", this.#slots);
    this.#size = columns.number("size", this.#size);
    this.#totalLength = columns.number("totalLength", this.#totalLength);
    this.#totalWindowLength = columns.number("totalWindowLength", this.#totalWindowLength);
  }

  /** Number of rows ever added. */
  get slots(): number {
    return this.#slots;
  }

  /** Number of live rows. */
  get size(): number {
    return this.#size;
  }

  /** Sum over live rows, in words. */
  get totalLength(): number {
    return this.#totalLength;
  }

  get totalWindowLength(): number {
    return this.#totalWindowLength;
  }

  get hasOneNamespace(): boolean {
    return this.#namespaceNames.length === 1;
  }

  /** Namespace numbers by slot. This array and those below are valid until the next row is added. */
  get namespaces(): Uint16Array {
    return this.#namespaces;
  }

  /** In words. */
  get lengths(): Float32Array {
    return this.#lengths;
  }

  /** Weighted lengths of the neighbours in each row's window. */
  get windowLengths(): Float64Array {
    return this.#windowLengths;
  }

  /** 1 for a live row, else 0. */
  get live(): Uint8Array {
    return this.#live;
  }

  /** Adds a row in the next slot. */
  add(length: number, namespace: string): void {
    const slot = this.#slots++;
    this.#size++;
    this.#reserve(this.#slots);
    this.#namespaces[slot] = this.#namespaceNumber(namespace);
    this.#live[slot] = 1;
    this.#lengths[slot] = length;
    this.#totalLength += length;
    for (const [distance, weight] of this.#window) {
      this.#addToWindow(slot + distance, slot, weight);
      this.#addToWindow(slot, slot - distance, weight);
    }
  }

  remove(slot: number): void {
    this.#totalLength -= this.#lengths[slot] as number;
    this.#totalWindowLength -= this.#windowLengths[slot] as number;
    this.#live[slot] = 0;
    this.#size--;
    for (const [distance, weight] of this.#window) this.#addToWindow(slot, slot - distance, -weight);
  }

  /** Adds the weighted length of `neighbour` to the window of `slot`, if both exist in one namespace. */
  #addToWindow(neighbour: number, slot: number, weight: number): void {
    if (Math.min(neighbour, slot) < 0 || Math.max(neighbour, slot) >= this.#slots) return;
    if (this.#namespaces[neighbour] !== this.#namespaces[slot]) return;
    if (weight > 0 && this.#live[neighbour] !== 1) return;
    const length = weight * (this.#lengths[neighbour] as number);
    this.#windowLengths[slot] = (this.#windowLengths[slot] as number) + length;
    if (this.#live[slot] === 1) this.#totalWindowLength += length;
  }

  #namespaceNumber(namespace: string): number {
    const known = this.#namespaceNames.indexOf(namespace);
    if (known >= 0) return known;
    this.#namespaceNames = [...this.#namespaceNames, namespace];
    return this.#namespaceNames.length - 1;
  }

  #reserve(slots: number): void {
    if (slots <= this.#live.length) return;
    this.#namespaces = grown(this.#namespaces, slots);
    this.#lengths = grown(this.#lengths, slots);
    this.#windowLengths = grown(this.#windowLengths, slots);
    this.#live = grown(this.#live, slots);
  }
}
