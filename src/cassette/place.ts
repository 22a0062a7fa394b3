/** place.ts -- the step and attempt in which something happens during a run. */
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

/** Whether the command that is about to run has effects outside the agent's folder. */
export const isOutside = (intent: Outcome | null): boolean =>
  intent?.events.some((event) => event.type === "command-started" && event.annotations.openWorld) === true;

/** Returns a function that counts events per attempt of the current step, from 1. */
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
