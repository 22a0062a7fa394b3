/** host-status.ts -- measures the event loop of a host, and keeps its problems. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DaemonStatus } from "#api/schemas.ts";

type Delay = DaemonStatus["eventLoopDelayMs"];

export type LoopMeter = ReturnType<typeof createLoopMeter>;

const WINDOW_MS = 60_000;
/** Sampling interval; delays are measured beyond it. */
const RESOLUTION_MS = 10;

export function createLoopMeter() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let last: Delay = { p50: 0, p99: 0, max: 0 };
  let begunAtMs = performance.now();

  const current = (): Delay => {
    const delayMs = (nanoseconds: number): number =>
      Math.max(0, Math.round((nanoseconds / 1e6 - RESOLUTION_MS) * 10) / 10);
    return {
      p50: delayMs(histogram.percentile(50)),
      p99: delayMs(histogram.percentile(99)),
      max: delayMs(histogram.max),
    };
  };

  /** The last full minute is kept until the next one has readings. */
  function turn(): void {
    if (performance.now() - begunAtMs < WINDOW_MS) return;
    last = current();
    histogram.reset();
    begunAtMs = performance.now();
  }

  function read(): Delay {
    turn();
    const { p50, p99, max } = current();
    return { p50: Math.max(p50, last.p50), p99: Math.max(p99, last.p99), max: Math.max(max, last.max) };
  }

  return {
    read,
    /** An idle host does not measure, because the timer alone would wake the processor. Its idle time is no delay. */
    setBusy: (busy: boolean): void => {
      turn();
      if (!busy) histogram.disable();
      else if (histogram.enable()) {
        last = read();
        histogram.reset();
      }
    },
  };
}

export type Problems = ReturnType<typeof createProblems>;

const FRAMES = /\n\s+at /;

/**
 * Logs all problems of a host, and keeps the last one of each agent and of the host for `goald status`. Stack traces
 * are only in the log, because people read `goald status`.
 */
export function createProblems(
  log: { warn(about: { readonly agent?: string }, text: string): void },
  redact: (text: string) => string,
) {
  const last = new Map<string, string>();
  return {
    /** `agent`: "" for the host itself. */
    tell: (agent: string, problem: string): void => {
      const text = redact(problem);
      const [said = ""] = text.split(FRAMES, 1);
      last.set(agent, agent ? `${agent}: ${said}` : said);
      log.warn(agent ? { agent } : {}, text);
    },
    forget: (agent: string) => void last.delete(agent),
    get all(): readonly string[] {
      return [...last.values()];
    },
  };
}
