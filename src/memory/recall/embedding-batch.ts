/** embedding-batch.ts -- chooses and reads the rows that are embedded in one request with the texts of a query. */
import { clip } from "#core/text.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import { contentOf } from "./row-content.ts";

const MAX_ROW_CHARS = 8_000;
/** Rows without a vector that are embedded in one request; the others wait for the next. */
const MAX_ROWS_PER_REQUEST = 96;
/** Pieces come last. If the embedder costs something, their characters are at most this share of the request's other texts. */
const SHARE_OF_PIECES = 0.5;

export interface EmbeddingBatch {
  readonly slots: readonly number[];
  /** The texts of the slots; empty for a row that is gone or cannot be read. */
  readonly texts: readonly string[];
}

export async function readBatch(
  rows: AgentRows,
  vectors: AgentVectors,
  query: readonly string[],
  isInstant: boolean,
): Promise<EmbeddingBatch> {
  const readText = async (slot: number): Promise<string> => {
    const row = await rows.read(rows.at(slot).id).catch(() => undefined);
    return row ? clip(contentOf(row), MAX_ROW_CHARS) : "";
  };
  const slots = [...vectors.pendingSlots(MAX_ROWS_PER_REQUEST)];
  const texts: string[] = [];
  for (const slot of slots) texts.push(await readText(slot));
  const others = [...query, ...texts].reduce((sum, text) => sum + text.length, 0);
  let room = isInstant ? Number.POSITIVE_INFINITY : SHARE_OF_PIECES * others;
  for (const slot of vectors.pendingPieces()) {
    const text = await readText(slot);
    room -= text.length;
    if (room < 0 || slots.length === MAX_ROWS_PER_REQUEST) break;
    slots.push(slot);
    texts.push(text);
  }
  return { slots, texts };
}

export const hasPending = (vectors: AgentVectors): boolean =>
  vectors.pendingSlots(1).length > 0 || vectors.pendingPieces().next().done !== true;
