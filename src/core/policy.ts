/**
 * policy.ts -- whether a command runs now, needs approval, or is denied. The policy judges by facts only: the command's
 * annotations, the agent's settings, approvals that a person granted ahead, whether the agent has read text from
 * outside (taint), and what the call would then send out.
 */
import type { Annotations, CommandCall } from "./call.ts";
import type { Command } from "./command.ts";
import { runsUnapproved } from "./goal-check.ts";
import { type AskedFile, listAsked } from "./guarded-files.ts";
import { describeReceived } from "./provenance.ts";
import { type AgentState, isTainted } from "./state.ts";
import { oneLine } from "./text.ts";

export type Verdict =
  | { readonly kind: "allow"; readonly by: "policy" | "earlier-approval" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: string };

/** True when the command reaches outside, or destroys data that goald's history cannot restore. */
export const isRisky = (facts: Annotations): boolean =>
  !facts.readOnly && (facts.openWorld || (facts.destructive && facts.restorable !== true));

/** The properties of a command that the policy reads. */
export interface JudgedCommand extends Pick<Command, "annotations" | "writes" | "destroys" | "isInternal"> {
  /** Why a call is risky, as a sentence. Default: what its annotations say. */
  readonly risk?: string;
}

/** `command` is undefined when it does not exist (any more); the call is denied. `leaving`: what it would send out. */
export function judge(
  call: CommandCall,
  command: JudgedCommand | undefined,
  state: AgentState,
  leaving?: OutgoingText,
): Verdict {
  if (!command) return { kind: "deny", reason: `The command ${call.name} is not available here.` };
  if (command.isInternal) return judgeStep(call, command, state);
  const { writes, destroys } = command;
  const isForGood = destroys !== undefined && call.args[destroys] === true;
  const facts = isForGood ? { ...command.annotations, destructive: true, restorable: false } : command.annotations;
  const { approve } = state.settings;
  if (approve === "never" && leaving) return { kind: "deny", reason: refuseOutgoing(leaving) };
  // An approval given ahead, or a start without approvals, does not cover such a file.
  const asked = listAsked(call.args, writes);
  if (asked.length > 0) return judgeAsked(asked, state, leaving);
  if (approve === "never" || (approve === "risky" && !isRisky(facts) && !leaving))
    return { kind: "allow", by: "policy" };
  // A person who approved ahead did not know what the agent would read meanwhile.
  const isUnforeseen = leaving !== undefined || (isTainted(state) && isRisky(facts));
  if (state.grantedApprovals > 0 && !isUnforeseen) return { kind: "allow", by: "earlier-approval" };
  const why = approve === "always" ? APPROVES_ALL : (command.risk ?? riskOf(facts));
  return ask(leaving ? describeOutgoing(leaving) : why, state, leaving);
}

/** A step of a command runs, but code of checks that nobody has approved asks where other code asks. */
function judgeStep(call: CommandCall, { risk }: JudgedCommand, state: AgentState): Verdict {
  const { approve } = state.settings;
  if (risk === undefined || approve === "never" || !runsUnapproved(call, state)) return { kind: "allow", by: "policy" };
  if (state.grantedApprovals > 0 && !isTainted(state)) return { kind: "allow", by: "earlier-approval" };
  return ask(`${risk} It is the code of checks from an agent file.`, state, undefined);
}

/** Stands above each question with the policy `always`. */
export const APPROVES_ALL = "Every command needs your approval.";

const riskOf = (facts: Annotations): string =>
  facts.openWorld ? "It reaches outside the workspace." : "It destroys what cannot be restored.";

/** Adds whose words the agent has read, which a person must know before answering. */
function ask(why: string, state: AgentState, leaves: OutgoingText | undefined): Verdict {
  if (!isTainted(state)) return { kind: "ask", reason: why };
  const read = leaves ? "The text from outside came from" : "The agent has read text from outside:";
  return { kind: "ask", reason: `${why} ${read} ${describeReceived(state.received)}.` };
}

function judgeAsked(asked: readonly AskedFile[], state: AgentState, leaves?: OutgoingText): Verdict {
  const files = asked.map(({ path, says }) => `${JSON.stringify(oneLine(path, 120))}: ${says}.`).join(" ");
  const reason = `${leaves ? `${describeOutgoing(leaves)} ` : ""}Others would run or obey it. ${files}`;
  if (state.settings.approve !== "never") return ask(reason, state, leaves);
  return {
    kind: "deny",
    reason: `${reason} Nobody can be asked, because this agent runs without approvals. Go on without that file, or give it another name for a person to look at.`,
  };
}

/**
 * This text would leave beyond the rule of src/loop/egress.ts. The log has it with a call of an agent that received
 * outside words; it is absent when the call is within the rule.
 */
export interface OutgoingText {
  /** The host that the call names; else the command. */
  readonly to: string;
  /** An address that stands in nothing that the agent may follow, on one line. */
  readonly address?: string;
  /** Pages of the address's site in this turn, with this one, when they are more than MAX_SITE_PAGES. */
  readonly pages?: number;
  /** Characters of words that neither the web nor a person said, when they are more than MAX_OWN_CHARS. */
  readonly ownChars?: number;
  /** The same over all calls of the turn, when they are more than MAX_TURN_CHARS. */
  readonly turnChars?: number;
  /** A number, key or e-mail address that a file of the folder has. */
  readonly quotes?: { readonly file: string; readonly text: string };
}

/** Pages of one site in a turn beyond those that a person named: a choice among links says something, too. */
export const MAX_SITE_PAGES = 20;
/** An ordinary search query has fewer than 100 characters. */
export const MAX_OWN_CHARS = 100;
export const MAX_TURN_CHARS = 2_000;

/** The question to a person. */
const describeOutgoing = (leaving: OutgoingText): string =>
  `The agent has read text from outside, and ${listReasons(leaving)}.`;

/** The observation of a call that is refused because nobody is asked. */
const refuseOutgoing = (leaving: OutgoingText): string =>
  `It was not run, and nothing was sent: you have read text from outside, and ${listReasons(leaving)}. Nobody can be asked in this run. ` +
  `${leaving.address === undefined && leaving.pages === undefined ? ALLOWED_WORDS : ALLOWED_ADDRESSES} Or go on without it.`;

const ALLOWED_ADDRESSES =
  "You may open an address exactly as a page, a search answer or a person gave it, a folder above it, the first page of a host that a person named, " +
  `and any page of the public sources in the setting web.openHosts; at most ${MAX_SITE_PAGES} pages of one site in a turn. Search for the page to get its address.`;
const ALLOWED_WORDS =
  `A search or message may have up to ${MAX_OWN_CHARS} characters of words that neither the web nor a person said, ${MAX_TURN_CHARS} in a turn, ` +
  "and no number, key or e-mail address from the folder. Use fewer and more general words.";

/** Events of an older form have other fields, which name no reason. */
function listReasons({ to, address, pages, ownChars, turnChars, quotes }: OutgoingText): string {
  const reasons = [
    address && `the address ${address} stands in no page, search answer, setting or words of a person`,
    pages && `this would be page ${pages} of ${to} in this turn, and ${MAX_SITE_PAGES} may be opened unasked`,
    ownChars && `${ownChars} characters that neither the web nor a person said would go to ${to}`,
    turnChars && `with this call ${turnChars} such characters would have left in this turn`,
    quotes && `${JSON.stringify(quotes.text)} from the file ${JSON.stringify(quotes.file)} would go to ${to}`,
  ].filter((reason) => typeof reason === "string");
  return reasons.join("; ") || `the call would send something to ${to} that needs a person's yes`;
}
