/** merge-rankings.ts -- merges rankings: those of the parts of one query, and those of words and vectors. */
import type { ScoredSlot } from "#core/ports/vectors.ts";
import { BestOf } from "#util/best-of.ts";
import type { QueryPart } from "./query-parts.ts";

/** Weight of the plain score beside the normalised one. */
const PLAIN_SCORE_WEIGHT = 0.1;
/** Smallest range of scores to normalise by, so that a part without a clear match counts less. */
const MIN_RANGE = 0.05;

/**
 * Merges the hits of all parts. The scores of each part are normalised by their range (best 1, worst 0) and weighted;
 * a row gets its highest one. Plain scores do not compare between parts: one report is close to a hundred other
 * reports, while a question is only somewhat close to its answer. Best first; of equals the newer row first.
 *
 * With `limit`, returns only that many. A row scores at most the weight of its part, so once `limit` rows score
 * above the heaviest part left, the remaining parts are not searched (Fagin's threshold algorithm, 2001).
 */
export function mergeParts(
  searchPart: (part: number) => readonly ScoredSlot[],
  parts: readonly QueryPart[],
  limit = Number.POSITIVE_INFINITY,
): readonly ScoredSlot[] {
  const slots: number[] = [];
  // A separate array, because a map with fractional values is slow.
  const scores: number[] = [];
  const positions = new Map<number, number>();
  const heaviestFirst = parts.map(({ weight }, part) => ({ weight, part })).sort((a, b) => b.weight - a.weight);
  for (const { weight, part } of heaviestFirst) {
    if (slots.length >= limit && countAbove(scores, weight) >= limit) break;
    const hits = searchPart(part);
    const [best, worst] = [hits[0]?.score ?? 0, hits.at(-1)?.score ?? 0];
    const factor = weight / Math.max(MIN_RANGE, best - worst + PLAIN_SCORE_WEIGHT * best);
    for (const { slot, score } of hits) {
      const normalised = factor * (score - worst + PLAIN_SCORE_WEIGHT * score);
      const position = positions.get(slot);
      if (position === undefined) {
        positions.set(slot, slots.push(slot) - 1);
        scores.push(normalised);
      } else if (normalised > (scores[position] as number)) scores[position] = normalised;
    }
  }
  const ranking = new BestOf(Math.min(limit, slots.length));
  for (let at = 0; at < slots.length; at++) ranking.offer(scores[at] as number, slots[at] as number);
  return ranking.take();
}

function countAbove(scores: readonly number[], threshold: number): number {
  let count = 0;
  for (let at = 0; at < scores.length; at++) if ((scores[at] as number) > threshold) count++;
  return count;
}

/** The constant k of reciprocal rank fusion: how far down a ranking the ranks still matter. */
const RANK_OFFSET = 60;
/** Score of a row that is last in every ranking. */
const LOWEST_FUSED_SCORE = 0.05;

/**
 * Reciprocal rank fusion (Cormack et al. 2009), spread over 0 to 1: the plain sums are so close together that the
 * smallest bonus or duplicate penalty would outweigh them.
 */
export function fuseRankings(...rankings: readonly (readonly ScoredSlot[])[]): readonly ScoredSlot[] {
  const used = rankings.filter((ranking) => ranking.length > 0);
  if (used.length === 1) return used[0] as readonly ScoredSlot[];
  const sums = new Map<number, number>();
  for (const ranking of used)
    for (const [rank, { slot }] of ranking.entries())
      sums.set(slot, (sums.get(slot) ?? 0) + (RANK_OFFSET + 1) / (RANK_OFFSET + 1 + rank) / used.length);
  const scores = [...sums.values()];
  const lowest = Math.min(...scores) - LOWEST_FUSED_SCORE;
  const range = Math.max(...scores) - lowest;
  const fused = Array.from(sums, ([slot, score]) => ({ slot, score: (score - lowest) / range }));
  return fused.sort((a, b) => b.score - a.score || b.slot - a.slot);
}
