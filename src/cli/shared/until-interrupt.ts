/** until-interrupt.ts -- something done again and again until Ctrl-C, which is then the end and no failure. */
import { systemClock } from "#util/clock.ts";

/** The first time at once. What fails ends it. */
export async function untilInterrupt(everyMs: number, act: () => Promise<void>): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, end);
  try {
    while (!ending.signal.aborted) {
      await act();
      await systemClock.sleep(everyMs, ending.signal);
    }
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}
