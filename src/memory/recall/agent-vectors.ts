/**
 * agent-vectors.ts -- the vectors of one agent's memory: those in the index, those still to be made and those to be
 * saved.
 *
 * One object belongs to one embedder; a new embedder gets a new object, filled from the rows. Vectors that cost
 * something are saved in batches, not at every step: after a crash the unsaved ones are computed again.
 */
import type { Embedder, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { keepNewest } from "#util/caches.ts";
import { createTurns } from "#util/turns.ts";
import type { Columns } from "../columns.ts";
import { ROW_LIMIT } from "../vectors/int8-scan.ts";
import { centreVector, dot, fromBytes, meanOf, NOTHING, quantise, roundVector } from "../vectors/unit-vector.ts";
import type { AgentRows, NewSlot } from "./agent-rows.ts";
import type { NearRows } from "./find-recalls.ts";

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
  /** Slots without a vector, oldest first. */
  readonly #pending: number[] = [];
  /** Slots whose vectors are being made in the background. */
  #taken: readonly number[] = [];
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

  /** Indexes the stored vectors of this embedder. The other slots become pending. */
  async addStored(slots: readonly NewSlot[]): Promise<void> {
    for (const { slot, embedder, vector } of slots)
      if (embedder !== this.embedder || !vector || !(await this.#add(slot, vector))) this.#pending.push(slot);
  }

  async remove(slots: readonly number[]): Promise<void> {
    for (const slot of slots) {
      const at = this.#pending.indexOf(slot);
      if (at >= 0) this.#pending.splice(at, 1);
      await this.#index.remove(slot);
      this.#removed.add(slot);
    }
    if (slots.length === 0) return;
    for (const text of this.#texts.values()) delete text.cached;
    this.#recent.length = 0;
  }

  /** Returns the newest or the oldest `limit` slots without a vector. */
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

  /**
   * Adds the vectors made for `slots`: those of `takePending` or of `pendingSlots`. Those of an instant embedder are rounded as a
   * snapshot does, others are saved later.
   */
  async addMade(slots: readonly number[], vectors: readonly (Float32Array | null)[], rows: AgentRows): Promise<void> {
    if (slots === this.#taken) this.#taken = [];
    const done = new Set(slots);
    while (done.has(this.#pending.at(-1) ?? NO_SLOT)) this.#pending.pop();
    let oldest = 0;
    while (done.has(this.#pending[oldest] ?? NO_SLOT)) oldest++;
    this.#pending.splice(0, oldest);
    for (const [position, slot] of slots.entries()) {
      const made = this.#removed.has(slot) ? null : vectors[position];
      const vector = made && this.#isInstant ? roundVector(made) : made;
      const isAdded = vector && (await this.#add(slot, vector));
      if (isAdded && !this.#isInstant) this.#unsaved.push({ id: rows.idAt(slot), vector });
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
  async findNear(text: string, limit: number, excluded: ReadonlySet<number>, mean: VectorMean) {
    const embedded = this.#texts.get(text);
    if (!embedded) return undefined;
    if (embedded.mean !== mean) {
      const query = mean.centre(embedded.vector);
      if (!query) return undefined;
      Object.assign(embedded, { query, mean, measure: mean.compare(query) });
      delete embedded.cached;
    }
    const closenessOf: NearRows["closenessOf"] = (slot) =>
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

interface EmbeddedText {
  readonly vector: Float32Array;
  query: Float32Array;
  mean?: VectorMean;
  measure?: MeasureCloseness;
  cached?: CachedSearch;
}

/** The rows nearest to a text, excluded rows included. */
interface CachedSearch {
  readonly limit: number;
  /** Best first. */
  readonly hits: ScoredSlot[];
  /** Maximum number of hits. Fewer hits mean that they are all rows of the index. */
  readonly capacity: number;
  /** Value of `#added` up to which the hits are right. */
  added: number;
}

/** Inserts before hits of the same score: the newer row comes first, as in the index. */
function insertSorted(hits: ScoredSlot[], hit: ScoredSlot): void {
  let at = hits.length;
  while (at > 0 && (hits[at - 1] as ScoredSlot).score <= hit.score) at--;
  hits.splice(at, 0, hit);
}

const withoutExcluded = (hits: readonly ScoredSlot[], excluded: ReadonlySet<number>) =>
  hits.filter(({ slot }) => !excluded.has(slot));

/** Vectors that are read or written without a pause. */
const PAGE_SLOTS = 256;

/**
 * The vectors of an instant embedder as a snapshot holds them: 8-bit numbers, a quarter of their size. Such vectors are
 * not in the store, and making 100,000 again takes 10 s of CPU. They are rounded when they are made, so that the
 * restored ones are the same.
 */
export class SavedVectors {
  #embedder = "";
  #slots = new Uint32Array();
  #bytes = new Int8Array();

  exchange(columns: Columns): void {
    [this.#embedder = ""] = columns.words("embedder", [this.#embedder]);
    this.#slots = columns.array("slots", this.#slots);
    this.#bytes = columns.array("bytes", this.#bytes);
  }

  /** Takes the vectors of the slots below `size`, which `roundVector` has made. */
  async collect(embedder: string, size: number, dimensions: number, vectorOf: VectorIndex["vectorOf"]): Promise<void> {
    const takeTurn = createTurns();
    const slots: number[] = [];
    const bytes = new Int8Array(size * dimensions);
    for (let slot = 0; slot < size; slot++) {
      if (slot % PAGE_SLOTS === 0) await takeTurn();
      const vector = vectorOf(slot);
      if (!vector) continue;
      quantise(vector, ROW_LIMIT, bytes, slots.length * dimensions);
      slots.push(slot);
    }
    this.#embedder = embedder;
    this.#slots = Uint32Array.from(slots);
    this.#bytes = bytes.subarray(0, slots.length * dimensions);
  }

  clear(): void {
    this.#slots = new Uint32Array();
    this.#bytes = new Int8Array();
  }

  /** Yields the restored vectors of this embedder, page by page, each valid until the next page. */
  *pages(embedder: string): Generator<readonly NewSlot[]> {
    if (embedder !== this.#embedder || this.#slots.length === 0) return;
    const dimensions = this.#bytes.length / this.#slots.length;
    const vectors = new Float32Array(PAGE_SLOTS * dimensions);
    for (let from = 0; from < this.#slots.length; from += PAGE_SLOTS) {
      const slots = this.#slots.subarray(from, from + PAGE_SLOTS);
      yield Array.from(slots, (slot, at) => {
        const bytes = this.#bytes.subarray((from + at) * dimensions, (from + at + 1) * dimensions);
        const vector = fromBytes(bytes, vectors.subarray(at * dimensions, (at + 1) * dimensions));
        return { slot, embedder, vector };
      });
    }
  }
}

const SAMPLE_ROWS = 256;
const MIN_SAMPLE_ROWS = 4;
/** Closeness of a cosine. Chosen on the dev half of test/data/memory. */
const CLOSENESS_FACTOR = 2;

/** Returns 0 for a row like any other, up to 2. `scoreOf` returns the dot product of the row's unit vector with another vector. */
type MeasureCloseness = (scoreOf: (vector: Float32Array) => number | undefined) => number;

type VectorMean = ReturnType<typeof compareToMean>;

/**
 * Measures how close a row is to a query apart from what the agent's rows have in common. The rows have much in common,
 * and so have their vectors: their mean is subtracted from rows and queries, as Mu and Viswanath (2018) do with words.
 * Everything follows from the rows and their order.
 */
function compareToMean(vectors: readonly Float32Array[]) {
  const mean = meanOf(vectors, vectors[0]?.length ?? 0);
  const meanSquared = dot(mean, mean);
  return {
    /** Returns the query to search with, or undefined for one that is like the mean of all rows. */
    centre: (query: Float32Array): Float32Array | undefined => centreVector(query, mean),
    /** `centred` is a result of `centre`. */
    compare(centred: Float32Array): MeasureCloseness {
      const shift = dot(centred, mean);
      return (scoreOf) => {
        const score = scoreOf(centred);
        if (score === undefined) return 0;
        const squared = 1 - 2 * (scoreOf(mean) as number) + meanSquared;
        return squared < NOTHING ? 0 : Math.max(0, (CLOSENESS_FACTOR * (score - shift)) / Math.sqrt(squared));
      };
    },
  };
}

/**
 * Returns the mean of a sample of the first 2^n slots of `slots`, with the largest n that is filled, so that the result does not
 * depend on when it is measured. Undefined when there are too few vectors.
 */
export function measureMean(slots: number, vectorOf: VectorIndex["vectorOf"]): VectorMean | undefined {
  const size = 2 ** Math.floor(Math.log2(Math.max(1, slots)));
  const step = Math.max(1, size / SAMPLE_ROWS);
  const sample: Float32Array[] = [];
  const take = (slot: number): void => {
    const vector = vectorOf(slot);
    // A vector of the index is valid until the next call.
    if (vector) sample.push(Float32Array.from(vector));
  };
  for (let slot = 0; slot < size; slot += step) take(slot);
  // Vectors that are being made are those of the newest rows first.
  for (let slot = slots - 1; slot >= 0 && sample.length < MIN_SAMPLE_ROWS; slot--)
    if (slot >= size || slot % step !== 0) take(slot);
  return sample.length < MIN_SAMPLE_ROWS ? undefined : compareToMean(sample);
}
