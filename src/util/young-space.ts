/**
 * young-space.ts -- lets V8's space for young objects grow, and its scavenger use threads, while many agents run.
 *
 * goald.js keeps the space at its initial 2 MB and one thread, so that a long-running daemon stays small. With many
 * agents most young objects are still in use when the space is full, and are copied repeatedly: 200 agents took 2.5
 * times as long, with pauses of up to 0.1 s. The space does not shrink again.
 */
import * as v8 from "node:v8";

const MANY_AGENTS = 16;
let isGrowing = false;

/** `agents` counts the agents that are running or waiting for a time. */
export function makeRoomFor(agents: number): void {
  if (agents > MANY_AGENTS === isGrowing) return;
  isGrowing = !isGrowing;
  v8.setFlagsFromString(`--semi-space-growth-factor=${isGrowing ? 2 : 1}`);
  v8.setFlagsFromString(isGrowing ? "--parallel-scavenge" : "--no-parallel-scavenge");
}
