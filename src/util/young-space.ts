/**
 * young-space.ts -- lets V8's space for young objects grow, and its scavenge use threads, while many agents run; gives
 * memory back when no agent is left.
 *
 * goald.js keeps the space at its initial 2 MB and one thread, so that a long-running daemon stays small. With many
 * agents most young objects are still in use when the space is full, and are copied repeatedly: 200 agents took 2.5
 * times as long, with pauses of up to 0.1 s. Only a full collection shrinks the space again.
 *
 * V8 collects while something allocates, so an idle process would keep the garbage of its last agents for good.
 */
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";

const MANY_AGENTS = 16;
/** A daemon that gets its next agent sooner is not held up. */
const COLLECT_AFTER_MS = 10_000;
let isGrowing = false;
let collection: NodeJS.Timeout | undefined;

/** `agents` counts the agents that are running or waiting for a time. */
export function makeRoomFor(agents: number): void {
  clearTimeout(collection);
  if (agents === 0) collection = setTimeout(collectGarbage, COLLECT_AFTER_MS).unref();
  if (agents > MANY_AGENTS === isGrowing) return;
  isGrowing = !isGrowing;
  v8.setFlagsFromString(`--semi-space-growth-factor=${isGrowing ? 2 : 1}`);
  v8.setFlagsFromString(isGrowing ? "--parallel-scavenge" : "--no-parallel-scavenge");
}

/** Collects all garbage and frees its pages. V8 shows the function only to a context that is made after the flag is set. */
function collectGarbage(): void {
  v8.setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "major"; flavor: "last-resort" }) => void;
  v8.setFlagsFromString("--no-expose-gc");
  collect({ type: "major", flavor: "last-resort" });
}
