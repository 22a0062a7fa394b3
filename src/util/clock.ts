/**
 * clock.ts -- the machine's own clock behind the port.
 *
 * The only reader of real time outside the edges' own logging; everything else is
 * handed a Clock, so that a recorded run can be played again exactly.
 */
import type { Clock } from "#core/ports/clock.ts";

/** Node fires a longer timer at once; longer sleeps are made of several. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    const end = performance.now() + ms;
    for (let left = ms; left > 0 && !signal?.aborted; left = end - performance.now())
      await sleepOnce(Math.min(left, LONGEST_TIMER_MS), signal);
  },
};

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
