/** approve.ts -- `goald approve` and `goald deny`: runs or rejects the pending command of an agent. */
import type { ApprovalAnswer } from "#api/schemas.ts";
import { describeApproval, describeCall, styleOfDiff } from "#cli/terminal/describe-call.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { callIdOfStep } from "#core/call.ts";
import { conflict, EXIT, type GoaldError } from "#core/errors.ts";
import { approvalOf, isAwaitingApproval, questionOf } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { nameCall } from "#views/next-step.ts";
import { loadQuestion } from "../agents.ts";
import { type CliContext, formatCall } from "../context.ts";
import {
  CALL_OPTIONS,
  defineVerb,
  flag,
  HOST_CODES,
  NO_AGENT,
  ONLY_AGENT,
  type OptionValues,
  text,
  usageError,
  value,
  wholeNumber,
} from "../verb.ts";
import { type Steered, tellDone, viewNow, viewWhenHeard, withAgent } from "../with-agent.ts";

const CODES = { ...NO_AGENT, ...HOST_CODES, conflict: "no command is pending, or another one" };

export const APPROVE = defineVerb({
  description:
    "run the command that an agent asks approval for; on a terminal, show it and ask first. A script names the command that it means by --step or --call, because another may wait by then",
  examples: ["goald approve chef", "goald approve chef --step 12", "goald approve chef -N 5"],
  arguments: [ONLY_AGENT],
  options: {
    ...CALL_OPTIONS,
    count: {
      ...value(
        "-N, --count <count>",
        "approve this many commands in all, the next ones unseen, until the turn ends, the agent stops or hears from you",
        wholeNumber("a whole number from 1 to 1000", 1, 1_000),
      ),
      default: 1,
    },
    yes: flag("-y, --yes", "do not show the command and ask first on a terminal"),
  },
  exitCodes: { ...CODES, interrupted: "you left the question" },
  run: ([agent], { count = 1, ...options }) => answer(agent, options, { verdict: "approved", count }),
});

export const DENY = defineVerb({
  examples: ["goald deny chef", "goald deny chef --step 12", 'goald deny chef --reason "Use the file that is there"'],
  arguments: [ONLY_AGENT, { name: "[words...]", about: "the reason, or what to do instead" }],
  options: { ...CALL_OPTIONS, reason: text("--reason <words>", "give the agent the reason, or what to do instead") },
  exitCodes: CODES,
  run: async ([agent, ...words], { reason, ...options }) => {
    if (words.length > 0 && reason !== undefined)
      throw usageError("The reason was given twice: as words, and by --reason.", "Leave one of the two out.");
    const text = clean(reason ?? words.join(" ")).trim();
    if (text.length > MAX_CHARS)
      throw usageError(`Expected a reason of up to ${MAX_CHARS} characters, got ${text.length}.`);
    return answer(agent, options, { verdict: "denied", ...(text === "" ? {} : { text }) });
  },
});

const MAX_CHARS = 10_000;

type AnswerOptions = OptionValues<typeof CALL_OPTIONS> & { readonly yes?: boolean };

/** Undefined: the only agent that waits. */
type Name = string | undefined;
type Approval = NonNullable<ReturnType<typeof approvalOf>>;

/**
 * The answer names the call that this process has read, so that it never approves another one: the host refuses it when
 * another call waits by then.
 */
async function answer(name: Name, options: AnswerOptions, given: Omit<ApprovalAnswer, "callId">): Promise<number> {
  const give = async ({ row, state, context, reach }: Steered): Promise<number> => {
    const open = approvalOf(state);
    if (!open) throw await nothingPending({ row, state }, context);
    const wanted = wantedCall(options);
    if (wanted !== undefined && wanted !== open.callId) throw anotherPending(wanted, open, { row, context, ...given });
    const { count = 1 } = given;
    if (given.verdict === "approved" && context.output.interactive && !options.yes) {
      const isSure = await askAboutCommand({ ...open, agent: row.id }, count, context);
      if (isSure === undefined) return EXIT.interrupted;
      if (!isSure) {
        context.output.say(`Not approved. ${row.id} still waits. Deny it: ${formatCall(context.home, "deny", row.id)}`);
        return EXIT.ok;
      }
    }
    const client = await reach();
    const text = given.text === undefined ? {} : { text: context.scrub(given.text) };
    const { agent: told } = await client.answer(row.id, { ...given, ...text, callId: open.callId });
    const many = count > 1 ? `, and the next ${count - 1} of this turn without asking` : "";
    const verdict = given.verdict === "approved" ? "Approved" : "Denied";
    const agent = isAwaitingApproval(state) ? await viewWhenHeard(client, told) : told;
    // A terminal's agent reads the answer only while its terminal runs it.
    const isHeard = agent.state !== "waiting: approval" || agent.changedAt !== told.changedAt;
    const goesOn = told.background ? isAwaitingApproval(state) : isHeard;
    const later = goesOn ? "" : ` It is not running. Continue it: ${formatCall(context.home, "resume", row.id)}.`;
    const note = `${verdict}${many}: ${oneLine(describeCall(open.call), 120)}.${later}`;
    return tellDone({ agent, note }, context, { call: open.call });
  };
  return withAgent(name, options, give, { fits: ({ state }) => state === "waiting: approval" });
}

/** Throws GOALD_USAGE when both options are given. */
function wantedCall({ step, call }: AnswerOptions): string | undefined {
  if (step !== undefined && call !== undefined)
    throw usageError("The command was named twice: by --step and by --call.", "Leave one of the two out.");
  return step === undefined ? call : callIdOfStep(step);
}

function anotherPending(
  wanted: string,
  open: Approval,
  { row, context: { redact, home }, verdict }: Pick<Steered, "row" | "context"> & Pick<ApprovalAnswer, "verdict">,
): GoaldError {
  const verb = verdict === "approved" ? "approve" : "deny";
  const call = oneLine(redact(clean(describeCall(open.call))), 300);
  return conflict(
    `${row.id} does not wait for ${wanted} now, but for ${open.callId}: ${call}`,
    `See it: ${formatCall(home, "show", row.id)}, then: ${formatCall(home, verb, row.id, ...nameCall(open).split(" "))}`,
  );
}

/** Shows the pending command and asks for the approval. Resolves to undefined when the person leaves. */
async function askAboutCommand(
  open: Approval & { readonly agent: string },
  count: number,
  context: CliContext,
): Promise<boolean | undefined> {
  const { output, scrub } = context;
  const waiting = await loadQuestion(context, open.agent, open.callId);
  const whole = formatCall(context.home, "show", open.agent);
  const lines = waiting ? describeApproval(waiting, whole) : [describeCall(open.call), open.reason];
  output.page(scrub(clean(lines.join("\n  "))), { styleOf: styleOfDiff, isExact: () => true });
  const more = count > 1 ? ` and the next ${count - 1} of this turn unseen` : "";
  return askYesNo(output, {
    question: `Approve it${more}?`,
    default: false,
    help: "  y  run the command\n  n  leave the agent waiting; goald deny rejects the command",
  });
}

async function nothingPending(
  { row, state }: Pick<Steered, "row" | "state">,
  context: CliContext,
): Promise<GoaldError> {
  const call = (...words: readonly string[]): string => formatCall(context.home, ...words);
  const question = questionOf(state);
  if (question !== undefined)
    return conflict(
      `${row.id} is waiting for an answer, not an approval: ${JSON.stringify(oneLine(context.redact(clean(question)), 200))}`,
      `Answer with: ${call("say", row.id, '"…"')}`,
    );
  const view = await viewNow(context, row);
  return conflict(
    `${row.id} has no pending command: it is ${view.state} (step ${view.step}).`,
    `See what it does: ${call("show", row.id)}`,
  );
}
