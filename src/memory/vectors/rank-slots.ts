/** rank-slots.ts -- gives candidates their exact scores, so that all indexes rank them alike. */
import type { ScoredSlot } from "#core/ports/memory.ts";

/**
 * Additional candidates to search for: an index that finds them by rounded products ranks a true neighbour slightly too low, and
 * does not know which of equally near rows is the newest.
 */
export const SPARE_CANDIDATES = 32;

/** Returns the `count` nearest of the slots that have a vector, each once, best first; of equals the newer one first. */
export function rankSlots(
  slots: Iterable<number>,
  scoreOf: (slot: number) => number | undefined,
  count: number,
): ScoredSlot[] {
  const hits: ScoredSlot[] = [];
  for (const slot of new Set(slots)) {
    const score = scoreOf(slot);
    if (score !== undefined) hits.push({ slot, score });
  }
  return hits.sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
}
