/**
 * long-term-memory.ts -- recalls the rows of an agent's past that are relevant to its newest messages.
 *
 * The rows in the store are the truth; everything here is a cache that is rebuilt from them. A recall reads the new
 * rows, embeds them and the query in one request, searches and ranks. Steps that the prompt already shows are never
 * recalled, no text is recalled twice, and `count` rows are returned while there are that many.
 *
 * A recall degrades and never fails. Without a vector of the query, shared words and recency rank the newest rows. When
 * the store cannot be read, the rows read before are used. Each outage is reported once. Vectors of an instant embedder
 * are saved in the snapshot of the index alone, and complete before a recall answers. Other vectors are saved in the
 * store; those that the recall's request has no room for are made in the background.
 */
import { setImmediate } from "node:timers/promises";
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Embedder, LongTermMemory, OpenIndex, Recall, RecallQuery } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { createTurns, KeyedQueue } from "#util/turns.ts";
import { shareMemory } from "../vectors/exact-index.ts";
import { GuardedEmbedder, OutageReporter } from "../vectors/server-embedder.ts";
import { AgentRows, memoryPages, type NewSlot } from "./agent-rows.ts";
import { AgentVectors } from "./agent-vectors.ts";
import { type AgentMemory, findRecalls, partsWithVectors } from "./find-recalls.ts";
import { queryParts } from "./query-parts.ts";
import { readRecalls } from "./read-rows.ts";
import { type BackgroundLots, type EmbeddingCall, readBatch, spread, takeLot } from "./row-embedder.ts";
import type { IndexSnapshots } from "./snapshots.ts";

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
  /** Saved word indexes. Default: none, so that each start reads all rows. */
  readonly snapshots?: IndexSnapshots | undefined;
  /** Main memory in bytes, estimated, up to which memories of idle agents are kept. Default: 0. */
  readonly keptBytes?: number;
  /** Makes the vectors that recalls have no room for. Default: they wait for the next recalls. */
  readonly lots?: BackgroundLots;
  /** A server that has copies of the vectors. Default: none. */
  readonly copies?:
    | {
        /** Deletes those of forgotten rows. */
        removeForgotten(): Promise<void>;
        /** Waits so many ms for uploads; the next start sends the rest. */
        flush(mostMs: number): Promise<void>;
      }
    | undefined;
}

export type RecallingMemory = Pick<StoredMemory, keyof StoredMemory>;

/** Default time limit of a request. */
const EMBED_TIMEOUT_MS = 20_000;
const SEND_MS = 2_000;
/** Slots without a vector that are noted at once. */
const PAGE_SLOTS = 256;

export const openLongTermMemory = (parts: LongTermMemoryParts): RecallingMemory => new StoredMemory(parts);

class StoredMemory implements LongTermMemory {
  readonly #parts: LongTermMemoryParts;
  readonly #openIndex: OpenIndex;
  #keptBytes: number;
  readonly #guarded: GuardedEmbedder;
  readonly #reading: OutageReporter;
  readonly #readingTexts: OutageReporter;
  readonly #saving: OutageReporter;
  readonly #searching: OutageReporter;
  /** By namespace, the last used one last. */
  readonly #memories = new Map<string, AgentMemory>();
  /** The namespaces that each running agent recalls from. */
  readonly #used = new Map<string, readonly string[]>();
  /** By agent: tokens of the background, which its next recall counts. */
  readonly #owed = new Map<string, number>();
  /** Recalls of one agent run one at a time, and so does what changes the memory of one namespace. */
  readonly #recalls = new KeyedQueue();
  readonly #changes = new KeyedQueue();

  constructor(parts: LongTermMemoryParts) {
    const { embedder, report, embedTimeoutMs = EMBED_TIMEOUT_MS, clock } = parts;
    this.#parts = parts;
    this.#openIndex = parts.openIndex ?? shareMemory();
    this.#keptBytes = parts.keptBytes ?? 0;
    this.#guarded = new GuardedEmbedder(embedder, embedTimeoutMs, report, clock);
    this.#reading = new OutageReporter(report);
    this.#readingTexts = new OutageReporter(report);
    this.#saving = new OutageReporter(report);
    this.#searching = new OutageReporter(report);
  }

  get remote(): boolean {
    return this.#parts.copies !== undefined || !this.#parts.embedder.local;
  }

  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    return this.#recalls.run(query.agent, () => this.#recall(query, signal));
  }

  /** Saves every vector made so far. */
  async flush(): Promise<void> {
    for (const memory of this.#memories.values()) await this.#save(memory, true);
  }

  /** Flushes, and frees everything held for any agent. Call it before the process ends. */
  async close(): Promise<void> {
    await this.#parts.lots?.close();
    for (const namespace of [...this.#memories.keys()])
      await this.#changes.run(namespace, () => this.#unload(namespace));
    await this.#parts.copies?.flush(SEND_MS);
  }

  /** Call it when the agent stops: saves its vectors, then drops unused memories, the oldest first, down to `keptBytes`. */
  idle(agent: string): Promise<void> {
    return this.#recalls.run(agent, async () => {
      this.#used.delete(agent);
      const memory = this.#memories.get(agent);
      if (memory) await this.#changes.run(agent, () => this.#save(memory, true));
      await this.#dropUnused();
    });
  }

  /** Call it when a run ends: saves every vector, and drops what it used when nothing is kept of idle agents. */
  async runEnded(agent: string): Promise<void> {
    await this.flush();
    if (this.#keptBytes === 0) await this.idle(agent);
  }

  /** Saves every vector, and drops every memory that no running agent uses, now and whenever a run ends from now on. */
  async releaseUnused(): Promise<void> {
    this.#keptBytes = 0;
    await this.flush();
    await this.#dropUnused();
  }

  /** Drops this agent from main memory. Its rows stay in the store; the next recall reads them again. */
  async release(agent: string): Promise<void> {
    this.#used.delete(agent);
    this.#owed.delete(agent);
    await this.#recalls.run(agent, () => this.#changes.run(agent, () => this.#discard(agent)));
    await this.#parts.copies?.removeForgotten().catch(() => undefined);
  }

  async #dropUnused(): Promise<void> {
    const isUsed = (namespace: string) => this.#used.values().some((namespaces) => namespaces.includes(namespace));
    const sizeOf = ({ rows, vectors }: AgentMemory): number => rows.bytes + vectors.bytes;
    for (const namespace of [...this.#memories.keys()]) {
      if (this.#memories.values().reduce((sum, memory) => sum + sizeOf(memory), 0) <= this.#keptBytes) return;
      await this.#changes.run(namespace, async () => {
        if (!isUsed(namespace)) await this.#unload(namespace);
      });
    }
  }

  async #saveIndex(namespace: string, isLeaving: boolean): Promise<void> {
    const memory = this.#memories.get(namespace);
    if (!memory || !this.#parts.snapshots) return;
    const { rows, vectors } = memory;
    const collectVectors = async () => (this.#parts.embedder.isInstant ? vectors.collect(rows) : undefined);
    await this.#parts.snapshots.saveIfDue(rows, isLeaving, collectVectors);
    rows.savedVectors.clear();
  }

  async #unload(namespace: string): Promise<void> {
    await this.#saveIndex(namespace, true);
    await this.#discard(namespace);
  }

  async #recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    const parts = queryParts(query);
    const texts = partsWithVectors(parts).map(({ text }) => text);
    const call = { agent: query.agent, signal, countTokens: query.countTokens };
    this.#countOwed(query);
    const namespaces = [...new Set([query.agent, ...(query.others ?? [])])];
    this.#used.set(query.agent, namespaces);
    const memories: AgentMemory[] = [];
    for (const name of namespaces) memories.push(await this.#changes.run(name, () => this.#prepare(name, texts, call)));
    // The first search of a process also compiles its code, so other work runs before and after it.
    await setImmediate();
    for (const name of namespaces) void this.#changes.run(name, () => this.#saveIndex(name, false));
    try {
      const found = await findRecalls(memories, query, parts, { withVectors: this.#parts.embedder.semantic });
      this.#searching.recovered();
      await setImmediate();
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
  async #prepare(namespace: string, texts: readonly string[], call: EmbeddingCall): Promise<AgentMemory> {
    let memory = await this.#readRows(namespace);
    if (!this.#parts.embedder.semantic) return memory;
    await this.#embed(memory, texts, call);
    if (memory.vectors.embedder !== this.#parts.embedder.id) {
      memory = await this.#readRows(namespace);
      if (this.#parts.embedder.semantic) await this.#embed(memory, texts, call);
    }
    await this.#save(memory, false);
    return memory;
  }

  /** Counts what the background took since the agent's last recall. */
  #countOwed({ agent, countTokens }: RecallQuery): void {
    const owed = this.#owed.get(agent);
    if (owed === undefined || !countTokens) return;
    this.#owed.delete(agent);
    countTokens(owed);
  }

  /**
   * Embeds the query and the newest rows in one request, the others in the background. An instant embedder embeds all
   * at once.
   */
  async #embed(memory: AgentMemory, texts: readonly string[], call: EmbeddingCall): Promise<void> {
    const { embedder, lots } = this.#parts;
    const { rows, vectors } = memory;
    while ((await this.#embedBatch(memory, texts, call)) && vectors.pendingSlots(1).length > 0) {
      if (!embedder.isInstant)
        return lots?.start(rows.namespace, (signal) => this.#makeLot(memory, signal, call.agent));
      if (call.signal.aborted) return;
      await setImmediate();
    }
  }

  /** Embeds the query's new texts and the newest rows in one request. Returns false if it made no vectors. */
  async #embedBatch({ rows, vectors }: AgentMemory, texts: readonly string[], call: EmbeddingCall): Promise<boolean> {
    const { embedder } = this.#parts;
    const newTexts = texts.filter((text) => !vectors.hasText(text));
    const { slots, texts: rowTexts } = await readBatch(rows, vectors, embedder.isInstant === true);
    if (newTexts.length + slots.length === 0) return false;
    const embedded = [...newTexts, ...rowTexts.filter((text) => text !== "")];
    const made = await this.#guarded.embed(embedded, call.signal, call.countTokens);
    if (!made || vectors.embedder !== embedder.id) return false;
    for (const [position, text] of newTexts.entries()) {
      const vector = made[position];
      if (vector) vectors.addText(text, vector);
    }
    await vectors.addMade(slots, spread(made.slice(newTexts.length), rowTexts), rows);
    return true;
  }

  /** Returns whether more vectors can be made. Recalls go on during the request. */
  async #makeLot(memory: AgentMemory, signal: AbortSignal, agent: string): Promise<boolean> {
    const { rows, vectors } = memory;
    const { namespace } = rows;
    const isOpen = () => this.#memories.get(namespace) === memory && vectors.embedder === this.#parts.embedder.id;
    const lot = await this.#changes.run(namespace, async () => (isOpen() ? takeLot(rows, vectors) : undefined));
    if (!lot || lot.slots.length === 0) return false;
    const texts = lot.texts.filter((text) => text !== "");
    const owe = (tokens: number) => void this.#owed.set(agent, tokens + (this.#owed.get(agent) ?? 0));
    const made = texts.length === 0 ? [] : await this.#guarded.embed(texts, signal, owe);
    return this.#changes.run(namespace, async () => {
      if (!made || !isOpen()) {
        vectors.putBack(lot.slots);
        return false;
      }
      await vectors.addMade(lot.slots, spread(made, lot.texts), rows);
      await this.#save(memory, true);
      return true;
    });
  }

  /**
   * Reads the new rows. Starts from an empty memory when the embedder changed since the memory was built, and when a person has
   * forgotten a row whose words it has.
   */
  async #readRows(namespace: string): Promise<AgentMemory> {
    if (this.#memories.get(namespace)?.vectors.embedder !== this.#parts.embedder.id) await this.#discard(namespace);
    const memory = this.#memories.get(namespace) ?? (await this.#open(namespace));
    this.#memories.delete(namespace);
    this.#memories.set(namespace, memory);
    await this.#readNew(memory);
    if (!memory.rows.hasErased) return memory;
    await this.#parts.snapshots?.discard(namespace);
    await this.#discard(namespace);
    return this.#readRows(namespace);
  }

  async #save(memory: AgentMemory, all: boolean): Promise<void> {
    try {
      await memory.vectors.save(this.#parts.store, all);
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

  /** Opens a memory with the rows of its snapshot. */
  async #open(namespace: string): Promise<AgentMemory> {
    const { store, embedder, snapshots } = this.#parts;
    const create = () => new AgentRows(namespace, store);
    const rows = snapshots ? await snapshots.open(namespace, create) : create();
    const { id, isInstant: isRounded = false } = embedder;
    // A server's embedder has 0 dimensions before its first answer; nothing is added until then.
    const dimensions = Math.max(1, embedder.dimensions);
    const index = this.#openIndex({ namespace, embedder: id, dimensions, isRounded }, rows);
    const memory = { rows, vectors: new AgentVectors(namespace, embedder, index) };
    if (rows.size > 0) await this.#readVectors(memory);
    return memory;
  }

  /** Reads the rows that are new or changed. Uses those read so far when the store cannot be read. */
  async #readNew({ rows, vectors }: AgentMemory): Promise<void> {
    try {
      const takeTurn = createTurns();
      for await (const slots of rows.readNew()) {
        await vectors.addStored(slots);
        await vectors.remove(rows.takeRemovedSlots());
        await takeTurn();
      }
      this.#reading.recovered();
    } catch (error) {
      this.#reading.failed(`Memory uses the rows read so far: ${toError(error).message}`);
    }
  }

  async #readVectors({ rows, vectors }: AgentMemory): Promise<void> {
    const { embedder, store } = this.#parts;
    const takeTurn = createTurns();
    const taken = new Uint8Array(rows.size);
    const take = (slot: number): boolean => {
      if (!rows.isLive(slot) || taken[slot] === 1) return false;
      taken[slot] = 1;
      return true;
    };
    const pages = embedder.isInstant ? rows.savedVectors.pages(embedder.id) : storedVectors(rows, store);
    try {
      for await (const page of embedder.semantic ? pages : []) {
        const usable = page.filter(({ slot, embedder: made }) => made === vectors.embedder && take(slot));
        await vectors.addStored(usable);
        await takeTurn();
      }
    } catch (error) {
      this.#reading.failed(`Memory uses the vectors read so far: ${toError(error).message}`);
    }
    rows.savedVectors.clear();
    for (let from = 0; from < rows.size; from += PAGE_SLOTS) {
      const page: NewSlot[] = [];
      for (let slot = from; slot < Math.min(rows.size, from + PAGE_SLOTS); slot++)
        if (take(slot)) page.push({ slot, embedder: null, vector: null });
      await vectors.addStored(page);
      await takeTurn();
    }
  }
}

async function* storedVectors(rows: AgentRows, store: Pick<Store, "memories">): AsyncGenerator<readonly NewSlot[]> {
  for await (const page of memoryPages(store, rows.namespace))
    yield page
      .filter(({ vector }) => vector !== null)
      .map(({ id, embedder, vector }) => ({ slot: rows.slotOf(id), embedder, vector }));
}
