/**
 * row-neighbours.ts -- finds the rows that came right before and right after a row. A step's neighbours are other
 * steps; those of a piece of a text are the pieces beside it. Other rows stand alone. Rows are in the order of their
 * ids, not of their slots: a slot is used again when its text comes again, and a row that was pinned is read later
 * after a restart.
 */
import { orderOf } from "#core/memory.ts";
import type { Columns } from "../columns.ts";
import { grown } from "../words/flat-lists.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { RecallableRow } from "./row-columns.ts";

type PlacedRow = Pick<RecallableRow, "id" | "kind">;

/** Rows looked at on each side, because some are idle, forgotten or came again later. */
const MAX_LOOKED_AT = 8;

export class RowNeighbours {
  readonly #steps = new Order();
  readonly #pieces = new Order();

  exchange(columns: Columns): void {
    this.#steps.exchange(columns.part("steps"));
    this.#pieces.exchange(columns.part("pieces"));
  }

  /** A row may be added again. */
  add(row: PlacedRow, slot: number): void {
    this.#orderOf(row)?.add(orderOf(row.id), slot);
  }

  /** Returns the slots right before and right after a row. None at an excluded slot: the prompt goes on from there. */
  around(row: RecallableRow, rows: Pick<AgentRows, "at" | "isLive">, excluded: ReadonlySet<number>): readonly number[] {
    const order = this.#orderOf(row);
    const find = (slots: Iterable<{ readonly key: number; readonly slot: number }>): readonly number[] => {
      for (const { key, slot: near } of slots) {
        if (excluded.has(near)) return [];
        const other = rows.at(near);
        if (!rows.isLive(near) || orderOf(other.id) !== key || other.importance === 0) continue;
        return isPiece(row) && wholeOf(other) !== wholeOf(row) ? [] : [near];
      }
      return [];
    };
    const key = orderOf(row.id);
    return order ? [...find(order.before(key)), ...find(order.after(key))] : [];
  }

  #orderOf(row: PlacedRow): Order | undefined {
    if (isPiece(row)) return this.#pieces;
    return row.kind === "step" ? this.#steps : undefined;
  }
}

const isPiece = ({ kind }: PlacedRow): boolean => kind === "file_chunk" || kind === "piece";

/** Returns a key that is equal for the pieces of one text. */
const wholeOf = ({ id, sourceKey }: RecallableRow): string =>
  `${id.includes("+") ? "" : id.replace(/\.\d+$/, "")} ${sourceKey}`;

/** Slots by ascending keys. */
class Order {
  #keys = new Float64Array(64);
  #slots = new Uint32Array(64);
  #count = 0;

  exchange(columns: Columns): void {
    this.#keys = columns.array("keys", this.#keys);
    this.#slots = columns.array("slots", this.#slots);
    this.#count = columns.number("count", this.#count);
  }

  add(key: number, slot: number): void {
    const at = this.#placeOf(key);
    if (at === this.#count || this.#keys[at] !== key) this.#insert(at);
    this.#keys[at] = key;
    this.#slots[at] = slot;
  }

  #insert(at: number): void {
    if (this.#count === this.#keys.length) {
      this.#keys = grown(this.#keys, this.#count + 1);
      this.#slots = grown(this.#slots, this.#count + 1);
    }
    this.#keys.copyWithin(at + 1, at, this.#count);
    this.#slots.copyWithin(at + 1, at, this.#count);
    this.#count++;
  }

  *before(key: number) {
    const from = this.#placeOf(key) - 1;
    for (let at = from; at >= Math.max(0, from - MAX_LOOKED_AT + 1); at--) yield this.#entry(at);
  }

  *after(key: number) {
    const place = this.#placeOf(key);
    const from = place < this.#count && this.#keys[place] === key ? place + 1 : place;
    for (let at = from; at < Math.min(this.#count, from + MAX_LOOKED_AT); at++) yield this.#entry(at);
  }

  #entry(at: number): { readonly key: number; readonly slot: number } {
    return { key: this.#keys[at] as number, slot: this.#slots[at] as number };
  }

  /** Returns the first place whose key is at least this one. */
  #placeOf(key: number): number {
    let [from, to] = [0, this.#count];
    if (to === 0 || (this.#keys[to - 1] as number) < key) return to;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#keys[middle] as number) < key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
