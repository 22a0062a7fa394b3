/** place.ts -- where in an agent's life something happens: of which step, in which attempt. */
import type { Move } from "#core/decide.ts";
import type { AgentState } from "#core/state.ts";
import type { Outcome } from "#loop/journal.ts";

export interface Place {
  readonly step: number;
  readonly attempt: number;
}

export function placeOf(move: Move, state: AgentState): Place {
  const { step = state.step, attempt = 1 } = move as Partial<Place>;
  return { step, attempt };
}

/** Whether the command that is about to run says that it reaches the world outside the agent's folder. */
export const isOutside = (intent: Outcome | null): boolean =>
  intent?.events.some((event) => event.type === "command-started" && event.annotations.openWorld) === true;

/** Counts what happens at a place, from 1. */
export function createOrdinals(): (place: Place) => number {
  const counts = new Map<number, number>();
  let current = 0;
  return ({ step, attempt }) => {
    if (step !== current) counts.clear();
    current = step;
    const count = (counts.get(attempt) ?? 0) + 1;
    counts.set(attempt, count);
    return count;
  };
}
