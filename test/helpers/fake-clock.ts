/**
 * fake-clock.ts -- a Clock whose time passes only when the test advances it.
 *
 * `advance` wakes sleepers in the order of their times, and runs what they resume before time continues.
 * With `auto` a sleep returns at once and advances the time itself, for code that a test runs to its end.
 */

export type FakeClock = ReturnType<typeof fakeClock>;

interface Sleeper {
  readonly wakeAt: number;
  wake(): void;
}

export function fakeClock(options: { start?: string; auto?: boolean } = {}) {
  let time = Date.parse(options.start ?? "2026-11-20T08:00:00.000Z");
  const sleepers = new Set<Sleeper>();
  const slept: number[] = [];

  /** Lets `ms` milliseconds pass. */
  async function advance(ms: number): Promise<void> {
    const end = time + ms;
    await settle();
    for (;;) {
      const next = [...sleepers].sort((a, b) => a.wakeAt - b.wakeAt).find((sleeper) => sleeper.wakeAt <= end);
      if (!next) break;
      time = Math.max(time, next.wakeAt);
      next.wake();
      await settle();
    }
    time = end;
  }

  async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    slept.push(ms);
    if (signal?.aborted || ms <= 0) return;
    if (options.auto) {
      time += ms;
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = () => {
        sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper: Sleeper = { wakeAt: time + ms, wake };
      sleepers.add(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  return {
    now: () => new Date(time),
    sleep,
    advance,
    /** Number of pending sleeps. */
    get sleepers() {
      return sleepers.size;
    },
    /** All requested sleeps in milliseconds, oldest first. */
    slept: slept as readonly number[],
  };
}

/** Runs everything that is ready, promises and immediates. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves when it is so, and throws when it has not come to that after 5,000 looks. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 5_000; looks++) {
    if (await isSo()) return;
    await settle();
  }
  throw new Error("It did not come to that.");
}
