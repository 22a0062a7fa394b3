/**
 * tape.ts -- the interface between a run and its external inputs, for recording and replay.
 *
 * The ports that answer from outside, the clock, the inbox, external values and the loop's own parts pass through a tape. Any
 * other input would make a replay end in another state.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { RunParts } from "#loop/run-parts.ts";
import type { TapedPorts } from "./answers.ts";

export interface Tape {
  /** True for a replay, which makes no external requests. */
  readonly plays: boolean;
  readonly ports: TapedPorts;
  /** The loop's clock. */
  readonly clock: Clock;
  /** Clock for parts outside the loop, whose times are in no event. */
  readonly beside: Clock;
  /** Returns the result of `compute`, or the recorded one. It must be plain JSON. */
  value<T>(name: string, compute: () => T): T;
  /** Replaces the sandbox that `open` creates. A replay never calls `open`. */
  sandbox(open: () => Sandbox): Sandbox;
  through(parts: RunParts): RunParts;
}
