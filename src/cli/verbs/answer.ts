/**
 * answer.ts -- `goald approve` and `goald deny`: a yes or a no to the command that an agent waits with, from anywhere.
 *
 * What is answered is the command that is shown, and no other: the answer names its call.
 */

import type { ApprovalAnswer } from "#api/control.ts";
import { describeCall } from "#cli/terminal/show-run.ts";
import { GoaldError } from "#core/errors.ts";
import { activeFrame, openCommand } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { formatCall, type GlobalOptions } from "../shared/context.ts";
import { isAwaitingApproval } from "../shared/result.ts";
import { steering, tellDone, viewNow, viewWhenHeard } from "../shared/steering.ts";

export const approveVerb = (name: string, options: GlobalOptions & { readonly count?: number }): Promise<number> =>
  answer(name, options, { verdict: "approved", count: options.count ?? 1 });

export async function denyVerb(
  name: string,
  words: readonly string[],
  options: GlobalOptions & { readonly reason?: string },
): Promise<number> {
  if (words.length > 0 && options.reason !== undefined)
    throw new GoaldError("GOALD_USAGE", "The reason was given twice: as words, and by --reason.", {
      hint: "Leave one of the two out.",
    });
  const text = clean(options.reason ?? words.join(" ")).trim();
  if (text.length > MAX_CHARS)
    throw new GoaldError("GOALD_USAGE", `Expected a reason of up to ${MAX_CHARS} characters, got ${text.length}.`);
  return answer(name, options, { verdict: "denied", ...(text === "" ? {} : { text }) });
}

const MAX_CHARS = 10_000;

async function answer(name: string, options: GlobalOptions, given: Omit<ApprovalAnswer, "callId">): Promise<number> {
  return steering(name, options, async ({ row, state, context, reach }) => {
    const { phase } = activeFrame(state);
    const open = phase.kind === "awaiting-approval" && openCommand(state, phase.callId);
    if (!open) {
      const { state: standing, step } = await viewNow(context, row);
      throw new GoaldError(
        "GOALD_CONFLICT",
        `${row.id} has no command that waits for a yes: it is ${standing}, at step ${step}.`,
        {
          hint: `What it does: ${formatCall(context.home, "show", row.id)}`,
        },
      );
    }
    const client = await reach();
    const text = given.text === undefined ? {} : { text: context.scrub(given.text) };
    const { agent: told } = await client.answer(row.id, { ...given, ...text, callId: phase.callId });
    const many = given.count !== undefined && given.count > 1 ? `, and the next ${given.count - 1} without asking` : "";
    const verdict = given.verdict === "approved" ? "Approved" : "Denied";
    const agent = isAwaitingApproval(state) ? await viewWhenHeard(client, told) : told;
    // One of a terminal hears it where somebody runs it.
    const isHeard = agent.state !== "waiting: approval" || agent.changedAt !== told.changedAt;
    const goesOn = told.background ? isAwaitingApproval(state) : isHeard;
    const later = goesOn ? "" : ` It does not run: ${formatCall(context.home, "resume", row.id)}.`;
    const note = `${verdict}${many}: ${describeCall(open.call)}.${later}`;
    return tellDone({ agent, note }, context, { call: open.call });
  });
}
