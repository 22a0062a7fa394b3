/** work.ts -- a prepared move: an intent to write first, and an action to do then. */
import type { Outcome } from "./journal.ts";

export interface Work {
  /** Durable before `act` begins; null when `act` has no effect outside. */
  readonly intent: Outcome | null;
  act(): Promise<Outcome>;
}

/** Work for a move that needs nothing from outside. */
export const effectless = (outcome: Outcome): Work => ({ intent: null, act: async () => outcome });
