/** loop-meter.ts -- how late the event loop is, over the last minute; it measures only while there is work. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DaemonStatus } from "#api/control.ts";

type Delay = DaemonStatus["eventLoopDelayMs"];

export interface LoopMeter {
  read(): Delay;
  /** Idle, it would be the only thing that wakes the processor. */
  setBusy(busy: boolean): void;
}

const WINDOW_MS = 60_000;
/** Between two looks at the clock; what is measured beyond it is delay. */
const RESOLUTION_MS = 10;

export function createLoopMeter(now: () => number): LoopMeter {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let last: Delay = { p50: 0, p99: 0, max: 0 };
  let begunAtMs = now();

  const current = (): Delay => {
    if (histogram.count === 0) return { p50: 0, p99: 0, max: 0 };
    const delayMs = (nanoseconds: number): number =>
      Math.max(0, Math.round((nanoseconds / 1e6 - RESOLUTION_MS) * 10) / 10);
    return {
      p50: delayMs(histogram.percentile(50)),
      p99: delayMs(histogram.percentile(99)),
      max: delayMs(histogram.max),
    };
  };

  /** A minute that is over is kept until the next one has something to say. */
  function turn(): void {
    if (now() - begunAtMs < WINDOW_MS) return;
    last = current();
    histogram.reset();
    begunAtMs = now();
  }

  return {
    read: () => {
      turn();
      const fresh = current();
      return {
        p50: Math.max(fresh.p50, last.p50),
        p99: Math.max(fresh.p99, last.p99),
        max: Math.max(fresh.max, last.max),
      };
    },
    setBusy: (busy) => {
      turn();
      if (busy) histogram.enable();
      else histogram.disable();
    },
  };
}
