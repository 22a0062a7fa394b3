/**
 * tape.ts -- what a host hands its outside through, while a run is recorded or played again.
 *
 * Everything that comes to the loop from outside passes one of these doors: HTTP, the clock, the inbox, values that are no
 * part of the log, and, by `through`, the loop's own parts. Nothing else may be let in, or a replay would not end the same.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Http } from "#http/http.ts";
import type { RunParts } from "#loop/run.ts";

export interface Tape {
  /** In place of the seam that `open` makes; a tape that plays never opens it. */
  http(open: () => Http): Http;
  /** Of the loop. */
  readonly clock: Clock;
  /** Of those who wait beside the loop, and whose times reach no event. */
  readonly beside: Clock;
  /** What a calculation gives, or gave when it was recorded. Plain JSON. */
  value<T>(name: string, compute: () => T): T;
  through(parts: RunParts): RunParts;
}
