/**
 * step-view.ts -- one step in full: the request, the reply, the command and its result.
 *
 * Folds the log up to the next step. Keeps the state before the last request, from which the prompt was built. Long texts
 * are references until `openTexts` has read them.
 */
import type { Annotations, Effect, Observation } from "#core/call.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { type AgentState, initialState } from "#core/state.ts";
import type { Text } from "#core/text.ts";
import {
  amount,
  count,
  described,
  flag,
  listOf,
  nullable,
  oneOf,
  open,
  ordinal,
  type Static,
  text,
  time,
  typed,
} from "#util/schema.ts";
import { Call, FileVersionView, usageMembers } from "./parts.ts";

const stamp = { at: time, seq: ordinal };

const Attempt = open({
  ...stamp,
  attempt: ordinal,
  model: text,
  mode: oneOf("json_schema", "json_object", "plain", "tools"),
  requestHash: text,
  reservedTokens: count,
  reservedUsd: nullable(amount),
  failure: nullable(open({ code: text, message: text, retryAt: nullable(time) })),
});
export type Attempt = Static<typeof Attempt>;

/** A text of the log: a reference until `openTexts` has read it. */
const LongText = described(typed<Text>({}), "Text; an object only when the text is missing from the store.");

const Reply = open({
  ...stamp,
  text: LongText,
  finishReason: text,
  durationMs: count,
  usage: open(usageMembers),
  costUsd: nullable(amount),
});

const Approval = open({
  asked: described(nullable(text), "Why a person was asked; null when nobody was."),
  verdict: nullable(oneOf("approved", "denied")),
  by: nullable(text),
  reason: described(nullable(text), "With a denial."),
});

const Start = open({
  ...stamp,
  attempt: ordinal,
  effect: typed<Effect>(text),
  annotations: typed<Annotations>({ type: "object" }),
});

const Result = open({
  ...stamp,
  status: oneOf("ok", "failed", "denied", "cancelled", "unknown"),
  code: nullable(text),
  source: typed<Observation["source"]>(text),
  artifacts: described(listOf(text), "Workspace paths that the call created or changed."),
  text: LongText,
  durationMs: count,
  reconciled: described(flag, "A crash interrupted the call, and its effect was found done."),
});

const Spent = open({ usage: open(usageMembers), costUsd: nullable(amount), modelCalls: ordinal });

export const stepMembers = {
  step: ordinal,
  turn: ordinal,
  startedAt: time,
  endedAt: described(time, "Time of the last event of the step."),
  goals: listOf(text),
  attempts: listOf(Attempt),
  recallIds: listOf(text),
  reply: nullable(Reply),
  problems: described(listOf(text), "Why the reply could not be used; empty when it could."),
  command: described(nullable(Call), "As parsed and validated."),
  thought: text,
  repaired: described(flag, "The JSON had to be repaired."),
  approval: Approval,
  starts: listOf(Start),
  interruptions: count,
  result: nullable(Result),
  spent: described(nullable(Spent), "What the command spent on models; null for nothing."),
  files: listOf(FileVersionView),
};
const StepView = open(stepMembers);
export type StepView = Static<typeof StepView>;

type AskedEvent = EventOf<"model-asked"> & Pick<RecordedEvent, "at" | "seq">;

interface Gathered {
  asked: AskedEvent | undefined;
  before: AgentState;
  view: { -readonly [K in keyof StepView]: StepView[K] };
}

export interface FoundStep {
  readonly view: StepView;
  /** The last request of the step, and the state before it. */
  readonly asked: AskedEvent;
  readonly before: AgentState;
}

/** `events`: the log from its beginning. Undefined when the log has no such step. */
export async function findStep(
  events: AsyncIterable<RecordedEvent>,
  step: number,
  files: readonly FileVersion[],
): Promise<FoundStep | undefined> {
  let state = initialState;
  const found: Gathered = { asked: undefined, before: initialState, view: emptyView(step) };
  for await (const event of events) {
    if (event.type === "model-asked" && event.step > step) break;
    if ("step" in event && event.step === step) gather(found, event, state);
    state = evolve(state, event);
  }
  const { asked, before, view } = found;
  return asked && { asked, before, view: { ...view, files: files.filter((file) => file.step === step) } };
}

const emptyView = (step: number): Gathered["view"] => ({
  ...{ step, turn: 1, startedAt: "", endedAt: "", goals: [], attempts: [], recallIds: [], reply: null, problems: [] },
  ...{
    command: null,
    thought: "",
    repaired: false,
    starts: [],
    interruptions: 0,
    result: null,
    spent: null,
    files: [],
  },
  approval: { asked: null, verdict: null, by: null, reason: null },
});

type OfStep = Extract<RecordedEvent, { readonly step: number }>;

/** `before`: the state without the event. */
function gather(found: Gathered, event: OfStep, before: AgentState): void {
  found.view.endedAt = event.at;
  if (event.type === "model-asked") gatherRequest(found, event, before);
  else if (event.type === "model-failed" || event.type === "model-replied" || event.type === "reply-rejected")
    gatherReply(found.view, event);
  else gatherCommand(found.view, event);
}

function gatherRequest(found: Gathered, event: AskedEvent, before: AgentState): void {
  const { view } = found;
  found.asked = event;
  found.before = before;
  if (view.startedAt === "") view.startedAt = event.at;
  view.turn = before.turn;
  view.goals = before.goals;
  view.recallIds = event.recallIds;
  view.attempts = [...view.attempts, attemptOf(event)];
}

type ReplyEvent = Extract<OfStep, { readonly type: "model-failed" | "model-replied" | "reply-rejected" }>;

function gatherReply(view: Gathered["view"], event: ReplyEvent): void {
  if (event.type === "reply-rejected") {
    view.problems = event.problems;
  } else if (event.type === "model-replied") {
    const { at, seq, text, finishReason, usage, costUsd = null, durationMs } = event;
    view.reply = { at, seq, text, finishReason, usage, costUsd, durationMs };
  } else {
    const { code, message, retryAt } = event;
    const last = view.attempts.at(-1);
    if (last) view.attempts = [...view.attempts.slice(0, -1), { ...last, failure: { code, message, retryAt } }];
  }
}

function gatherCommand(view: Gathered["view"], event: OfStep): void {
  const { at, seq } = event;
  switch (event.type) {
    case "command-requested":
      view.command = event.call;
      view.thought = event.thought;
      view.repaired = event.repaired;
      break;
    case "approval-asked":
      view.approval = { ...view.approval, asked: event.reason };
      break;
    case "command-approved":
      view.approval = { ...view.approval, verdict: "approved", by: event.by };
      break;
    case "command-denied":
      view.approval = { ...view.approval, verdict: "denied", by: event.by, reason: event.reason };
      break;
    case "command-started": {
      const { attempt, effect, annotations } = event;
      view.starts = [...view.starts, { at, seq, attempt, effect, annotations }];
      break;
    }
    case "call-interrupted":
      view.interruptions += 1;
      break;
    case "command-waiting":
      view.spent = event.spent ?? view.spent;
      break;
    case "command-finished": {
      view.spent = event.spent ?? view.spent;
      const { status, text, source, artifacts, code = null } = event.observation;
      const { durationMs, reconciled = false } = event;
      view.result = { at, seq, status, code, source, artifacts, text, durationMs, reconciled };
      break;
    }
    default:
  }
}

function attemptOf(event: AskedEvent): Attempt {
  const { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd = null } = event;
  return { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd, failure: null };
}
