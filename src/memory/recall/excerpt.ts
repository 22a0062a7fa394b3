/**
 * excerpt.ts -- of a long memory, what the question is about.
 *
 * The prompt has room for some 200 tokens of each recall. A row that is longer is given by its beginning, which says
 * what it is, and by the sentence that shares most words with the question, with what stands around it.
 */

import { stemOf, wordsOf } from "#util/words.ts";
import { isStopWord } from "../lexical/stop-words.ts";
import type { QueryPart } from "./query-parts.ts";

/** Shorter texts are given whole. */
const WHOLE_CHARS = 900;
const BEGINNING_CHARS = 120;
const AROUND_CHARS = 600;
/** More of a text than this is not looked at. */
const MAX_CHARS = 8_000;

/** Undefined for a text that is given whole, or of which no sentence shares a word with the question. */
export function excerptOf(text: string, parts: readonly QueryPart[]): string | undefined {
  if (text.length <= WHOLE_CHARS) return undefined;
  const worth = worthOfStems(parts);
  let best = { at: 0, length: 0, score: 0 };
  for (const { index, 0: sentence } of text.slice(0, MAX_CHARS).matchAll(/[^.!?\n。！？]+[.!?\n。！？]*\s*/g)) {
    const stems = new Set(wordsOf(sentence).map(stemOf));
    let shared = 0;
    for (const stem of stems) shared += worth.get(stem) ?? 0;
    const score = shared / Math.sqrt(stems.size + 4);
    if (score > best.score) best = { at: index, length: sentence.length, score };
  }
  if (best.score === 0) return undefined;
  const from = Math.max(0, best.at - Math.max(0, Math.floor((AROUND_CHARS - best.length) / 2)));
  const around = text.slice(from, from + AROUND_CHARS).trim();
  const whole =
    from <= BEGINNING_CHARS ? text.slice(0, from + AROUND_CHARS) : `${text.slice(0, BEGINNING_CHARS)} … ${around}`;
  return from + AROUND_CHARS < text.length ? `${whole.toWellFormed()} …` : whole.toWellFormed();
}

function worthOfStems(parts: readonly QueryPart[]): ReadonlyMap<string, number> {
  const worth = new Map<string, number>();
  for (const { words, weight } of parts)
    for (const word of words) {
      const stem = stemOf(word);
      if (!isStopWord(word) && weight > (worth.get(stem) ?? 0)) worth.set(stem, weight);
    }
  return worth;
}
