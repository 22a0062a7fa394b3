/**
 * row-neighbours.ts -- finds the rows that came right before and right after a row.
 *
 * A step's neighbours are other steps; those of a piece of a text are the pieces beside it. Other rows stand alone. Rows are
 * in the order of their ids, not of their slots: a slot is used again when its text comes again, and a row that was pinned
 * is read later after a restart.
 */
import { orderOf } from "#core/memory.ts";
import type { AgentRows, RecallableRow } from "./agent-rows.ts";

type PlacedRow = Pick<RecallableRow, "id" | "kind">;

/** Rows returned on each side. */
const MAX_NEIGHBOURS = 2;
/** Rows looked at on each side, because some are idle, forgotten or came again later. */
const MAX_LOOKED_AT = 8;

export class RowNeighbours {
  readonly #steps = new Order();
  readonly #pieces = new Order();

  /** A row may be added again. */
  add(row: PlacedRow, slot: number): void {
    this.#orderOf(row)?.add(orderOf(row.id), slot);
  }

  /** Returns the slots before and after this one, the nearest first. They end at an excluded slot: the prompt goes on from there. */
  around(slot: number, rows: Pick<AgentRows, "at" | "has">, excluded: ReadonlySet<number>) {
    const row = rows.at(slot);
    const order = this.#orderOf(row);
    const collect = (slots: Iterable<{ readonly key: number; readonly slot: number }>): readonly number[] => {
      const found: number[] = [];
      for (const { key, slot: near } of slots) {
        const other = rows.at(near);
        if (excluded.has(near) || found.length === MAX_NEIGHBOURS) break;
        if (!rows.has(other.id) || orderOf(other.id) !== key || other.importance === 0) continue;
        if (isPiece(row) && wholeOf(other) !== wholeOf(row)) break;
        found.push(near);
      }
      return found;
    };
    const key = orderOf(row.id);
    return { before: collect(order?.before(key) ?? []), after: collect(order?.after(key) ?? []) };
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
  readonly #keys: number[] = [];
  readonly #slots: number[] = [];

  add(key: number, slot: number): void {
    const at = this.#placeOf(key);
    if (this.#keys[at] === key) this.#slots[at] = slot;
    else if (at === this.#keys.length) {
      this.#keys.push(key);
      this.#slots.push(slot);
    } else {
      this.#keys.splice(at, 0, key);
      this.#slots.splice(at, 0, slot);
    }
  }

  *before(key: number) {
    const from = this.#placeOf(key) - 1;
    for (let at = from; at >= Math.max(0, from - MAX_LOOKED_AT + 1); at--) yield this.#entry(at);
  }

  *after(key: number) {
    const place = this.#placeOf(key);
    const from = this.#keys[place] === key ? place + 1 : place;
    for (let at = from; at < Math.min(this.#keys.length, from + MAX_LOOKED_AT); at++) yield this.#entry(at);
  }

  #entry(at: number): { readonly key: number; readonly slot: number } {
    return { key: this.#keys[at] as number, slot: this.#slots[at] as number };
  }

  /** Returns the first place whose key is at least this one. */
  #placeOf(key: number): number {
    let [from, to] = [0, this.#keys.length];
    if (to === 0 || (this.#keys[to - 1] as number) < key) return to;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#keys[middle] as number) < key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
