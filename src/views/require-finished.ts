/** require-finished.ts -- refuses the next turn of an agent that has not finished the present one. */
import { GoaldError } from "#core/errors.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { goOnCall } from "./next-step.ts";

/** Throws GOALD_CONFLICT, with what to do instead. */
export function requireFinished(agent: string, state: AgentState): void {
  if (isFinished(state)) return;
  const goals = `Change its goals: goald goals ${agent} --set "…", or tell it something: goald say ${agent} "…"`;
  throw new GoaldError(
    "GOALD_CONFLICT",
    `${agent} has not finished turn ${state.turn}, so its next turn cannot begin.`,
    {
      hint: state.paused ? `It is paused. Continue turn ${state.turn}: ${goOnCall(agent, state)}\n${goals}` : goals,
    },
  );
}
