/** work.ts -- a move made ready: what to write first, and what to do then. */
import type { Outcome } from "./journal.ts";

export interface Work {
  /** Durable before `act` begins; null when `act` has no effect outside. */
  readonly intent: Outcome | null;
  act(): Promise<Outcome>;
}

/** What came of a move that needs nothing from outside. */
export const effectless = (outcome: Outcome): Work => ({ intent: null, act: async () => outcome });
