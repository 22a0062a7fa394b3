/**
 * policy.ts -- whether a command runs now, needs approval, or is denied.
 *
 * The policy judges by facts only: the command's annotations, the agent's settings, approvals that a
 * person granted ahead, whether the agent has read text from outside (taint), and what the call would then send out (leaving.ts).
 */
import type { Annotations, CommandCall } from "./call.ts";
import { describeLeaving, type Leaving, refuseLeaving } from "./leaving.ts";
import { isTainted } from "./provenance.ts";
import type { AgentState } from "./state.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly by: "policy" | "earlier-approval" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string };

/** True when the command reaches outside, or destroys data that goald's history cannot restore. */
export const isRisky = (facts: Annotations): boolean =>
  !facts.readOnly && (facts.openWorld || (facts.destructive && facts.restorable !== true));

/** `facts` is undefined for a command that does not exist (any more); it is denied. */
export function judge(
  { call, leaving }: { readonly call: CommandCall; readonly leaving?: Leaving },
  facts: Annotations | undefined,
  state: AgentState,
): Verdict {
  if (!facts) return { kind: "deny", reason: `The command ${call.name} is not available here.` };
  const { approve } = state.settings;
  const leaves = leaving?.isWithin ? undefined : leaving;
  // Nobody is asked in this mode.
  if (approve === "never" && leaves?.carries)
    return { kind: "deny", reason: refuseLeaving({ ...leaves, carries: leaves.carries }) };
  if (approve === "never" || (approve === "risky" && !isRisky(facts) && !leaves))
    return { kind: "allow", by: "policy" };
  // A person who approved ahead did not know what the agent would read meanwhile.
  const isUnforeseen = leaves !== undefined || (isTainted(state) && isRisky(facts));
  if (state.grantedApprovals > 0 && !isUnforeseen) return { kind: "allow", by: "earlier-approval" };
  if (leaves) return { kind: "ask", reason: describeLeaving(leaves) };
  return { kind: "ask", reason: approve === "always" ? "Every command needs your approval." : riskOf(facts, state) };
}

function riskOf(facts: Annotations, state: AgentState): string {
  const act = facts.openWorld ? "It reaches outside the workspace" : "It destroys what cannot be restored";
  return isTainted(state) ? `${act}, and the agent has read text from outside.` : `${act}.`;
}
