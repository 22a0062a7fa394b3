/**
 * merge-rankings.ts -- the hits of many texts as one ranking.
 */
import { BestOf, type Hit } from "#util/best-of.ts";
import type { QueryPart } from "./query-parts.ts";

/** How much of the score itself counts beside how far it stands out. */
const PLAIN_SHARE = 0.1;
/** A text that nothing stands out for, or is near to at all, does not count as much as another. */
const LEAST_SPAN = 0.05;

/**
 * How near each row is to the text that it is nearest to: 1 for that text's best, 0 for the
 * farthest of its hits, times the text's weight. Scores themselves do not compare between
 * texts: a report is rather near to a hundred other reports, a question is a little near to its answer alone.
 * Best first, the newer row first of equals.
 *
 * With `enough` only so many. No row stands out by more than its text weighs: once so many do by more than the texts
 * that are left weigh, those are not asked for their hits (the stopping rule of Fagin's threshold algorithm, 2001).
 */
export function standingOut(
  hitsOf: (part: number) => readonly Hit[],
  parts: readonly QueryPart[],
  enough = Number.POSITIVE_INFINITY,
): readonly Hit[] {
  const slots: number[] = [];
  // Side by side, since a map of fractions is slow.
  const scores: number[] = [];
  const places = new Map<number, number>();
  const heaviestFirst = parts.map(({ weight }, part) => ({ weight, part })).sort((a, b) => b.weight - a.weight);
  for (const { weight, part } of heaviestFirst) {
    if (slots.length >= enough && countAbove(scores, weight) >= enough) break;
    const hits = hitsOf(part);
    const [best, last] = [hits[0]?.score ?? 0, hits.at(-1)?.score ?? 0];
    const share = weight / Math.max(LEAST_SPAN, best - last + PLAIN_SHARE * best);
    for (const { slot, score } of hits) {
      const standing = share * (score - last + PLAIN_SHARE * score);
      const place = places.get(slot);
      if (place === undefined) {
        places.set(slot, slots.push(slot) - 1);
        scores.push(standing);
      } else if (standing > (scores[place] as number)) scores[place] = standing;
    }
  }
  const ranking = new BestOf(Math.min(enough, slots.length));
  for (let place = 0; place < slots.length; place++) ranking.offer(scores[place] as number, slots[place] as number);
  return ranking.take();
}

function countAbove(scores: readonly number[], limit: number): number {
  let count = 0;
  for (let place = 0; place < scores.length; place++) if ((scores[place] as number) > limit) count++;
  return count;
}
