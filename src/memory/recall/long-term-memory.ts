/**
 * long-term-memory.ts -- recalls the rows of an agent's past that are relevant to its newest messages.
 *
 * The rows in the store are the truth; everything here is a cache that is rebuilt from them. A recall reads the new
 * rows, embeds them and the query in one request, searches and ranks. Steps that the prompt already shows are never
 * recalled, no text is recalled twice, and `count` rows are returned while there are that many.
 *
 * A recall degrades and never fails. Without a vector of the query, shared words and recency rank the newest rows.
 * When the store cannot be read, the rows read before are used. Each outage is reported once.
 * Vectors of the offline embedder are computed again at each start; other vectors are saved in the store.
 */
import { setImmediate } from "node:timers/promises";
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LongTermMemory, Recall, RecallQuery } from "#core/ports/recall.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder, EmbeddingPurse, OpenIndex } from "#core/ports/vectors.ts";
import { KeyedQueue } from "#util/keyed-queue.ts";
import { createTurns } from "#util/turns.ts";
import { exactIndexes } from "../vectors/exact-index.ts";
import { GuardedEmbedder, OutageReporter } from "../vectors/guarded-embedder.ts";
import { AgentRows } from "./agent-rows.ts";
import { AgentVectors } from "./agent-vectors.ts";
import { type AgentMemory, findRecalls } from "./find-recalls.ts";
import { LoadedMemories } from "./loaded-memories.ts";
import { queryParts } from "./query-parts.ts";
import { readEmbeddedTexts, readRecalls } from "./read-rows.ts";

export interface LongTermMemoryParts {
  readonly store: Pick<Store, "memories" | "memory" | "saveVectors">;
  readonly embedder: Embedder;
  /** Called once per outage of the embedder, the store or the index. */
  readonly report: (problem: string) => void;
  /** Default: exact search. */
  readonly openIndex?: OpenIndex;
  /** Time limit of a request to a remote or semantic embedder. Default: 20 seconds. */
  readonly embedTimeoutMs?: number;
  /** Enforces the retry time that a server named. Without a clock, failed requests are spaced by recalls alone. */
  readonly clock?: Pick<Clock, "now">;
  /** Main memory in bytes, estimated, up to which memories of idle agents are kept. Default: 0. */
  readonly keptBytes?: number;
}

export interface RecallingMemory extends LongTermMemory {
  /** Saves every vector made so far. */
  flush(): Promise<void>;
  /** Flushes, and frees everything held for any agent. Call it before the process ends. */
  close(): Promise<void>;
  /** Call it when the agent stops: saves its vectors, then drops unused memories, the oldest first, down to `keptBytes`. */
  idle(agent: string): Promise<void>;
  /** Saves every vector, and drops every memory that no running agent uses. */
  releaseUnused(): Promise<void>;
  /** Drops this agent from main memory. Its rows stay in the store; the next recall reads them again. */
  release(agent: string): Promise<void>;
}

type PaidCall = { readonly signal: AbortSignal; readonly purse: EmbeddingPurse | undefined };

/** Rows without a vector that are embedded in one request with the query; the others wait for the next. */
const MAX_ROWS_PER_REQUEST = 96;

export const openLongTermMemory = (parts: LongTermMemoryParts): RecallingMemory => new StoredMemory(parts);

class StoredMemory implements RecallingMemory {
  readonly #store: LongTermMemoryParts["store"];
  readonly #embedder: Embedder;
  readonly #guarded: GuardedEmbedder;
  readonly #openIndex: OpenIndex;
  readonly #reading: OutageReporter;
  readonly #readingTexts: OutageReporter;
  readonly #saving: OutageReporter;
  readonly #searching: OutageReporter;
  readonly #keptBytes: number;
  readonly #memories = new LoadedMemories();
  /** Recalls of one agent run one at a time, and so does what changes the memory of one namespace. */
  readonly #recalls = new KeyedQueue();
  readonly #changes = new KeyedQueue();

  constructor({ store, embedder, report, openIndex, embedTimeoutMs = 20_000, clock, keptBytes }: LongTermMemoryParts) {
    this.#store = store;
    this.#keptBytes = keptBytes ?? 0;
    this.#embedder = embedder;
    this.#guarded = new GuardedEmbedder(embedder, embedTimeoutMs, report, clock);
    this.#openIndex = openIndex ?? exactIndexes();
    this.#reading = new OutageReporter(report);
    this.#readingTexts = new OutageReporter(report);
    this.#saving = new OutageReporter(report);
    this.#searching = new OutageReporter(report);
  }

  get remote(): boolean {
    return !this.#embedder.local;
  }

  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    return this.#recalls.run(query.agent, () => this.#recall(query, signal));
  }

  async flush(): Promise<void> {
    for (const memory of this.#memories.values()) await this.#save(memory, true);
  }

  async close(): Promise<void> {
    for (const namespace of this.#memories.namespaces())
      await this.#changes.run(namespace, () => this.#discard(namespace));
  }

  idle(agent: string): Promise<void> {
    return this.#recalls.run(agent, async () => {
      this.#memories.endUse(agent);
      const memory = this.#memories.get(agent);
      if (memory) await this.#changes.run(agent, () => this.#save(memory, true));
      await this.#dropUnused(this.#keptBytes);
    });
  }

  async releaseUnused(): Promise<void> {
    await this.flush();
    await this.#dropUnused(0);
  }

  release(agent: string): Promise<void> {
    this.#memories.endUse(agent);
    return this.#recalls.run(agent, () => this.#changes.run(agent, () => this.#discard(agent)));
  }

  async #dropUnused(mostBytes: number): Promise<void> {
    for (const namespace of this.#memories.namespaces()) {
      if (this.#memories.bytes <= mostBytes) return;
      await this.#changes.run(namespace, async () => {
        if (!this.#memories.isUsed(namespace)) await this.#discard(namespace);
      });
    }
  }

  async #recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    const parts = queryParts(query);
    const texts = parts.map(({ text }) => text);
    const paid = { signal, purse: query.purse };
    const namespaces = [...new Set([query.agent, ...(query.others ?? [])])];
    this.#memories.startUse(query.agent, namespaces);
    const memories: AgentMemory[] = [];
    for (const name of namespaces) memories.push(await this.#changes.run(name, () => this.#prepare(name, texts, paid)));
    const { semantic } = this.#embedder;
    const embedAll = async () => {
      for (const [at, name] of namespaces.entries())
        await this.#changes.run(name, () => this.#embed(memories[at] as AgentMemory, texts, paid));
    };
    try {
      const options = { withVectors: semantic, ...(semantic ? {} : { embed: embedAll }) };
      const found = await findRecalls(memories, query, parts, options);
      this.#searching.recovered();
      return await readRecalls(found, parts, this.#readingTexts);
    } catch (error) {
      this.#searching.failed(
        `Memory is searched by shared words, because its index cannot be searched: ${toError(error).message}`,
      );
      const found = await findRecalls(memories, query, parts, { withVectors: false });
      return readRecalls(found, parts, this.#readingTexts);
    }
  }

  /** Returns the memory with all rows read and, with a semantic embedder, the vectors that one request brings. */
  async #prepare(namespace: string, texts: readonly string[], paid: PaidCall): Promise<AgentMemory> {
    let memory = await this.#readRows(namespace);
    if (!this.#embedder.semantic) return memory;
    await this.#embed(memory, texts, paid);
    if (memory.vectors.embedder !== this.#embedder.id) {
      memory = await this.#readRows(namespace);
      if (this.#embedder.semantic) await this.#embed(memory, texts, paid);
    }
    await this.#save(memory, false);
    return memory;
  }

  /** Reads the new rows. Starts from an empty memory when the embedder changed since the memory was built. */
  async #readRows(namespace: string): Promise<AgentMemory> {
    if (this.#memories.get(namespace)?.vectors.embedder !== this.#embedder.id) await this.#discard(namespace);
    const memory = this.#memories.get(namespace) ?? this.#openMemory(namespace);
    this.#memories.put(namespace, memory);
    try {
      const takeTurn = createTurns();
      for await (const slots of memory.rows.readNew()) {
        await memory.vectors.addStored(slots);
        await memory.vectors.remove(memory.rows.takeRemovedSlots());
        await takeTurn();
      }
      this.#reading.recovered();
    } catch (error) {
      this.#reading.failed(`Memory uses the rows read so far: ${toError(error).message}`);
    }
    return memory;
  }

  #openMemory(namespace: string): AgentMemory {
    const { id, dimensions } = this.#embedder;
    const rows = new AgentRows(namespace, this.#store);
    // A server's embedder has 0 dimensions before its first answer; nothing is added until then.
    const index = this.#openIndex({ namespace, embedder: id, dimensions: Math.max(1, dimensions) }, rows);
    return { rows, vectors: new AgentVectors(namespace, id, index) };
  }

  async #embed(memory: AgentMemory, texts: readonly string[], paid: PaidCall): Promise<void> {
    const { vectors } = memory;
    do {
      await this.#embedBatch(memory, texts, paid);
      if (!isFree(this.#embedder) || vectors.pendingSlots(1).length === 0) break;
      await setImmediate();
    } while (!paid.signal.aborted && vectors.embedder === this.#embedder.id);
  }

  /** Embeds the query's new texts and the newest rows without a vector in one request, if there are any. */
  async #embedBatch({ rows, vectors }: AgentMemory, texts: readonly string[], paid: PaidCall): Promise<void> {
    const newTexts = texts.filter((text) => !vectors.hasText(text));
    const slots = vectors.pendingSlots(MAX_ROWS_PER_REQUEST);
    if (newTexts.length + slots.length === 0) return;
    const rowTexts = await readEmbeddedTexts(rows, slots);
    const made = await this.#guarded.embed([...newTexts, ...rowTexts.values()], paid.signal, paid.purse);
    if (!made || vectors.embedder !== this.#embedder.id) return;
    for (const [position, text] of newTexts.entries()) {
      const vector = made[position];
      if (vector) vectors.addText(text, vector);
    }
    const ofSlot = new Map(rowTexts.keys().map((slot, position) => [slot, made[newTexts.length + position]]));
    const ofSlots = slots.map((slot) => ofSlot.get(slot) ?? null);
    await vectors.addMade(slots, ofSlots, rows, !isFree(this.#embedder));
  }

  async #save(memory: AgentMemory, all: boolean): Promise<void> {
    try {
      await memory.vectors.save(this.#store, all);
      this.#saving.recovered();
    } catch (error) {
      this.#saving.failed(`Vectors could not be saved and will be computed again: ${toError(error).message}`);
    }
  }

  async #discard(namespace: string): Promise<void> {
    const memory = this.#memories.get(namespace);
    if (!memory) return;
    this.#memories.delete(namespace);
    await this.#save(memory, true);
    await memory.vectors.close();
  }
}

/** Free vectors are made all at once and never saved. */
const isFree = ({ local, semantic }: Embedder): boolean => local && !semantic;
