/**
 * clock.ts -- implements the clock port with the machine's clock. Apart from logging, only this module reads real time.
 * All other code receives a Clock, so that a recorded run can be replayed exactly.
 */
import { setTimeout } from "node:timers/promises";
import type { Clock } from "#core/ports/clock.ts";

/** Node fires a longer timer immediately, so longer sleeps use several timers. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    const end = performance.now() + ms;
    for (let left = ms; left > 0 && !signal?.aborted; left = end - performance.now())
      await setTimeout(Math.min(left, LONGEST_TIMER_MS), undefined, signal && { signal }).catch(() => undefined);
  },
};
