/** graph-rules.ts -- when a graph is worth keeping on disk, and when it is worth making anew. */
import type { GraphCounts } from "./graph-messages.ts";

export const NOTHING: GraphCounts = { live: 0, dead: 0, unkept: 0 };

/** Dead vectors among all, above which the graph is made anew. */
const MAX_DEAD_SHARE = 0.25;
const MIN_DEAD = 256;

const KEEP_EVERY_ROWS = 1_000;
const KEEP_EVERY_SHARE = 0.1;
/** While it is being filled, which takes long for many rows, it is kept each time that it has doubled. */
const FIRST_KEEP_ROWS = 10_000;

export function isKeepingDue({ live, unkept }: GraphCounts, isFilling: boolean): boolean {
  return (
    unkept >= (isFilling ? Math.max(FIRST_KEEP_ROWS, live / 2) : Math.max(KEEP_EVERY_ROWS, KEEP_EVERY_SHARE * live))
  );
}

export const hasTooManyDead = ({ live, dead }: GraphCounts): boolean =>
  dead >= MIN_DEAD && dead > MAX_DEAD_SHARE * (live + dead);
