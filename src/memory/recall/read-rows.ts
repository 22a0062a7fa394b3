/** read-rows.ts -- reads the texts that a recall shows or embeds from the store, because main memory holds none. */
import { toError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Recall } from "#core/ports/recall.ts";
import { clip } from "#core/text.ts";
import type { OutageReporter } from "../vectors/guarded-embedder.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { ChosenRow } from "./choose-recalls.ts";
import { excerptOf } from "./excerpt.ts";
import type { AgentMemory } from "./find-recalls.ts";
import type { QueryPart } from "./query-parts.ts";

const MAX_EMBEDDED_CHARS = 8_000;

/** Leaves out rows that were forgotten or superseded since the search, and rows that cannot be read, which it reports. */
export async function readRecalls(
  memories: readonly AgentMemory[],
  chosen: readonly ChosenRow[],
  parts: readonly QueryPart[],
  outage: OutageReporter,
): Promise<readonly Recall[]> {
  const recalls: Recall[] = [];
  let problem: unknown;
  for (const { row, score } of chosen)
    try {
      const namespace = namespaceOf(row.id);
      const stored = await memories.find(({ rows }) => rows.namespace === namespace)?.rows.read(row.id);
      if (stored) recalls.push(withExcerpt(toRecall(stored, score), parts));
    } catch (error) {
      problem ??= error;
    }
  if (problem === undefined) outage.recovered();
  else outage.failed(`Memory leaves out rows that it cannot read: ${toError(problem).message}`);
  return recalls;
}

/** Returns the text to embed of each slot, without rows that are gone or cannot be read. */
export async function readEmbeddedTexts(
  rows: AgentRows,
  slots: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  for (const slot of slots) {
    const row = await rows.read(rows.at(slot).id).catch(() => undefined);
    if (row) texts.set(slot, clip(row.text, MAX_EMBEDDED_CHARS));
  }
  return texts;
}

function toRecall({ id, seq, step, at, kind, trust, text, outside }: MemoryRow, score: number): Recall {
  return { id, seq, step, at, kind, trust, text, score, ...(outside ? { outside } : {}) };
}

function withExcerpt(recall: Recall, parts: readonly QueryPart[]): Recall {
  const excerpt = recall.kind === "turn" ? undefined : excerptOf(recall.text, parts);
  return excerpt === undefined ? recall : { ...recall, excerpt };
}
