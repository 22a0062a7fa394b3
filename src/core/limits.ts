/** limits.ts -- what an agent may spend before it must stop and say so. Steps today; tokens, money and time join here. */
import type { AgentState } from "./state.ts";

export interface LimitReached {
  readonly code: "step-limit";
  readonly reason: string;
}

/** The limit that forbids another model call now, or undefined. */
export function limitReached(state: AgentState): LimitReached | undefined {
  const { stepLimit } = state.settings;
  if (stepLimit !== null && state.step >= stepLimit)
    return { code: "step-limit", reason: `The limit of ${stepLimit} steps is reached.` };
  return undefined;
}
