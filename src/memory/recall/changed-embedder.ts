/**
 * changed-embedder.ts -- long-term memory after a change of embedders, while stored vectors still belong to the earlier one.
 *
 * Until every row of an agent has a vector of the new embedder, recalls use the old vectors and the embedder that made
 * them, if it can still be opened. Vectors of two embedders do not compare and never share an index. New vectors are made in
 * the background in small batches and stored beside the old ones, so that a crash costs one batch. When all are made,
 * one transaction replaces the old ones. If the earlier embedder cannot be opened, each recall adds some new vectors
 * and words find the other rows.
 */
import { setTimeout } from "node:timers/promises";
import { isGoaldError, toError } from "#core/errors.ts";
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall, RecallQuery } from "#core/ports/recall.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { clip } from "#core/text.ts";
import type { RecallingMemory } from "./long-term-memory.ts";
import { contentOf } from "./row-content.ts";

export interface ChangedEmbedderParts {
  readonly store: Pick<Store, "memories" | "vectorCounts" | "nextVectorIds" | "saveNextVectors" | "adoptNextVectors">;
  readonly embedder: Embedder;
  /** Memory that uses `embedder`. */
  readonly current: RecallingMemory;
  /** Opens memory that uses the embedder of this id. Returns undefined when that embedder cannot be opened. */
  openEarlier(embedder: string): RecallingMemory | undefined;
  readonly report: (problem: string) => void;
  /** Pause between two requests. Default: 250 ms. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 250;
const ROWS_PER_REQUEST = 32;
const PAGE_ROWS = 256;
const MAX_ROW_CHARS = 8_000;
/** Pause after the first failure; doubled at each further one. */
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 10 * 60_000;
/** Time that `close` waits for the request under way. */
const CLOSE_MS = 1_000;

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
  readonly #current: RecallingMemory;
  /** By embedder; undefined: it cannot be opened. */
  readonly #earlier = new Map<string, RecallingMemory | undefined>();
  /** By agent. */
  readonly #serving = new Map<string, ServingEmbedder>();
  /** Agents whose rows are being embedded again, or are queued for it. */
  readonly #queued = new Set<string>();
  /** One agent is embedded after the other. */
  #work: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(parts: ChangedEmbedderParts) {
    this.#parts = parts;
    this.#embedder = parts.embedder;
    this.#current = parts.current;
  }

  get remote(): boolean {
    return this.#current.remote;
  }

  async recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    const known = this.#serving.get(query.agent);
    const { earlier } = known?.current === this.#embedder.id ? known : await this.#decide(query.agent);
    const memory = earlier === undefined ? undefined : this.#earlier.get(earlier);
    return (memory ?? this.#current).recall(query, signal);
  }

  async flush(): Promise<void> {
    for (const memory of this.#opened()) await memory.flush();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("Memory is closed."));
    // An embedder may ignore the signal; vectors that it returns later are not saved.
    const waiting = new AbortController();
    const limit = setTimeout(CLOSE_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.#work, limit]);
    waiting.abort();
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
    if (earlier !== undefined && !this.#queued.has(agent)) {
      this.#queued.add(agent);
      this.#work = this.#work
        .then(() => this.#replaceVectors(agent, earlier))
        .catch(() => undefined)
        .finally(() => this.#queued.delete(agent));
    }
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

  /** Resolves when every row has a vector of the current embedder and recalls use it, or on `close`. */
  async #replaceVectors(agent: string, earlier: string): Promise<void> {
    const { store, report, pauseMs = PAUSE_MS } = this.#parts;
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      try {
        if (await this.#embedBatch(agent)) {
          await this.#pause(pauseMs);
          failures = 0;
          continue;
        }
        // Flush first, or vectors that the earlier memory still holds would overwrite the new ones.
        await this.#earlier.get(earlier)?.flush();
        await store.adoptNextVectors(agent, this.#embedder.id);
        this.#serving.set(agent, { earlier: undefined, current: this.#embedder.id });
        await this.#earlier.get(earlier)?.release(agent);
        await this.#current.release(agent);
        return;
      } catch (error) {
        if (this.#stop.signal.aborted || isGoaldError(error, "GOALD_NOT_FOUND")) return;
        if (failures === 0)
          report(
            `Memory keeps using the vectors of ${earlier}; new ones cannot be made now: ${toError(error).message}`,
          );
        await this.#pause(Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures));
        failures++;
      }
    }
  }

  /** Embeds the next rows. Returns false when every row has a new vector. */
  async #embedBatch(agent: string): Promise<boolean> {
    const embedder = this.#embedder;
    const rows = await this.#findRowsToEmbed(agent);
    if (rows.length === 0) return false;
    const texts = rows.map((row) => clip(contentOf(row), MAX_ROW_CHARS));
    const vectors = await embedder.embed(texts, this.#stop.signal);
    if (vectors.length !== rows.length || vectors.some(({ length }) => length !== embedder.dimensions))
      throw new Error(`${embedder.id} did not return a vector of ${embedder.dimensions} numbers for each text.`);
    const batch = rows.flatMap(({ id }, at) => (vectors[at] ? [{ id, vector: vectors[at] }] : []));
    await this.#parts.store.saveNextVectors(agent, embedder.id, batch);
    return true;
  }

  async #findRowsToEmbed(agent: string): Promise<readonly MemoryRow[]> {
    const { store } = this.#parts;
    const made = new Set(await store.nextVectorIds(agent, this.#embedder.id));
    const rows: MemoryRow[] = [];
    for (let after = 0; ; ) {
      const page = await store.memories(agent, after, PAGE_ROWS);
      for (const row of page) {
        if (!isLive(row) || row.embedder === this.#embedder.id || made.has(row.id)) continue;
        // A piece that no recall has embedded yet can wait for the next ones.
        if (row.kind === "piece" && row.vector === null) continue;
        rows.push(row);
        if (rows.length === ROWS_PER_REQUEST) return rows;
      }
      if (page.length < PAGE_ROWS) return rows;
      after = page.at(-1)?.change ?? after;
    }
  }

  #pause(ms: number): Promise<void> {
    return setTimeout(ms, undefined, { ref: false, signal: this.#stop.signal }).catch(() => undefined);
  }
}

/** `current` may be `model@0`: a model whose dimensions are not known yet. */
const isSameModel = (stored: string, current: string): boolean =>
  stored === current ||
  (current.endsWith("@0") && stored.slice(0, stored.lastIndexOf("@")) === current.slice(0, -"@0".length));
