/** until-interrupt.ts -- repeats an action until Ctrl-C, which ends it without an error. */
import { systemClock } from "#util/clock.ts";

/** The first call is immediate. Rejects when a call fails. */
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
