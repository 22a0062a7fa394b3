/**
 * policy.ts -- whether a command runs now, needs approval, or is denied.
 *
 * The policy judges by facts only: the command's annotations, the agent's settings, approvals that a
 * person granted ahead, whether the agent has read text from outside (taint), and what the call would then send out (leaving.ts).
 */
import type { ApprovalMode } from "./agent-settings.ts";
import { type AskedFile, listAsked, type WrittenArgs } from "./asked-files.ts";
import type { Annotations, CommandCall } from "./call.ts";
import { describeLeaving, type Leaving, refuseLeaving } from "./leaving.ts";
import { isTainted } from "./provenance.ts";
import type { AgentState } from "./state.ts";
import { oneLine } from "./text.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly by: "policy" | "earlier-approval" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string };

/** True when the command reaches outside, or destroys data that goald's history cannot restore. */
export const isRisky = (facts: Annotations): boolean =>
  !facts.readOnly && (facts.openWorld || (facts.destructive && facts.restorable !== true));

/** What the policy knows about a command. */
export interface JudgedCommand {
  readonly annotations: Annotations;
  readonly writes?: WrittenArgs;
}

/** `command` is undefined when it does not exist (any more); the call is denied. `leaving`: what it would send out. */
export function judge(
  call: CommandCall,
  command: JudgedCommand | undefined,
  state: AgentState,
  leaving?: Leaving,
): Verdict {
  if (!command) return { kind: "deny", reason: `The command ${call.name} is not available here.` };
  const { annotations: facts, writes } = command;
  const { approve } = state.settings;
  const leaves = leaving?.isWithin ? undefined : leaving;
  if (approve === "never" && leaves?.carries)
    return { kind: "deny", reason: refuseLeaving({ ...leaves, carries: leaves.carries }) };
  // Nobody who approved ahead, or started an agent without approvals, meant such a file.
  const asked = listAsked(call.args, writes);
  if (asked.length > 0) return judgeAsked(asked, approve, leaves);
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

function judgeAsked(asked: readonly AskedFile[], approve: ApprovalMode, leaves?: Leaving): Verdict {
  const reason = `${leaves ? `${describeLeaving(leaves)} ` : ""}Others would run or obey it. ${asked.map(({ path, says }) => `${JSON.stringify(oneLine(path, 120))}: ${says}.`).join(" ")}`;
  if (approve !== "never") return { kind: "ask", reason };
  return {
    kind: "deny",
    reason: `${reason} Nobody can be asked, because this agent runs without approvals. Go on without that file, or give it another name for a person to look at.`,
  };
}
