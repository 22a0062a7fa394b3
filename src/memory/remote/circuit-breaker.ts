/**
 * circuit-breaker.ts -- decides whether Pinecone is called: after a failure it is left alone for 1 s, then 2, 4, up to 60 s.
 *
 * A lasting failure pauses for 10 minutes, a server may ask for a longer pause. While calls fail, one at a time is let
 * through to test the server. The outage and its end are reported once each.
 */
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { PineconeError } from "./pinecone-errors.ts";

export interface CircuitBreakerParts {
  readonly clock: Pick<Clock, "now">;
  report(sentence: string): void;
  /** Pause after the first failure, doubled at each further one. Default: 1 s. */
  readonly retryAfterMs?: number;
}

const MAX_PAUSE_MS = 60_000;
const LASTING_PAUSE_MS = 10 * 60_000;

export class CircuitBreaker {
  readonly #parts: CircuitBreakerParts;
  #failures = 0;
  #notBeforeMs = 0;
  /** A call that tests a failed server is under way; other calls are turned away. */
  #isTesting = false;

  constructor(parts: CircuitBreakerParts) {
    this.#parts = parts;
  }

  /** Time until the next call is let through. */
  get pauseMs(): number {
    return Math.min(LASTING_PAUSE_MS, Math.max(0, this.#notBeforeMs - this.#parts.clock.now().getTime()));
  }

  /** Returns undefined when the call failed or was not made. */
  async attempt<T>(act: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (this.pauseMs > 0 || this.#isTesting) return undefined;
    const failures = this.#failures;
    this.#isTesting = failures > 0;
    try {
      const value = await act();
      if (this.#failures > 0)
        this.#parts.report("Pinecone answers again. Memory is searched there, and unsent rows are sent.");
      this.#failures = 0;
      return { value };
    } catch (error) {
      // Calls that were made together fail once.
      if (this.#failures === failures) this.#backOff(toError(error) as PineconeError);
      return undefined;
    } finally {
      this.#isTesting = false;
    }
  }

  #backOff({ isLasting = false, afterMs = null, message, hint = "" }: PineconeError): void {
    const { clock, report, retryAfterMs = 1_000 } = this.#parts;
    const pauseMs = isLasting ? LASTING_PAUSE_MS : Math.min(MAX_PAUSE_MS, retryAfterMs * 2 ** this.#failures);
    this.#notBeforeMs = clock.now().getTime() + Math.max(pauseMs, Math.min(afterMs ?? 0, LASTING_PAUSE_MS));
    if (this.#failures === 0) report(`Memory is searched locally for now: ${message} ${hint}`.trimEnd());
    this.#failures++;
  }
}
