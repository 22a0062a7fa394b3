/**
 * changed-embedder.ts -- long-term memory after a change of embedders, while stored vectors still belong to the earlier one.
 *
 * Until every row of an agent has a vector of the new embedder, recalls use the old vectors and the embedder that made
 * them, if it can still be opened. Vectors of two embedders do not compare and never share an index. New vectors are made in
 * the background and stored beside the old ones. When all are made, one transaction replaces the old ones. If the earlier
 * embedder cannot be opened, the vectors are made as those of new rows are, and words find the other rows.
 */
import { isGoaldError, toError } from "#core/errors.ts";
import { isLive } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall, RecallQuery } from "#core/ports/recall.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { GuardedEmbedder, OutageReporter } from "../vectors/guarded-embedder.ts";
import { type BackgroundLots, LOT_ROWS } from "./background-lots.ts";
import { embeddedTextOf } from "./embedding-batch.ts";
import { EMBED_TIMEOUT_MS, type RecallingMemory } from "./long-term-memory.ts";

export interface ChangedEmbedderParts {
  readonly store: Pick<Store, "memories" | "vectorCounts" | "nextVectorIds" | "saveNextVectors" | "adoptNextVectors">;
  readonly embedder: Embedder;
  /** Memory that uses `embedder`. */
  readonly current: RecallingMemory;
  /** Opens memory that uses the embedder of this id. Returns undefined when that embedder cannot be opened. */
  openEarlier(embedder: string): RecallingMemory | undefined;
  readonly report: (problem: string) => void;
  readonly lots: BackgroundLots;
  /** See `LongTermMemoryParts`. */
  readonly clock?: Pick<Clock, "now">;
}

const PAGE_ROWS = 256;

export const openChangedEmbedder = (parts: ChangedEmbedderParts): RecallingMemory => new ChangedEmbedderMemory(parts);

/** Decision which embedder serves an agent; valid while the current embedder keeps its id. */
interface ServingEmbedder {
  /** Id of an earlier embedder; undefined: the current one serves. */
  readonly earlier: string | undefined;
  readonly current: string;
}

class ChangedEmbedderMemory implements RecallingMemory {
  readonly #parts: ChangedEmbedderParts;
  readonly #embedder: Embedder;
  readonly #guarded: GuardedEmbedder;
  readonly #saving: OutageReporter;
  readonly #current: RecallingMemory;
  /** By embedder; undefined: it cannot be opened. */
  readonly #earlier = new Map<string, RecallingMemory | undefined>();
  /** By agent. */
  readonly #serving = new Map<string, ServingEmbedder>();
  /** Rows that the current embedder returned no usable vector for. */
  readonly #unusable = new Set<string>();

  constructor(parts: ChangedEmbedderParts) {
    this.#parts = parts;
    this.#embedder = parts.embedder;
    this.#guarded = new GuardedEmbedder(parts.embedder, EMBED_TIMEOUT_MS, parts.report, parts.clock, MEANWHILE);
    this.#saving = new OutageReporter(parts.report);
    this.#current = parts.current;
  }

  get remote(): boolean {
    return this.#current.remote;
  }

  async recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    const known = this.#serving.get(query.agent);
    const { earlier } = known?.current === this.#embedder.id ? known : await this.#decide(query.agent);
    if (earlier !== undefined)
      this.#parts.lots.start(query.agent, (stop) =>
        this.#replaceVectors(query.agent, earlier, stop).catch((error: unknown) => {
          if (!isGoaldError(error, "GOALD_NOT_FOUND")) this.#saving.failed(`${MEANWHILE}: ${toError(error).message}`);
          return false;
        }),
      );
    const memory = earlier === undefined ? undefined : this.#earlier.get(earlier);
    return (memory ?? this.#current).recall(query, signal);
  }

  async flush(): Promise<void> {
    for (const memory of this.#opened()) await memory.flush();
  }

  async close(): Promise<void> {
    await this.#parts.lots.close();
    for (const memory of this.#opened()) await memory.close();
  }

  async idle(agent: string): Promise<void> {
    for (const memory of this.#opened()) await memory.idle(agent);
  }

  async releaseUnused(): Promise<void> {
    for (const memory of this.#opened()) await memory.releaseUnused();
  }

  async release(agent: string): Promise<void> {
    // The agent may have been removed, and a new one may get its name.
    this.#serving.delete(agent);
    for (const memory of this.#opened()) await memory.release(agent);
  }

  #opened(): readonly RecallingMemory[] {
    return [this.#current, ...this.#earlier.values()].filter((memory) => memory !== undefined);
  }

  async #decide(agent: string): Promise<ServingEmbedder> {
    const earlier = await this.#findEarlier(agent).catch(() => undefined);
    const serving = { earlier, current: this.#embedder.id };
    this.#serving.set(agent, serving);
    return serving;
  }

  /** Returns the earlier embedder that made most of the agent's vectors, more than the current one, if it opens. */
  async #findEarlier(agent: string): Promise<string | undefined> {
    const { embedder, store } = this.#parts;
    if (embedder.isInstant) return undefined;
    const counts = [...(await store.vectorCounts(agent))];
    const own = counts.filter(([id]) => isSameModel(id, embedder.id)).reduce((sum, [, count]) => sum + count, 0);
    const [most] = counts.filter(([id]) => !isSameModel(id, embedder.id)).sort((a, b) => b[1] - a[1]);
    if (!most || most[1] <= own) return undefined;
    const [id] = most;
    if (!this.#earlier.has(id)) this.#earlier.set(id, this.#parts.openEarlier(id));
    return this.#earlier.get(id) && id;
  }

  /** Makes the next vectors. When every row has one, recalls use them; returns false then, or when the embedder is unavailable. */
  async #replaceVectors(agent: string, earlier: string, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#parts;
    const embedder = this.#embedder.id;
    const rows = await this.#findRowsToEmbed(agent);
    if (rows.length > 0) {
      const vectors = await this.#guarded.embed(rows.map(embeddedTextOf), signal);
      if (!vectors || !isSameModel(this.#embedder.id, embedder)) return false;
      const batch = rows.flatMap(({ id }, at) => (vectors[at] ? [{ id, vector: vectors[at] }] : []));
      for (const [at, { id }] of rows.entries()) if (!vectors[at]) this.#unusable.add(id);
      await store.saveNextVectors(agent, this.#embedder.id, batch);
      this.#saving.recovered();
      return true;
    }
    // Flush first, or vectors that the earlier memory still holds would overwrite the new ones.
    await this.#earlier.get(earlier)?.flush();
    await store.adoptNextVectors(agent, embedder);
    this.#serving.set(agent, { earlier: undefined, current: embedder });
    await this.#earlier.get(earlier)?.release(agent);
    await this.#current.release(agent);
    return false;
  }

  async #findRowsToEmbed(agent: string): Promise<readonly MemoryRow[]> {
    const { store } = this.#parts;
    const made = new Set(await store.nextVectorIds(agent, this.#embedder.id));
    const rows: MemoryRow[] = [];
    const pages = readPages((after, limit) => store.memories(agent, after, limit), byChange, { limit: PAGE_ROWS });
    for await (const page of pages)
      for (const row of page) {
        if (!isLive(row) || row.embedder === this.#embedder.id || made.has(row.id)) continue;
        if (this.#unusable.has(row.id)) continue;
        // A piece that no recall has embedded yet can wait for the next ones.
        if (row.kind === "piece" && row.vector === null) continue;
        rows.push(row);
        if (rows.length === LOT_ROWS) return rows;
      }
    return rows;
  }
}

/** Reports end with this while no new vectors can be made. */
const MEANWHILE = "Memory keeps using the vectors of the earlier embedder";

/** `current` may be `model@0`: a model whose dimensions are not known yet. */
const isSameModel = (stored: string, current: string): boolean =>
  stored === current ||
  (current.endsWith("@0") && stored.slice(0, stored.lastIndexOf("@")) === current.slice(0, -"@0".length));
