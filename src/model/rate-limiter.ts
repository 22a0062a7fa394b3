/**
 * rate-limiter.ts -- limits the calls of all agents of a host to a model server: at the same time, and per minute.
 * Serves agents in the order of their requests. Each agent has one request at a time, so the order is fair. If a server
 * answers "too many requests", all agents wait until the time that it names.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { createSlots } from "#util/turns.ts";

interface GateLimits {
  /** Maximum calls at the same time. */
  readonly concurrency: number;
  /** Maximum calls per minute, null for no limit. A tenth of it may come in one burst. */
  readonly requestsPerMinute: number | null;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** Pause if the server names no time. */
const DEFAULT_PAUSE_MS = 2_000;
/** Maximum pause here. The agent itself records and waits for a longer one. */
const MAX_GATE_PAUSE_MS = 60_000;

export function createRateLimiter({ concurrency, requestsPerMinute }: GateLimits, clock: Clock) {
  const slots = createSlots(concurrency);
  const turns = createSlots(1);
  const takeToken = requestsPerMinute === null ? undefined : createBucket(requestsPerMinute, clock);
  let closedUntilMs = 0;
  /** Signals of the requests that were not sent yet. */
  const waiting = new WeakSet<AbortSignal>();
  /** A longer time than the maximum pause means that the clock was set back. */
  const leftMs = (): number => {
    const left = closedUntilMs - clock.now().getTime();
    return left > MAX_GATE_PAUSE_MS ? 0 : left;
  };

  async function waitForOpening(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const left = leftMs();
      if (left <= 0) return;
      await clock.sleep(left, signal);
    }
  }

  function obeyRateLimit(answer: ModelAnswer): void {
    if (answer.kind !== "failed" || answer.code !== "rate-limited") return;
    const pauseMs = Math.min(MAX_GATE_PAUSE_MS, answer.retry?.afterMs ?? DEFAULT_PAUSE_MS);
    closedUntilMs = Math.max(closedUntilMs, clock.now().getTime() + pauseMs);
  }

  return {
    /** Returns the same model with these limits. */
    guard: (model: LanguageModel): LanguageModel => ({
      ...model,
      complete: (request, signal, onText) => {
        waiting.add(signal);
        return slots.hold(async () => {
          await turns.hold(async () => {
            await waitForOpening(signal);
            await takeToken?.(signal);
          }, signal);
          waiting.delete(signal);
          const answer = await model.complete(request, signal, onText);
          obeyRateLimit(answer);
          return answer;
        }, signal);
      },
    }),
    /** True while the request with this signal waits to be sent. */
    holds: (signal: AbortSignal): boolean => waiting.has(signal),
    get active() {
      return slots.active;
    },
    get queued() {
      return slots.queued;
    },
    /** Time until which the server asked not to be called. */
    get closedUntil(): Date | null {
      return leftMs() > 0 ? new Date(closedUntilMs) : null;
    },
  };
}

/** Returns a function that takes a token from a bucket that fills evenly, and waits until there is one. */
function createBucket(perMinute: number, clock: Clock): (signal: AbortSignal) => Promise<void> {
  const capacity = Math.max(1, Math.floor(perMinute / 10));
  const msEach = 60_000 / perMinute;
  let tokens = capacity;
  let filledAtMs = clock.now().getTime();
  return async (signal) => {
    for (;;) {
      signal.throwIfAborted();
      const nowMs = clock.now().getTime();
      // A clock that was set back removes no tokens.
      tokens = Math.min(capacity, tokens + Math.max(0, nowMs - filledAtMs) / msEach);
      filledAtMs = nowMs;
      if (tokens >= 1) break;
      await clock.sleep(Math.ceil((1 - tokens) * msEach), signal);
    }
    tokens -= 1;
  };
}
