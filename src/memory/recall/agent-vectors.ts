/**
 * agent-vectors.ts -- the vectors of one agent's memory: those in the index, those still to be made and those to be saved.
 *
 * One object belongs to one embedder; a new embedder gets a new object, filled from the rows. Vectors that cost
 * something are saved in batches, not at every step: after a crash the unsaved ones are computed again.
 */

import type { Embedder, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { keepNewest } from "#util/caches.ts";
import { roundVector } from "../vectors/unit-vector.ts";
import type { AgentRows, NewSlot } from "./agent-rows.ts";
import { type CachedSearch, type EmbeddedText, insertSorted, withoutExcluded } from "./embedded-text.ts";
import type { NearRows } from "./fuse-scores.ts";
import { measureMean, type VectorMean } from "./vector-mean.ts";

const SAVE_EVERY_ROWS = 16;
/** Bounds the unsaved vectors while saving keeps failing. */
const MAX_UNSAVED = 1_024;
/** Most texts of a query come again at the next step. */
const MAX_CACHED_TEXTS = 32;
/** Rows added since a search that are compared one by one; after more of them the search is repeated. */
const MAX_RECENT = 32;
const NO_SLOT = -1;

export class AgentVectors {
  readonly embedder: string;
  readonly #agent: string;
  readonly #isInstant: boolean;
  readonly #index: VectorIndex;
  /** Slots of rows and of pieces without a vector, oldest first. */
  readonly #pending: number[] = [];
  readonly #pendingPieces: number[] = [];
  /** Slots whose vectors are being made in the background. */
  #taken: readonly number[] = [];
  /** Slots removed from the index. */
  readonly #removed = new Set<number>();
  readonly #texts = new Map<string, EmbeddedText>();
  /** Slots of the newest vectors of the index. */
  readonly #recent: number[] = [];
  #dimensions = 0;
  #measured: { readonly state: string; readonly mean: VectorMean | undefined } | undefined;
  /** Number of vectors ever added to the index. */
  #added = 0;
  #unsaved: { readonly id: string; readonly vector: Float32Array }[] = [];

  constructor(agent: string, { id, isInstant = false }: Pick<Embedder, "id" | "isInstant">, index: VectorIndex) {
    this.#agent = agent;
    this.embedder = id;
    this.#isInstant = isInstant;
    this.#index = index;
  }

  /** Estimated main memory: each component is held as 24 bits, and as 8 if it is rounded. */
  get bytes(): number {
    return this.#index.size * this.#dimensions * (this.#isInstant ? 1 : 3);
  }

  get size(): number {
    return this.#index.size;
  }

  /** The mean of the rows; undefined while they are too few. Measured when the vectors have doubled or are complete. */
  mean(rows: AgentRows): VectorMean | undefined {
    const doublings = Math.floor(Math.log2(Math.max(1, this.#index.size)));
    const state = `${doublings} ${this.#pending.length + this.#taken.length === 0}`;
    if (this.#measured?.state !== state)
      this.#measured = { state, mean: measureMean(rows.size, (slot) => this.#index.vectorOf(slot)) };
    return this.#measured.mean;
  }

  /** Indexes the stored vectors of this embedder. The other slots become pending; pieces apart, unless the embedder is instant. */
  async addStored(slots: readonly NewSlot[]): Promise<void> {
    for (const { slot, embedder, vector, isPiece } of slots)
      if (embedder !== this.embedder || !vector || !(await this.#add(slot, vector)))
        (isPiece && !this.#isInstant ? this.#pendingPieces : this.#pending).push(slot);
  }

  async remove(slots: readonly number[]): Promise<void> {
    for (const slot of slots) {
      for (const pending of [this.#pending, this.#pendingPieces]) {
        const at = pending.indexOf(slot);
        if (at >= 0) pending.splice(at, 1);
      }
      await this.#index.remove(slot);
      this.#removed.add(slot);
    }
    if (slots.length === 0) return;
    for (const text of this.#texts.values()) delete text.cached;
    this.#recent.length = 0;
  }

  /** Returns the newest or the oldest `limit` slots without a vector, those of pieces left out. */
  pendingSlots(limit: number, end: "newest" | "oldest" = "newest"): readonly number[] {
    return end === "newest" ? this.#pending.slice(-limit) : this.#pending.slice(0, limit);
  }

  /** Takes the newest `limit` of `pendingSlots` until `addMade` or `putBack` gets them; only then are others taken. */
  takePending(limit: number): readonly number[] {
    this.#taken = this.#pending.splice(-limit);
    return this.#taken;
  }

  /** Returns slots of `takePending` that got no vector. */
  putBack(slots: readonly number[]): void {
    this.#pending.push(...slots.filter((slot) => !this.#removed.has(slot)));
    this.#pending.sort((a, b) => a - b);
    this.#taken = [];
  }

  /** Yields the slots of pieces without a vector, newest first. */
  *pendingPieces(): Generator<number> {
    for (let at = this.#pendingPieces.length - 1; at >= 0; at--) yield this.#pendingPieces[at] as number;
  }

  /**
   * Adds the vectors made for `slots`: those of `takePending`, or of `pendingSlots` and the newest of `pendingPieces`. Those of
   * an instant embedder are rounded as a snapshot does, others are saved later.
   */
  async addMade(slots: readonly number[], vectors: readonly (Float32Array | null)[], rows: AgentRows): Promise<void> {
    if (slots === this.#taken) this.#taken = [];
    const done = new Set(slots);
    for (const pending of [this.#pending, this.#pendingPieces]) {
      while (done.has(pending.at(-1) ?? NO_SLOT)) pending.pop();
      let oldest = 0;
      while (done.has(pending[oldest] ?? NO_SLOT)) oldest++;
      pending.splice(0, oldest);
    }
    for (const [position, slot] of slots.entries()) {
      const made = this.#removed.has(slot) ? null : vectors[position];
      const vector = made && this.#isInstant ? roundVector(made) : made;
      const isAdded = vector && (await this.#add(slot, vector));
      if (isAdded && !this.#isInstant) this.#unsaved.push({ id: rows.at(slot).id, vector });
    }
  }

  hasText(text: string): boolean {
    return this.#texts.has(text);
  }

  addText(text: string, vector: Float32Array): void {
    keepNewest(this.#texts, text, { vector, query: vector }, MAX_CACHED_TEXTS);
  }

  /**
   * Returns at most `limit` rows that are near to an added text, less the mean of all rows, without the excluded ones. Undefined when the
   * text has no vector, or one like the mean.
   */
  async findNear(
    text: string,
    limit: number,
    excluded: ReadonlySet<number>,
    mean: VectorMean,
  ): Promise<NearRows | undefined> {
    const embedded = this.#texts.get(text);
    if (!embedded) return undefined;
    if (embedded.mean !== mean) {
      const query = mean.centre(embedded.vector);
      if (!query) return undefined;
      Object.assign(embedded, { query, mean, measure: mean.compare(query) });
      delete embedded.cached;
    }
    const closenessOf = (slot: number): number =>
      embedded.measure?.((vector) => this.#index.scoreOf(slot, vector)) ?? 0;
    const hits = await this.findNearest(text, limit, excluded);
    return { slots: hits.map(({ slot }) => slot), closenessOf };
  }

  /**
   * Returns the rows nearest to an added text, best first, without the excluded ones: `limit` of them or somewhat
   * fewer, never fewer than half while there are so many. The index is searched once per text; at the next steps
   * only the rows added since are compared with it.
   */
  async findNearest(text: string, limit: number, excluded: ReadonlySet<number>): Promise<readonly ScoredSlot[]> {
    const embedded = this.#texts.get(text);
    if (!embedded) return [];
    const cached = this.#updateCached(embedded, limit);
    if (cached) {
      const allowed = withoutExcluded(cached.hits, excluded);
      if (cached.hits.length < cached.capacity || allowed.length >= limit / 2) return allowed;
    }
    let capacity = limit;
    for (const slot of excluded) if (!this.#removed.has(slot)) capacity++;
    const hits = [...(await this.#index.search(embedded.query, capacity))];
    embedded.cached = { limit, hits, capacity, added: this.#added };
    return withoutExcluded(hits, excluded);
  }

  /** Adds the rows that came since to the cached search. Returns undefined when too many came. */
  #updateCached({ query, cached }: EmbeddedText, limit: number): CachedSearch | undefined {
    const since = this.#added - (cached?.added ?? 0);
    if (!cached || cached.limit < limit || since > this.#recent.length) return undefined;
    for (const slot of since === 0 ? [] : this.#recent.slice(-since)) {
      insertSorted(cached.hits, { slot, score: this.#index.scoreOf(slot, query) as number });
      if (cached.hits.length > cached.capacity) cached.hits.pop();
    }
    cached.added = this.#added;
    return cached;
  }

  /** Saves a full batch, or everything if `all`. Vectors that cannot be saved are kept for the next call. */
  async save(store: Pick<Store, "saveVectors">, all: boolean): Promise<void> {
    const batch = this.#unsaved;
    if (batch.length === 0 || (!all && batch.length < SAVE_EVERY_ROWS)) return;
    this.#unsaved = [];
    try {
      await store.saveVectors(this.#agent, this.embedder, batch);
    } catch (error) {
      this.#unsaved = [...batch, ...this.#unsaved].slice(-MAX_UNSAVED);
      throw error;
    }
  }

  collect({ savedVectors, size }: AgentRows): Promise<void> {
    return savedVectors.collect(this.embedder, size, this.#dimensions, (slot) => this.#index.vectorOf(slot));
  }

  close(): Promise<void> {
    return this.#index.close();
  }

  /** Returns false for a vector that the index refuses. */
  async #add(slot: number, vector: Float32Array): Promise<boolean> {
    try {
      await this.#index.add(slot, vector);
      this.#dimensions = vector.length;
      this.#added++;
      this.#removed.delete(slot);
      this.#recent.push(slot);
      if (this.#recent.length > MAX_RECENT) this.#recent.shift();
      return true;
    } catch {
      return false;
    }
  }
}
