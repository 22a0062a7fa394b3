/** merge-rankings.ts -- merges the rankings of the parts of one query. */
import type { ScoredSlot } from "#core/ports/memory.ts";
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
