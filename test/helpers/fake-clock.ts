/**
 * fake-clock.ts -- a Clock whose time passes only when the test says so.
 *
 * `advance` wakes sleepers in the order of their times and lets what they resume run
 * before time goes on. With `auto`, a sleep passes at once and moves the time itself:
 * for code that is driven to its end rather than step by step.
 */
import type { Clock } from "#core/ports/clock.ts";

export interface FakeClock extends Clock {
  /** Lets `ms` pass. */
  advance(ms: number): Promise<void>;
  /** How many sleeps are under way. */
  readonly sleepers: number;
  /** Every sleep that was asked for, in ms, oldest first. */
  readonly slept: readonly number[];
}

interface Sleeper {
  readonly wakeAt: number;
  wake(): void;
}

export function fakeClock(options: { start?: string; auto?: boolean } = {}): FakeClock {
  let time = Date.parse(options.start ?? "2026-11-20T08:00:00.000Z");
  const sleepers = new Set<Sleeper>();
  const slept: number[] = [];

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
    get sleepers() {
      return sleepers.size;
    },
    slept,
  };
}

/** Lets everything that is ready run, promises and immediates alike. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
