/**
 * tape.ts -- between a run and everything outside it, while the run is recorded or replayed.
 *
 * HTTP, the clock, the inbox, values that are not in the log and, by `through`, the loop's own parts pass through a tape.
 * Nothing else may reach the loop, or a replay would not end in the same state.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Http } from "#http/http.ts";
import type { RunParts } from "#loop/run.ts";

export interface Tape {
  /** True for a replay: nothing outside is asked. */
  readonly plays: boolean;
  /** Replaces the HTTP seam that `open` makes; a replay never opens it. */
  http(open: () => Http): Http;
  /** The loop's clock. */
  readonly clock: Clock;
  /** The clock of parts beside the loop, whose times reach no event. */
  readonly beside: Clock;
  /** The result of a calculation, now or as it was recorded. Plain JSON. */
  value<T>(name: string, compute: () => T): T;
  through(parts: RunParts): RunParts;
}
