/**
 * row-embedder.ts -- embeds the rows of memories: the newest with the texts of a query, the others in the background.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import type { CountTokens, Embedder, MemoryRow, RecallQuery } from "#core/ports/memory.ts";
import { clip } from "#core/text.ts";
import { contentOf } from "../remember/step-lines.ts";
import type { GuardedEmbedder } from "../vectors/server-embedder.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import type { AgentMemory } from "./find-recalls.ts";

export interface RowEmbedderParts {
  readonly embedder: Embedder;
  /** The embedder, guarded. */
  readonly guarded: GuardedEmbedder;
  /** Absent: all rows wait for recalls. */
  readonly lots: BackgroundLots | undefined;
  /** Runs one change of a namespace at a time. */
  changeAlone<T>(namespace: string, change: () => Promise<T>): Promise<T>;
  /** False once the memory was dropped. */
  isOpen(memory: AgentMemory): boolean;
  /** Saves its unsaved vectors. */
  save(memory: AgentMemory): Promise<void>;
}

export interface EmbeddingCall {
  readonly agent: string;
  readonly signal: AbortSignal;
  readonly countTokens: CountTokens | undefined;
}

export class RowEmbedder {
  readonly #parts: RowEmbedderParts;
  /** By agent: tokens of the background, which its next recall counts. */
  readonly #owed = new Map<string, number>();

  constructor(parts: RowEmbedderParts) {
    this.#parts = parts;
  }

  /** Call it at the start of a recall: counts what the background took since the agent's last one. */
  countOwed({ agent, countTokens }: RecallQuery): void {
    const owed = this.#owed.get(agent);
    if (owed === undefined || !countTokens) return;
    this.#owed.delete(agent);
    countTokens(owed);
  }

  /** Embeds the query and the newest rows in one request, the others in the background; an instant embedder embeds all at once. */
  async embed(memory: AgentMemory, texts: readonly string[], call: EmbeddingCall): Promise<void> {
    const { embedder, lots } = this.#parts;
    const { rows, vectors } = memory;
    while (await this.#embedBatch(memory, texts, call)) {
      if (!embedder.isInstant) {
        if (vectors.pendingSlots(1).length > 0)
          lots?.start(rows.namespace, (signal) => this.#makeLot(memory, signal, call.agent));
        return;
      }
      if (vectors.pendingSlots(1).length === 0 || call.signal.aborted) return;
      await setImmediate();
    }
  }

  /** Embeds the query's new texts and the newest rows without a vector in one request. Returns false if it made no vectors. */
  async #embedBatch({ rows, vectors }: AgentMemory, texts: readonly string[], call: EmbeddingCall): Promise<boolean> {
    const newTexts = texts.filter((text) => !vectors.hasText(text));
    const { slots, texts: rowTexts } = await readBatch(rows, vectors, this.#parts.embedder.isInstant === true);
    if (newTexts.length + slots.length === 0) return false;
    const embedded = [...newTexts, ...rowTexts.filter((text) => text !== "")];
    const made = await this.#parts.guarded.embed(embedded, call.signal, call.countTokens);
    if (!made || vectors.embedder !== this.#parts.embedder.id) return false;
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
    const isOpen = () => this.#parts.isOpen(memory) && vectors.embedder === this.#parts.embedder.id;
    const lot = await this.#parts.changeAlone(namespace, async () => (isOpen() ? takeLot(rows, vectors) : undefined));
    if (!lot || lot.slots.length === 0) return false;
    const texts = lot.texts.filter((text) => text !== "");
    const owe = (tokens: number) => void this.#owed.set(agent, tokens + (this.#owed.get(agent) ?? 0));
    const made = texts.length === 0 ? [] : await this.#parts.guarded.embed(texts, signal, owe);
    return this.#parts.changeAlone(namespace, async () => {
      if (!made || !isOpen()) {
        vectors.putBack(lot.slots);
        return false;
      }
      await vectors.addMade(lot.slots, spread(made, lot.texts), rows);
      await this.#parts.save(memory);
      return true;
    });
  }

  release(agent: string): void {
    this.#owed.delete(agent);
  }

  async close(): Promise<void> {
    await this.#parts.lots?.close();
  }
}

/** Returns the vector of each text in order; null for an empty one, which was not embedded. */
function spread(made: readonly (Float32Array | null)[], texts: readonly string[]): (Float32Array | null)[] {
  let next = 0;
  return texts.map((text) => (text === "" ? null : (made[next++] ?? null)));
}

const MAX_ROW_CHARS = 8_000;
/** Rows without a vector that are embedded in one request with a query; the others wait. */
const MAX_ROWS_PER_REQUEST = 96;

/** Returns the part of a row's text that is embedded. */
const embeddedTextOf = (row: Pick<MemoryRow, "kind" | "text">): string => clip(contentOf(row), MAX_ROW_CHARS);

/**
 * Reads the rows to be embedded with the texts of a query: the newest without a vector. An instant embedder embeds all, the
 * oldest first, so that an index has its rows in the same order after a restart and chooses the same of equally near ones. It sends
 * no text out, so a cached one will do, whose row may have been forgotten a moment ago.
 */
async function readBatch(rows: AgentRows, vectors: AgentVectors, isInstant: boolean) {
  const slots = isInstant ? vectors.pendingSlots(LOT_ROWS, "oldest") : vectors.pendingSlots(MAX_ROWS_PER_REQUEST);
  return { slots, texts: await readTexts(slots, (slot) => (isInstant ? rows.texts : rows).read(rows.idAt(slot))) };
}

/** Takes a lot of rows, the newest first, out of those that wait for a vector. */
async function takeLot(rows: AgentRows, vectors: AgentVectors) {
  const slots = vectors.takePending(LOT_ROWS);
  return { slots, texts: await readTexts(slots, (slot) => rows.read(rows.idAt(slot))) };
}

type ReadRow = (slot: number) => Promise<Pick<MemoryRow, "kind" | "text"> | undefined>;

/** Empty for a row that is gone or cannot be read. */
async function readTexts(slots: readonly number[], read: ReadRow): Promise<string[]> {
  const texts: string[] = [];
  for (const slot of slots) {
    const row = await read(slot).catch(() => undefined);
    texts.push(row ? embeddedTextOf(row) : "");
  }
  return texts;
}

// Makes missing vectors in the background, in small lots, for one memory after the other.
//
// Each lot is saved before the next one begins, so a crash costs one lot, and other work runs between two lots.

/** Rows of a lot: few enough that embedding them at home, or saving them, delays other work by less than 10 ms. */
const LOT_ROWS = 32;
const PAUSE_MS = 250;

export class BackgroundLots {
  readonly #pauseMs: number;
  readonly #stop = new AbortController();
  /** Memories under way or queued. */
  readonly #names = new Set<string>();
  #work: Promise<void> = Promise.resolve();

  constructor(pauseMs: number = PAUSE_MS) {
    this.#pauseMs = pauseMs;
  }

  /**
   * Calls `makeLot` until it returns false or rejects, after the memories that were started before. Does nothing while this
   * memory is under way or queued.
   */
  start(name: string, makeLot: (signal: AbortSignal) => Promise<boolean>): void {
    const { signal } = this.#stop;
    if (this.#names.has(name) || signal.aborted) return;
    this.#names.add(name);
    this.#work = this.#work
      .then(async () => {
        while (!signal.aborted && (await makeLot(signal)))
          await setTimeout(this.#pauseMs, undefined, { ref: false, signal });
      })
      .catch(() => undefined)
      .finally(() => this.#names.delete(name));
  }

  /** Aborts the lot under way, and starts no other. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("Memory is closed."));
    await this.#work;
  }
}
