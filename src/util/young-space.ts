/**
 * young-space.ts -- how much room V8 gives to young objects, and how many threads: little for few agents, more while many run.
 *
 * goald.js keeps it at the 2 MB that it begins with, so that a daemon of days stays small, and at one thread. With many agents at once
 * most of what is in there is still in use when it is full, and is copied again and again: 200 of them took 2.5 times as long, in
 * pauses of up to 0.1 s. What has grown stays.
 */
import * as v8 from "node:v8";

const MANY = 16;
let isGrowing = false;

/** `agents`: how many are under way, or wait for a time. */
export function makeRoomFor(agents: number): void {
  if (agents > MANY === isGrowing) return;
  isGrowing = !isGrowing;
  v8.setFlagsFromString(`--semi-space-growth-factor=${isGrowing ? 2 : 1}`);
  v8.setFlagsFromString(isGrowing ? "--parallel-scavenge" : "--no-parallel-scavenge");
}
