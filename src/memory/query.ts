/**
 * query.ts -- what an agent is busy with, as something to search by.
 *
 * The texts are its newest messages; each counts for a little less than the next newer one. Each is
 * searched for by itself: added up to one query, a question would drown in the results around it
 * (in a trial with 2,000 rows and nine messages, 0.90 to 0.92 of the wanted rows came among
 * the ten when each was asked alone, 0.36 to 0.84 with the sum).
 */
import { clip } from "#core/text.ts";
import { wordSetOf } from "./rows.ts";

/** What each text says about what the agent is busy with, compared with the next newer one. */
const OLDER_COUNTS = 0.9;
const MAX_TEXTS = 16;
const MAX_CHARS = 2_000;

/** The newest texts that say anything, newest last, each once and cut to what an embedder takes. */
export function queryTexts(texts: readonly string[]): readonly string[] {
  const said = texts.filter((text) => text.trim() !== "").slice(-MAX_TEXTS);
  const newestFirst = new Set(said.reverse().map((text) => clip(text, MAX_CHARS)));
  return [...newestFirst].reverse();
}

/** The query as hashes of words with their weights, for ranking without vectors. */
export function queryWords(texts: readonly string[]): ReadonlyMap<number, number> {
  const weights = new Map<number, number>();
  for (const [position, text] of texts.entries()) {
    const weight = weightOf(position, texts.length);
    for (const word of wordSetOf(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  }
  return weights;
}

/** 1 for the newest, which is the last of `length`. */
export const weightOf = (position: number, length: number): number => OLDER_COUNTS ** (length - 1 - position);
