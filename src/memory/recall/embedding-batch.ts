/** embedding-batch.ts -- chooses and reads the rows that are embedded in one request. */
import type { MemoryRow } from "#core/ports/memory-row.ts";
import { clip } from "#core/text.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import { LOT_ROWS } from "./background-lots.ts";
import { contentOf } from "./row-content.ts";

const MAX_ROW_CHARS = 8_000;
/** Rows without a vector that are embedded in one request with a query; the others wait. */
const MAX_ROWS_PER_REQUEST = 96;
/** Pieces come last if the embedder costs something: their characters are at most this share of the request's other texts. */
const SHARE_OF_PIECES = 0.5;

export interface EmbeddingBatch {
  readonly slots: readonly number[];
  /** The texts of the slots; empty for a row that is gone or cannot be read. */
  readonly texts: readonly string[];
}

/** Returns the part of a row's text that is embedded. */
const embeddedTextOf = (row: MemoryRow): string => clip(contentOf(row), MAX_ROW_CHARS);

/**
 * Reads the rows to be embedded with the texts of a query: the newest without a vector. An instant embedder embeds all, the
 * oldest first, so that an index has its rows in the same order after a restart and chooses the same of equally near ones.
 */
export async function readBatch(
  rows: AgentRows,
  vectors: AgentVectors,
  query: readonly string[],
  isInstant: boolean,
): Promise<EmbeddingBatch> {
  const slots = [
    ...(isInstant ? vectors.pendingSlots(LOT_ROWS, "oldest") : vectors.pendingSlots(MAX_ROWS_PER_REQUEST, "newest")),
  ];
  const texts = await readTexts(rows, slots);
  let room = SHARE_OF_PIECES * [...query, ...texts].reduce((sum, text) => sum + text.length, 0);
  for (const slot of vectors.pendingPieces()) {
    const [text = ""] = await readTexts(rows, [slot]);
    room -= text.length;
    if (room < 0 || slots.length === MAX_ROWS_PER_REQUEST) break;
    slots.push(slot);
    texts.push(text);
  }
  return { slots, texts };
}

/** Takes a lot of rows, the newest first, out of those that wait for a vector. */
export async function takeLot(rows: AgentRows, vectors: AgentVectors): Promise<EmbeddingBatch> {
  const slots = vectors.takePending(LOT_ROWS);
  return { slots, texts: await readTexts(rows, slots) };
}

async function readTexts(rows: AgentRows, slots: readonly number[]): Promise<string[]> {
  const texts: string[] = [];
  for (const slot of slots) {
    const row = await rows.read(rows.at(slot).id).catch(() => undefined);
    texts.push(row ? embeddedTextOf(row) : "");
  }
  return texts;
}

export const hasPending = (vectors: AgentVectors): boolean =>
  vectors.pendingSlots(1).length > 0 || vectors.pendingPieces().next().done !== true;
