/** graph-rules.ts -- decides when a graph is saved to disk and when it is rebuilt. */
import type { GraphCounts } from "./graph-messages.ts";

export const EMPTY_COUNTS: GraphCounts = { live: 0, dead: 0, unsaved: 0 };

/** Share of dead vectors above which the graph is rebuilt. */
const MAX_DEAD_SHARE = 0.25;
const MIN_DEAD = 256;

const SAVE_EVERY_ROWS = 1_000;
const SAVE_EVERY_SHARE = 0.1;
/** First saving while a graph is filled, which takes long for many rows; then at each doubling. */
const FIRST_SAVE_ROWS = 10_000;

export function isSaveDue({ live, unsaved }: GraphCounts, isFilling: boolean): boolean {
  return (
    unsaved >= (isFilling ? Math.max(FIRST_SAVE_ROWS, live / 2) : Math.max(SAVE_EVERY_ROWS, SAVE_EVERY_SHARE * live))
  );
}

export const hasTooManyDead = ({ live, dead }: GraphCounts): boolean =>
  dead >= MIN_DEAD && dead > MAX_DEAD_SHARE * (live + dead);
