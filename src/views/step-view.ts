import type { EventOf, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { FileVersion } from "#core/ports/store.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { listNested } from "./nested-rows.ts";
import { NestedWork } from "./nested-work.ts";
import { planChangeOf, proofsOf } from "./plan-changes.ts";
import type { Attempt, StepView } from "./step-schema.ts";

type AskedEvent = EventOf<"model-asked"> & Pick<RecordedEvent, "at" | "seq">;

interface Gathered {
  /** The call that the model asked for. */
  callId: string | undefined;
  asked: AskedEvent | undefined;
  before: AgentState;
  readonly work: NestedWork;
  view: { -readonly [K in keyof StepView]: StepView[K] };
}

interface FoundStep {
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
  const found: Gathered = {
    ...{ callId: undefined, asked: undefined, before: initialState },
    ...{ work: new NestedWork(step), view: emptyView(step) },
  };
  for await (const event of events) {
    // A sub-task takes steps of its own before its command ends.
    if (event.type === "model-asked" && event.step > step && event.frame === 0) break;
    if ("step" in event && event.step === step) gather(found, event, state);
    if (found.asked) found.work.add(event);
    state = evolve(state, event);
  }
  const { asked, before, view, work } = found;
  const nested = listNested(work.roots);
  return asked && { asked, before, view: { ...view, nested, files: files.filter((file) => file.step === step) } };
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
    planChanges: [],
    checks: [],
    nested: listNested([]),
    files: [],
  },
  approval: { asked: null, verdict: null, by: null, reason: null },
});

type OfStep = Extract<RecordedEvent, { readonly step: number }>;

/** `before`: the state without the event. */
function gather(found: Gathered, event: OfStep, before: AgentState): void {
  found.view.endedAt = event.at;
  gatherPlan(found.view, event, before);
  if (event.type === "model-asked") gatherRequest(found, event, before);
  else if (event.type === "model-failed" || event.type === "model-replied" || event.type === "reply-rejected")
    gatherReply(found.view, event);
  else if (!isOtherCall(found, event)) gatherCommand(found.view, event);
}

function gatherPlan(view: Gathered["view"], event: OfStep, before: AgentState): void {
  const change = planChangeOf(event, before);
  if (change) view.planChanges = [...view.planChanges, change];
  view.checks = [...view.checks, ...proofsOf(event)];
}

/** The first call of a step is shown in full. The others, further calls of the reply or made by a command, are `nested`. */
function isOtherCall(found: Gathered, event: OfStep): boolean {
  if (!("callId" in event)) return false;
  if (event.type === "command-requested") found.callId ??= event.callId;
  return event.callId !== found.callId;
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
