/**
 * pace.ts -- one request a second for each host, and none while it asks to be left alone.
 *
 * Whoever comes gets the next free second, so that many agents together are no faster than one.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";

export interface Pace {
  /** Resolves when it is the caller's turn. Throws GOALD_WEB when that is too far away, and the signal's reason. */
  turn(host: string, delayMs: number, signal: AbortSignal): Promise<void>;
  /** The host asks for no more requests for so long. */
  rest(host: string, waitMs: number): void;
}

const GAP_MS = 1_000;
/** Longer waits are not for a command to sit through. */
const MAX_WAIT_MS = 20_000;
/** Nobody is believed who asks for more than a day. */
const MAX_REST_MS = 24 * 60 * 60_000;
const MAX_HOSTS = 1_000;

export function createPace(clock: Clock): Pace {
  /** When the next request may go. */
  const free = new Map<string, number>();

  function note(host: string, at: number, now: number): void {
    free.set(host, at);
    if (free.size > MAX_HOSTS) for (const [name, time] of free) if (time <= now) free.delete(name);
  }

  return {
    async turn(host, delayMs, signal) {
      const now = clock.now().getTime();
      const at = Math.max(now, free.get(host) ?? 0);
      if (at - now > MAX_WAIT_MS)
        throw new GoaldError("GOALD_WEB", `${host} takes no more requests before ${new Date(at).toISOString()}.`, {
          hint: "Go on with something else, or read another site.",
        });
      note(host, at + Math.max(GAP_MS, delayMs), now);
      if (at > now) await clock.sleep(at - now, signal);
      signal.throwIfAborted();
    },
    rest(host, waitMs) {
      const now = clock.now().getTime();
      note(host, Math.max(free.get(host) ?? 0, now + Math.min(waitMs, MAX_REST_MS)), now);
    },
  };
}
