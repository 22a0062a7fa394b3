/**
 * past-facts.ts -- recalls the fact that holds in place of a past one, and shows the past one right behind it.
 *
 * A question often has more words of the old note than of the new one. So a past fact that was found counts as found for the
 * fact that holds, and never takes its place. It is a recall of its own only when the fact that holds is not one: the prompt
 * shows that step already, or the row was forgotten.
 */
import type { Recall } from "#core/ports/recall.ts";
import type { ScoredSlot } from "#core/ports/vectors.ts";
import type { AgentRows } from "./agent-rows.ts";
import { toRecall } from "./choose-recalls.ts";

export interface SlotPlace {
  /** The memory with the slot. */
  readonly rows: AgentRows;
  readonly slot: number;
  readonly isExcluded: (slot: number) => boolean;
}
/** Returns the place of a slot of merged rankings. */
type PlaceOf = (slot: number) => SlotPlace;

/** Past facts among one choice of recalls. More would take the place of other memories. */
const MAX_PAST = 3;

/** Returns the hits with the facts that hold in place of past ones, each slot once with its best score. */
export function replacePastFacts(hits: readonly ScoredSlot[], placeOf: PlaceOf): readonly ScoredSlot[] {
  const scores = new Map<number, number>();
  let isChanged = false;
  for (const { slot, score } of hits) {
    const { rows, slot: own, isExcluded } = placeOf(slot);
    const holder = rows.holderOf(own);
    const held = isExcluded(holder) ? slot : slot - own + holder;
    isChanged ||= held !== slot;
    if (!scores.has(held)) scores.set(held, score);
  }
  return isChanged ? [...scores].map(([slot, score]) => ({ slot, score })) : hits;
}

/** Returns at most `count` recalls: behind each of the best facts the one that was true before. */
export function addPastFacts(
  recalls: readonly Recall[],
  count: number,
  placeOfRow: (id: string) => SlotPlace | undefined,
): readonly Recall[] {
  let left = MAX_PAST;
  const shown = new Set(recalls.map(({ id }) => id));
  const all = recalls.flatMap((recall) => {
    const place = left > 0 && recall.kind === "fact" ? placeOfRow(recall.id) : undefined;
    if (!place) return [recall];
    const { rows, slot, isExcluded } = place;
    const past = rows.pastOf(slot);
    if (past === undefined || isExcluded(past) || shown.has(rows.at(past).id)) return [recall];
    left -= 1;
    return [recall, toRecall(rows.at(past), recall.score)];
  });
  return all.slice(0, count);
}
