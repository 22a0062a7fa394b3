/**
 * fuse-scores.ts -- fuses the hits of words and of vectors for one part of a query into one ranking, by their scores.
 *
 * score = 0.7 x coverage x words + 0.3 x closeness. The words' scores are scaled to their range, best 1 and last 0, as in the
 * convex combination of Bruch, Gai and Ingber (2023), which beats reciprocal rank fusion; closeness is twice the cosine after the
 * mean of the agent's rows was subtracted (vector-mean.ts). Coverage is the share of the query's words, weighed by rarity, that one of the best
 * rows holds: a question in other words shares little with any row, and its best row by words is chance.
 *
 * Words and vectors are fused part by part, so that a row which is near one text and shares words with another does not outrank the answer
 * of the question.
 *
 * The weights were chosen on the dev half of test/data/memory.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import { isStopWord } from "../lexical/stop-words.ts";
import { createWordSet, type WeighWord, type WordSet } from "../lexical/word-set.ts";
import type { QueryPart } from "./query-parts.ts";

const VECTOR_WEIGHT = 0.3;
/** Coverage from which the words count fully, and the share of them that always counts. */
const FULL_COVERAGE = 0.6;
const LEAST_COVERAGE = 0.3;
const COVERING_ROWS = 5;
/** Weight of the plain score beside the scaled one: the last hit is worth more than no hit. */
const PLAIN_SCORE_WEIGHT = 0.1;
/** Parts of at least this share of the highest weight are compared by vectors. Lighter ones gain nothing by it. */
const VECTOR_PART_SHARE = 0.7;

/** The parts that vectors are compared with. Only their texts are embedded. */
export function heavyParts(parts: readonly QueryPart[]): readonly QueryPart[] {
  const most = Math.max(...parts.map(({ weight }) => weight));
  return parts.filter(({ weight }) => weight >= VECTOR_PART_SHARE * most);
}

/** The rows near to one part: their slots, and the closeness of any slot. */
export interface NearRows {
  readonly slots: readonly number[];
  closenessOf(slot: number): number;
}

/** Returns all hits of words and all near rows, best first, of equals the newer one first. The best has the score 1. */
export function fuseScores(words: readonly ScoredSlot[], near: NearRows, coverage: number): readonly ScoredSlot[] {
  const scores = new Map<number, number>(near.slots.map((slot) => [slot, 0]));
  const [best, last] = [words[0]?.score ?? 0, words.at(-1)?.score ?? 0];
  const range = best - last + PLAIN_SCORE_WEIGHT * best;
  for (const { slot, score } of words)
    scores.set(slot, range > 0 ? (score - last + PLAIN_SCORE_WEIGHT * score) / range : 0);
  const wordWeight = (1 - VECTOR_WEIGHT) * Math.max(LEAST_COVERAGE, Math.min(1, coverage / FULL_COVERAGE));
  let highest = 0;
  for (const [slot, score] of scores) {
    const fused = wordWeight * score + VECTOR_WEIGHT * near.closenessOf(slot);
    highest = Math.max(highest, fused);
    scores.set(slot, fused);
  }
  return Array.from(scores, ([slot, score]) => ({ slot, score: highest > 0 ? score / highest : 0 })).sort(
    (a, b) => b.score - a.score || b.slot - a.slot,
  );
}

/** Returns the largest share of the part's words that one of the best hits holds, weighed by rarity; 0 without words. */
export function coverageOf(
  { words }: QueryPart,
  hits: readonly ScoredSlot[],
  wordsAt: (slot: number) => WordSet,
  weigh: WeighWord,
): number {
  const { hashes } = createWordSet(words.filter((word) => !isStopWord(word)));
  const all = hashes.reduce((sum, hash) => sum + weigh(hash), 0);
  if (all === 0) return 0;
  let most = 0;
  for (const { slot } of hits.slice(0, COVERING_ROWS)) {
    const held = new Set(wordsAt(slot).hashes);
    const shared = hashes.reduce((sum, hash) => (held.has(hash) ? sum + weigh(hash) : sum), 0);
    most = Math.max(most, shared / all);
  }
  return most;
}
