/**
 * policy.ts -- whether a command may run now, must be asked about, or may not run.
 *
 * Judged from facts only: the command's annotations, the agent's settings, what a
 * person has granted, and whether text from outside has been read (taint). The command itself has no say.
 */
import type { Annotations, CommandCall } from "./call.ts";
import type { AgentState } from "./state.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly by: "policy" | "earlier-approval" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string };

/** Reaches outside, or destroys what goald's own history cannot bring back. */
export const isRisky = (facts: Annotations): boolean =>
  !facts.readOnly && (facts.openWorld || (facts.destructive && facts.restorable !== true));

/** `facts` is undefined for a command that is not there (any more): denied. */
export function judge(call: CommandCall, facts: Annotations | undefined, state: AgentState): Verdict {
  if (!facts) return { kind: "deny", reason: `The command ${call.name} is not available here.` };
  const { approve } = state.settings;
  if (approve === "never" || (approve === "risky" && !isRisky(facts))) return { kind: "allow", by: "policy" };
  // What was granted ahead was granted without knowing what the agent would read meanwhile.
  const isUnforeseen = state.tainted && isRisky(facts);
  if (state.grantedApprovals > 0 && !isUnforeseen) return { kind: "allow", by: "earlier-approval" };
  return { kind: "ask", reason: approve === "always" ? "Every command is asked about." : riskOf(facts, state) };
}

function riskOf(facts: Annotations, state: AgentState): string {
  const act = facts.openWorld ? "It reaches outside the workspace" : "It destroys what cannot be restored";
  return state.tainted ? `${act}, and the agent has read text from outside.` : `${act}.`;
}
