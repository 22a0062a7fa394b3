/**
 * pace.ts -- limits requests to one a second per host, and pauses a host that asks for it.
 *
 * Each request takes the next free second of its host, so that many agents together are no faster than one.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";

export interface HostPace {
  /** Resolves when the caller may send its request. Throws GOALD_WEB if that takes over 20 s, and the signal's reason. */
  waitTurn(host: string, delayMs: number, signal: AbortSignal): Promise<void>;
  /** Delays the next request to this host. At most a day. */
  pause(host: string, waitMs: number): void;
}

const GAP_MS = 1_000;
/** A command should not wait longer. */
const MAX_WAIT_MS = 20_000;
const MAX_PAUSE_MS = 24 * 60 * 60_000;
const MAX_HOSTS = 1_000;

export function createHostPace(clock: Clock): HostPace {
  /** Time at which the next request may be sent, by host. */
  const nextFreeAt = new Map<string, number>();

  function setNextFree(host: string, at: number, now: number): void {
    nextFreeAt.set(host, at);
    if (nextFreeAt.size > MAX_HOSTS) for (const [name, time] of nextFreeAt) if (time <= now) nextFreeAt.delete(name);
  }

  return {
    async waitTurn(host, delayMs, signal) {
      const now = clock.now().getTime();
      const at = Math.max(now, nextFreeAt.get(host) ?? 0);
      if (at - now > MAX_WAIT_MS)
        throw new GoaldError("GOALD_WEB", `${host} takes no more requests before ${new Date(at).toISOString()}.`, {
          hint: "Go on with something else, or read another site.",
        });
      setNextFree(host, at + Math.max(GAP_MS, delayMs), now);
      if (at > now) await clock.sleep(at - now, signal);
      signal.throwIfAborted();
    },
    pause(host, waitMs) {
      const now = clock.now().getTime();
      setNextFree(host, Math.max(nextFreeAt.get(host) ?? 0, now + Math.min(waitMs, MAX_PAUSE_MS)), now);
    },
  };
}
