/**
 * merge.ts -- the hits of many texts as one ranking.
 */
import { BestOf } from "./best-of.ts";
import type { QueryPart } from "./query.ts";

export interface Hit {
  readonly slot: number;
  readonly score: number;
}

/** How much of the score itself counts beside how far it stands out. */
const PLAIN_SHARE = 0.1;
/** A text that nothing stands out for, or is near to at all, does not count as much as another. */
const LEAST_SPAN = 0.05;

/**
 * How near each row is to the text that it is nearest to: 1 for that text's best, 0 for the
 * farthest of its hits, times the text's weight. Scores themselves do not compare between
 * texts: a report is rather near to a hundred other reports, a question is a little near to its answer alone.
 * Best first, the newer row first of equals.
 */
export function standingOut(hitsOfParts: readonly (readonly Hit[])[], parts: readonly QueryPart[]): readonly Hit[] {
  const slots: number[] = [];
  const places = new Map<number, number>();
  // Side by side, since a map of fractions is slow.
  const scores = new Float64Array(hitsOfParts.reduce((sum, hits) => sum + hits.length, 0));
  for (const [position, hits] of hitsOfParts.entries()) {
    const [best, last] = [hits[0]?.score ?? 0, hits.at(-1)?.score ?? 0];
    const span = Math.max(LEAST_SPAN, best - last + PLAIN_SHARE * best);
    const weight = (parts[position] as QueryPart).weight / span;
    for (const { slot, score } of hits) {
      const standing = weight * (score - last + PLAIN_SHARE * score);
      const place = places.get(slot) ?? slots.length;
      if (place === slots.length) {
        places.set(slot, place);
        slots.push(slot);
        scores[place] = standing;
      } else if (standing > (scores[place] as number)) scores[place] = standing;
    }
  }
  const ranking = new BestOf(slots.length);
  for (let place = 0; place < slots.length; place++) ranking.offer(scores[place] as number, slots[place] as number);
  return ranking.take();
}
