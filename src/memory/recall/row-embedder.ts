/**
 * row-embedder.ts -- chooses the rows of memories that are embedded: the newest with the texts of a query, the others
 * in the background.
 */
import { setTimeout } from "node:timers/promises";
import type { CountTokens, MemoryRow } from "#core/ports/memory.ts";
import { clip } from "#core/text.ts";
import { contentOf } from "../remember/step-lines.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";

export interface EmbeddingCall {
  readonly agent: string;
  readonly signal: AbortSignal;
  readonly countTokens: CountTokens | undefined;
}

/** Returns the vector of each text in order; null for an empty one, which was not embedded. */
export function spread(made: readonly (Float32Array | null)[], texts: readonly string[]): (Float32Array | null)[] {
  let next = 0;
  return texts.map((text) => (text === "" ? null : (made[next++] ?? null)));
}

/** Only the beginning of a longer row is embedded. */
const MAX_ROW_CHARS = 8_000;
/** Rows without a vector that are embedded in one request with a query; the others wait. */
const MAX_ROWS_PER_REQUEST = 96;

/**
 * Reads the rows to be embedded with the texts of a query: the newest without a vector. An instant embedder embeds all, the
 * oldest first, so that an index has its rows in the same order after a restart and chooses the same of equally near ones. It sends
 * no text out, so a cached one will do, whose row may have been forgotten a moment ago.
 */
export async function readBatch(rows: AgentRows, vectors: AgentVectors, isInstant: boolean) {
  const slots = isInstant ? vectors.pendingSlots(LOT_ROWS, "oldest") : vectors.pendingSlots(MAX_ROWS_PER_REQUEST);
  return { slots, texts: await readTexts(slots, (slot) => (isInstant ? rows.texts : rows).read(rows.idAt(slot))) };
}

/** Takes a lot of rows, the newest first, out of those that wait for a vector. */
export async function takeLot(rows: AgentRows, vectors: AgentVectors) {
  const slots = vectors.takePending(LOT_ROWS);
  return { slots, texts: await readTexts(slots, (slot) => rows.read(rows.idAt(slot))) };
}

type ReadRow = (slot: number) => Promise<Pick<MemoryRow, "kind" | "text"> | undefined>;

/** Empty for a row that is gone or cannot be read. */
async function readTexts(slots: readonly number[], read: ReadRow): Promise<string[]> {
  const texts: string[] = [];
  for (const slot of slots) {
    const row = await read(slot).catch(() => undefined);
    texts.push(row ? clip(contentOf(row), MAX_ROW_CHARS) : "");
  }
  return texts;
}

/** Rows of a lot: few enough that embedding them at home, or saving them, delays other work by less than 10 ms. */
const LOT_ROWS = 32;
const PAUSE_MS = 250;

/**
 * Makes missing vectors in the background, in small lots, for one memory after the other. Each lot is saved before the
 * next one begins, so a crash costs one lot, and other work runs between two lots.
 */
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
