/**
 * agent-vectors.ts -- the vectors of one agent's memory: which are in the index, which are still to be made or saved.
 *
 * Everything here belongs to one embedder; when another takes over, this is thrown away and begun anew from
 * the rows. Vectors that cost something to make are saved in lots, not at every step: what a crash
 * loses is made again with the next request.
 */
import type { Store } from "#core/ports/store.ts";
import type { VectorIndex } from "#core/ports/vectors.ts";
import { keepNewest } from "#util/newest.ts";
import { dot } from "../vectors/unit-vector.ts";
import type { AgentRows, Arrival } from "./agent-rows.ts";

const SAVE_EVERY_ROWS = 16;
/** When saving keeps failing, more than this is not held on to. */
const MAX_UNSAVED = 1_024;
/** Texts of the query that come again at the next step. */
const MAX_KNOWN_TEXTS = 32;
/** Rows added since a search that are compared one by one; after more, the search is made again. */
const MAX_ADDED_SINCE = 32;

export type Hit = Awaited<ReturnType<VectorIndex["search"]>>[number];

/** A text of the query: its vector, and what was found near it. */
interface KnownText {
  readonly vector: Float32Array;
  found?: Found;
}

/** The rows nearest to a text, of all that were added up to now: the excluded ones are among them. */
interface Found {
  readonly reach: number;
  /** Best first. */
  readonly hits: Hit[];
  /** How many hits are kept; while there are fewer, they are all rows of the index. */
  readonly wanted: number;
  /** How many rows had ever been added when the hits were last right. */
  added: number;
}

export class AgentVectors {
  readonly embedder: string;
  readonly #agent: string;
  readonly #index: VectorIndex;
  /** Slots without a vector, oldest first. */
  readonly #pending: number[] = [];
  /** Slots whose text the embedder has no usable vector for. */
  readonly #refused: number[] = [];
  /** Slots that were taken out of the index: no candidates are asked for in their place. */
  readonly #dropped = new Set<number>();
  readonly #known = new Map<string, KnownText>();
  /** The newest vectors in the index, and how many were ever added. */
  readonly #recent: { readonly slot: number; readonly vector: Float32Array }[] = [];
  #added = 0;
  #unsaved: { readonly id: string; readonly vector: Float32Array }[] = [];

  constructor(agent: string, embedder: string, index: VectorIndex) {
    this.#agent = agent;
    this.embedder = embedder;
    this.#index = index;
  }

  /** Slots that the index does not find, from the newest downward as far as they wait. */
  *missingSlots(): Generator<number> {
    for (let at = this.#pending.length - 1; at >= 0; at--) yield this.#pending[at] as number;
    for (let at = this.#refused.length - 1; at >= 0; at--) yield this.#refused[at] as number;
  }

  /** How many rows can be found by nearness. */
  get size(): number {
    return this.#index.size;
  }

  /** Stored vectors of this embedder go into the index, everything else waits. */
  async take(arrivals: readonly Arrival[]): Promise<void> {
    for (const { slot, embedder, vector } of arrivals)
      if (embedder !== this.embedder || !vector || !(await this.#add(slot, vector))) this.#pending.push(slot);
  }

  /** Of rows that are not to be recalled any more: neither kept nor made. */
  async drop(slots: readonly number[]): Promise<void> {
    for (const slot of slots) {
      const at = this.#pending.indexOf(slot);
      if (at >= 0) this.#pending.splice(at, 1);
      await this.#index.remove(slot);
      this.#dropped.add(slot);
    }
    if (slots.length === 0) return;
    for (const known of this.#known.values()) delete known.found;
    this.#recent.length = 0;
  }

  /** The newest `limit` slots that wait for a vector. */
  waiting(limit: number): readonly number[] {
    return this.#pending.slice(-limit);
  }

  /** The vectors made for `slots`, which `waiting` gave; `toSave` when making them again would cost something. */
  async settle(
    slots: readonly number[],
    vectors: readonly (Float32Array | null)[],
    rows: AgentRows,
    toSave: boolean,
  ): Promise<void> {
    this.#pending.length -= slots.length;
    for (const [position, slot] of slots.entries()) {
      const vector = vectors[position];
      if (!vector || !(await this.#add(slot, vector))) this.#refused.push(slot);
      else if (toSave) this.#unsaved.push({ id: rows.at(slot).id, vector });
    }
  }

  knows(text: string): boolean {
    return this.#known.has(text);
  }

  learn(text: string, vector: Float32Array): void {
    keepNewest(this.#known, text, { vector }, MAX_KNOWN_TEXTS);
  }

  /**
   * The rows nearest to a known text, best first, without the excluded ones: `reach` of them or
   * somewhat less, never less than half while there are so many. A text is searched for once; at the next
   * steps only the rows that came since are compared with it.
   */
  async nearest(text: string, reach: number, excluded: ReadonlySet<number>): Promise<readonly Hit[]> {
    const known = this.#known.get(text);
    if (!known) return [];
    const found = this.#caughtUp(known, reach);
    if (found) {
      const allowed = allowedOf(found.hits, excluded);
      if (found.hits.length < found.wanted || allowed.length >= reach / 2) return allowed;
    }
    let wanted = reach;
    for (const slot of excluded) if (!this.#dropped.has(slot)) wanted++;
    const hits = [...(await this.#index.search(known.vector, wanted))];
    known.found = { reach, hits, wanted, added: this.#added };
    return allowedOf(hits, excluded);
  }

  /** What was found earlier, with the rows in it that came since; undefined when too many came. */
  #caughtUp({ vector, found }: KnownText, reach: number): Found | undefined {
    const since = this.#added - (found?.added ?? 0);
    if (!found || found.reach < reach || since > this.#recent.length) return undefined;
    for (const { slot, vector: row } of since === 0 ? [] : this.#recent.slice(-since)) {
      insert(found.hits, { slot, score: dot(vector, row) });
      if (found.hits.length > found.wanted) found.hits.pop();
    }
    found.added = this.#added;
    return found;
  }

  /** Saves when a lot is full, or all when `all` is set. What cannot be saved is kept for the next time. */
  async save(store: Pick<Store, "saveVectors">, all: boolean): Promise<void> {
    const lot = this.#unsaved;
    if (lot.length === 0 || (!all && lot.length < SAVE_EVERY_ROWS)) return;
    this.#unsaved = [];
    try {
      await store.saveVectors(this.#agent, this.embedder, lot);
    } catch (error) {
      this.#unsaved = [...lot, ...this.#unsaved].slice(-MAX_UNSAVED);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#index.close();
  }

  /** False for a vector that the index refuses. */
  async #add(slot: number, vector: Float32Array): Promise<boolean> {
    try {
      await this.#index.add(slot, vector);
      this.#added++;
      this.#dropped.delete(slot);
      this.#recent.push({ slot, vector });
      if (this.#recent.length > MAX_ADDED_SINCE) this.#recent.shift();
      return true;
    } catch {
      return false;
    }
  }
}

const allowedOf = (hits: readonly Hit[], excluded: ReadonlySet<number>): readonly Hit[] =>
  hits.filter(({ slot }) => !excluded.has(slot));

/** Before those of the same score: the newer row first, as the index has it. */
function insert(hits: Hit[], hit: Hit): void {
  let at = hits.length;
  while (at > 0 && (hits[at - 1] as Hit).score <= hit.score) at--;
  hits.splice(at, 0, hit);
}
