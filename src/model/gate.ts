/**
 * gate.ts -- the one door to a model server for all agents of a host: so many calls at a time, so many a minute.
 *
 * Agents are served in the order in which they ask, and each asks once at a time: so their turns are fair. A server
 * that says "too many" closes the door for all of them until the time that it named.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { createSlots } from "#util/slots.ts";

export interface GateLimits {
  /** Calls at the same time. */
  readonly concurrency: number;
  /** Calls a minute; null for no such limit. A tenth of it may come in one burst. */
  readonly requestsPerMinute: number | null;
}

export interface ModelGate {
  /** The same model, behind the gate. */
  guard(model: LanguageModel): LanguageModel;
  readonly active: number;
  readonly queued: number;
  /** Time until which the server asked not to be called. */
  readonly closedUntil: Date | null;
}

/** A server that names no time is left alone for so long. */
const DEFAULT_PAUSE_MS = 2_000;
/** Longer waits are the agent's own: it writes them down and lets go of the gate. */
const MAX_PAUSE_MS = 60_000;

export function createModelGate({ concurrency, requestsPerMinute }: GateLimits, clock: Clock): ModelGate {
  const slots = createSlots(concurrency);
  const turns = createSlots(1);
  const bucket = requestsPerMinute === null ? undefined : createBucket(requestsPerMinute, clock);
  let closedUntilMs = 0;
  /** Longer than it was ever closed for: the clock was set back. */
  const leftMs = (): number => {
    const left = closedUntilMs - clock.now().getTime();
    return left > MAX_PAUSE_MS ? 0 : left;
  };

  async function waitForOpening(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const left = leftMs();
      if (left <= 0) return;
      await clock.sleep(left, signal);
    }
  }

  function heed(answer: ModelAnswer): void {
    if (answer.kind !== "failed" || answer.code !== "rate-limited") return;
    const pauseMs = Math.min(MAX_PAUSE_MS, answer.retry?.afterMs ?? DEFAULT_PAUSE_MS);
    closedUntilMs = Math.max(closedUntilMs, clock.now().getTime() + pauseMs);
  }

  return {
    guard: (model) => ({
      ...model,
      complete: (request, signal, onText) =>
        slots.hold(async () => {
          await turns.hold(async () => {
            await waitForOpening(signal);
            await bucket?.take(signal);
          }, signal);
          const answer = await model.complete(request, signal, onText);
          heed(answer);
          return answer;
        }, signal),
    }),
    get active() {
      return slots.active;
    },
    get queued() {
      return slots.queued;
    },
    get closedUntil() {
      return leftMs() > 0 ? new Date(closedUntilMs) : null;
    },
  };
}

/** A token bucket: filled evenly, emptied one by one. */
function createBucket(perMinute: number, clock: Clock): { take(signal: AbortSignal): Promise<void> } {
  const capacity = Math.max(1, Math.floor(perMinute / 10));
  const msEach = 60_000 / perMinute;
  let tokens = capacity;
  let filledAtMs = clock.now().getTime();
  return {
    take: async (signal) => {
      for (;;) {
        signal.throwIfAborted();
        const nowMs = clock.now().getTime();
        // A clock that was set back takes nothing away.
        tokens = Math.min(capacity, tokens + Math.max(0, nowMs - filledAtMs) / msEach);
        filledAtMs = nowMs;
        if (tokens >= 1) break;
        await clock.sleep(Math.ceil((1 - tokens) * msEach), signal);
      }
      tokens -= 1;
    },
  };
}
