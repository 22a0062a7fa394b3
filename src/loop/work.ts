/** work.ts -- a prepared move: an intent to write first, and an action to do then. */
import type { NewEvent } from "#core/event.ts";
import type { Outcome } from "./journal.ts";

export interface Work {
  /** Durable before `act` begins; null when `act` has no effect outside. */
  readonly intent: Outcome | null;
  /** Resolves to null when nested work stopped before its end: the call stays open. */
  act(enter: Enter): Promise<Outcome | null>;
}

/**
 * Records the events that push a frame (none when the frame is there already) and runs the loop until it is popped.
 * Resolves to false when the loop stopped before.
 */
export type Enter = (push: readonly NewEvent[]) => Promise<boolean>;

/** Work for a move that needs nothing from outside. */
export const effectless = (outcome: Outcome): Work => ({ intent: null, act: async () => outcome });
