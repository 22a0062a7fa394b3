/**
 * past-facts.ts -- recalls the fact that holds in place of a past one, and shows the past one right behind it.
 *
 * A question often has more words of the old note than of the new one. So a past fact that was found counts as found for the
 * fact that holds, and never takes its place. It is a recall of its own only when the fact that holds is not one: the prompt
 * shows that step already, or the row was forgotten.
 */
import type { ScoredSlot } from "#core/ports/memory.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { ChosenRow } from "./choose-recalls.ts";

/** A memory with the first of the numbers that its slots have in merged rankings. */
interface SlotsOfMemory {
  readonly rows: AgentRows;
  readonly firstSlot: number;
  readonly excluded: ReadonlySet<number>;
}
/** Returns the memory of a slot of merged rankings. */
type MemoryOf = (slot: number) => SlotsOfMemory;

/** Past facts among one choice of recalls. More would take the place of other memories. */
const MAX_PAST = 3;

/** Returns the hits with the facts that hold in place of past ones, each slot once with its best score. */
export function replacePastFacts(hits: readonly ScoredSlot[], memoryOf: MemoryOf): readonly ScoredSlot[] {
  const scores = new Map<number, number>();
  let isChanged = false;
  for (const { slot, score } of hits) {
    const { rows, firstSlot, excluded } = memoryOf(slot);
    const holder = rows.facts.holderOf(slot - firstSlot);
    const held = excluded.has(holder) ? slot : firstSlot + holder;
    isChanged ||= held !== slot;
    if (!scores.has(held)) scores.set(held, score);
  }
  return isChanged ? [...scores].map(([slot, score]) => ({ slot, score })) : hits;
}

/** Returns at most `count` recalls: behind each of the best facts the one that was true before. */
export function addPastFacts(recalls: readonly ChosenRow[], count: number, memoryOf: MemoryOf): readonly ChosenRow[] {
  let left = MAX_PAST;
  const shown = new Set(recalls.map(({ slot }) => slot));
  const all = recalls.flatMap((recall): readonly ChosenRow[] => {
    if (left === 0 || recall.row.kind !== "fact") return [recall];
    const { rows, firstSlot, excluded } = memoryOf(recall.slot);
    const past = rows.facts.pastOf(recall.slot - firstSlot);
    if (past === undefined || excluded.has(past) || shown.has(firstSlot + past)) return [recall];
    left -= 1;
    return [recall, { slot: firstSlot + past, row: rows.at(past), score: recall.score }];
  });
  return all.slice(0, count);
}
