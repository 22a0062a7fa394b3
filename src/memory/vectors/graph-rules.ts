/** graph-rules.ts -- decides when a graph is saved to disk, when it is rebuilt, and where its centre is. */
import type { GraphCounts } from "./graph-messages.ts";
import { meanOf } from "./unit-vector.ts";
import type { VectorRows } from "./unsent-rows.ts";

export const EMPTY_COUNTS: GraphCounts = { live: 0, dead: 0, unsaved: 0 };

/** Share of dead vectors above which the graph is rebuilt. */
const MAX_DEAD_SHARE = 0.25;
const MIN_DEAD = 256;

const SAVE_EVERY_ROWS = 1_000;
const SAVE_EVERY_SHARE = 0.1;
/** First saving while a graph is filled, which takes long for many rows; then at each doubling. */
const FIRST_SAVE_ROWS = 10_000;

/** Rows whose mean is the centre of a new graph, and fewest rows that have one: the mean of fewer is like one of them. */
const CENTRE_ROWS = 1_024;
const MIN_CENTRE_ROWS = 256;

export function isSaveDue({ live, unsaved }: GraphCounts, isFilling: boolean): boolean {
  return (
    unsaved >= (isFilling ? Math.max(FIRST_SAVE_ROWS, live / 2) : Math.max(SAVE_EVERY_ROWS, SAVE_EVERY_SHARE * live))
  );
}

export const hasTooManyDead = ({ live, dead }: GraphCounts): boolean =>
  dead >= MIN_DEAD && dead > MAX_DEAD_SHARE * (live + dead);

/** Returns the mean of rows spread over all; zeros for few rows. */
export function centreOf(rows: VectorRows, dimensions: number): Float32Array {
  const slots = rows.slots();
  const step = Math.max(1, slots.length / CENTRE_ROWS);
  const sample: Float32Array[] = [];
  for (let at = 0; at < slots.length && slots.length >= MIN_CENTRE_ROWS; at += step) {
    const vector = rows.vectorOf(slots[Math.floor(at)] as number);
    if (vector) sample.push(vector);
  }
  return meanOf(sample, dimensions);
}
