/** described-agent.ts -- an agent as a person describes it: name, role, goals, and the checks that prove them. */
import type { GoalCheck } from "#core/goal-check.ts";
import type { AgentSpec } from "#core/ports/agent.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import type { AgentState } from "#core/state.ts";
import type { Redact } from "#util/redact.ts";

export type DescribedAgent = Pick<AgentSpec, "name" | "role" | "goals" | "checks">;

/** The log of a recorded agent must contain the same redacted texts as its recording. */
export const redactIf = (isRecorded: boolean, { name, ...texts }: DescribedAgent, redact: Redact): DescribedAgent => ({
  name,
  ...(isRecorded ? JSON.parse(redact(JSON.stringify(texts))) : texts),
});

/** `check` trims, and throws GOALD_USAGE. */
export function goalsMessage(
  { name, role }: Pick<AgentState, "name" | "role">,
  { goals, checks = [] }: { readonly goals: readonly string[]; readonly checks?: readonly GoalCheck[] | undefined },
  check: (agent: DescribedAgent) => DescribedAgent,
): InboxMessage {
  const valid = check({ name, role, goals, checks });
  return { type: "goals", goals: valid.goals, ...(valid.checks ? { checks: valid.checks } : {}) };
}
