/**
 * excerpt.ts -- shortens a long memory to its beginning and the passage that matches the query.
 *
 * The prompt has room for about 200 tokens per recall. The beginning says what the memory is; the passage is the
 * sentence that shares most words with the query, with the text around it. The memory of a turn has more room and no excerpt.
 */
import type { TextRange } from "#core/ports/recall.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import { isStopWord } from "../lexical/stop-words.ts";
import type { QueryPart } from "./query-parts.ts";

/** Shorter texts are not cut. */
const MIN_CHARS = 900;
const BEGINNING_CHARS = 120;
const PASSAGE_CHARS = 600;
/** Only the beginning of a longer text is searched. */
const MAX_CHARS = 8_000;

/** Returns undefined for a text that is short, or has no sentence that shares a word with the query. */
export function excerptOf(text: string, parts: readonly QueryPart[]): readonly TextRange[] | undefined {
  if (text.length <= MIN_CHARS) return undefined;
  const weights = stemWeights(parts);
  let best = { at: 0, length: 0, score: 0 };
  for (const { index, 0: sentence } of text.slice(0, MAX_CHARS).matchAll(/[^.!?\n。！？]+[.!?\n。！？]*\s*/g)) {
    const stems = new Set(wordsOf(sentence).map(stemOf));
    let shared = 0;
    for (const stem of stems) shared += weights.get(stem) ?? 0;
    const score = shared / Math.sqrt(stems.size + 4);
    if (score > best.score) best = { at: index, length: sentence.length, score };
  }
  if (best.score === 0) return undefined;
  const from = Math.max(0, best.at - Math.max(0, Math.floor((PASSAGE_CHARS - best.length) / 2)));
  const to = Math.min(text.length, from + PASSAGE_CHARS);
  if (from > BEGINNING_CHARS)
    return [
      [0, BEGINNING_CHARS],
      [from, to],
    ];
  return [[0, to]];
}

/** Maps each stem of the query to the highest weight of its parts. */
function stemWeights(parts: readonly QueryPart[]): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const { words, weight } of parts)
    for (const word of words) {
      const stem = stemOf(word);
      if (!isStopWord(word) && weight > (weights.get(stem) ?? 0)) weights.set(stem, weight);
    }
  return weights;
}
