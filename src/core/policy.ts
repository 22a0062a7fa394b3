/**
 * policy.ts -- whether a command runs now, needs approval, or is denied.
 *
 * The policy judges by facts only: the command's annotations, the agent's settings, approvals that a
 * person granted ahead, whether the agent has read text from outside (taint), and what the call would then send out (leaving.ts).
 */
import { type AskedFile, listAsked, type WrittenArgs } from "./asked-files.ts";
import type { Annotations, CommandCall } from "./call.ts";
import { describeReceived } from "./describe-sources.ts";
import { runsUnapproved } from "./goal-check.ts";
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

/** The properties of a command that the policy reads. */
export interface JudgedCommand {
  readonly annotations: Annotations;
  readonly writes?: WrittenArgs;
  readonly destroys?: string;
  /** A step of a command that was judged. */
  readonly isInternal?: boolean;
  /** Why a call is risky, as a sentence. Default: what its annotations say. */
  readonly risk?: string;
}

/** `command` is undefined when it does not exist (any more); the call is denied. `leaving`: what it would send out. */
export function judge(
  call: CommandCall,
  command: JudgedCommand | undefined,
  state: AgentState,
  leaving?: Leaving,
): Verdict {
  if (!command) return { kind: "deny", reason: `The command ${call.name} is not available here.` };
  if (command.isInternal) return judgeStep(call, command, state);
  const { writes, destroys } = command;
  const isForGood = destroys !== undefined && call.args[destroys] === true;
  const facts = isForGood ? { ...command.annotations, destructive: true, restorable: false } : command.annotations;
  const { approve } = state.settings;
  if (approve === "never" && leaving) return { kind: "deny", reason: refuseLeaving(leaving) };
  // An approval given ahead, or a start without approvals, does not cover such a file.
  const asked = listAsked(call.args, writes);
  if (asked.length > 0) return judgeAsked(asked, state, leaving);
  if (approve === "never" || (approve === "risky" && !isRisky(facts) && !leaving))
    return { kind: "allow", by: "policy" };
  // A person who approved ahead did not know what the agent would read meanwhile.
  const isUnforeseen = leaving !== undefined || (isTainted(state) && isRisky(facts));
  if (state.grantedApprovals > 0 && !isUnforeseen) return { kind: "allow", by: "earlier-approval" };
  const why = approve === "always" ? "Every command needs your approval." : (command.risk ?? riskOf(facts));
  return ask(leaving ? describeLeaving(leaving) : why, state, leaving);
}

/** A step of a command runs, but code of checks that nobody has approved asks where other code asks. */
function judgeStep(call: CommandCall, { risk }: JudgedCommand, state: AgentState): Verdict {
  const { approve } = state.settings;
  if (risk === undefined || approve === "never" || !runsUnapproved(call, state)) return { kind: "allow", by: "policy" };
  if (state.grantedApprovals > 0 && !isTainted(state)) return { kind: "allow", by: "earlier-approval" };
  return ask(`${risk} It is the code of checks from an agent file.`, state, undefined);
}

const riskOf = (facts: Annotations): string =>
  facts.openWorld ? "It reaches outside the workspace." : "It destroys what cannot be restored.";

/** Adds whose words the agent has read, which a person must know before answering. */
function ask(why: string, state: AgentState, leaves: Leaving | undefined): Verdict {
  if (!isTainted(state)) return { kind: "ask", reason: why };
  const read = leaves ? "The text from outside came from" : "The agent has read text from outside:";
  return { kind: "ask", reason: `${why} ${read} ${describeReceived(state.received)}.` };
}

function judgeAsked(asked: readonly AskedFile[], state: AgentState, leaves?: Leaving): Verdict {
  const files = asked.map(({ path, says }) => `${JSON.stringify(oneLine(path, 120))}: ${says}.`).join(" ");
  const reason = `${leaves ? `${describeLeaving(leaves)} ` : ""}Others would run or obey it. ${files}`;
  if (state.settings.approve !== "never") return ask(reason, state, leaves);
  return {
    kind: "deny",
    reason: `${reason} Nobody can be asked, because this agent runs without approvals. Go on without that file, or give it another name for a person to look at.`,
  };
}
