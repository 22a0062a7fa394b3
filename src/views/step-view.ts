/** step-view.ts -- what happened in a step, from its events: request, reply, command, approval, result, files. */
import type { Annotations, Effect, Observation } from "#core/call.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
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
import { subjectOf } from "./agent-view.ts";
import { isByPerson } from "./file-versions.ts";
import { addKnown, listNested, NestedTree, NestedView } from "./nested.ts";
import { Call, EventView, FileVersionView, UsageView } from "./parts.ts";
import { planChangeOf, planMembers, proofsOf } from "./plan-view.ts";
import { allEvents, findBefore, foldLog, stateOf } from "./read-agent.ts";

export type AskedEvent = EventOf<"model-asked"> & Pick<RecordedEvent, "at" | "seq">;

interface Gathered {
  callId: string | undefined;
  asked: AskedEvent | undefined;
  before: AgentState;
  view: { -readonly [K in keyof StepView]: StepView[K] };
}

/**
 * `events`: the log from an event before the step. `state`: the state before them. Undefined when they have no such step.
 * The files of the step are left out. `asked`: the last request of the step; `before`: the state before it; `end`: the number
 * of the last event before the agent's next request.
 */
export async function findStep(events: AsyncIterable<RecordedEvent>, step: number, start: AgentState) {
  const work = new NestedTree(step);
  const { steps, end } = await gatherSteps(events, { first: step, last: step }, start, work);
  const [found] = steps;
  if (!found?.asked) return undefined;
  const { asked, before, view } = found;
  return { asked, before, end, view: { ...view, nested: listNested(work.roots) } };
}

/** Types of the events that a timeline shows between its steps. */
const NOTES = ["message-received", "agent-paused", "agent-resumed", "turn-started", "turn-finished"];

/** The steps of this range that have a request. `work` receives the events from the first request on. */
async function gatherSteps(
  events: AsyncIterable<RecordedEvent>,
  { first, last }: { readonly first: number; readonly last: number },
  start: AgentState,
  work?: NestedTree,
) {
  const steps = new Map<number, Gathered>();
  const notes: RecordedEvent[] = [];
  let state = start;
  let end = 0;
  for await (const event of events) {
    // A sub-task takes steps of its own before its command ends.
    if (event.type === "model-asked" && event.step > last && event.frame === 0) break;
    if ("step" in event && event.step >= first && event.step <= last) {
      const gathered = steps.get(event.step) ?? emptyStep(event.step);
      steps.set(event.step, gathered);
      gather(gathered, event, state);
    }
    if (steps.size > 0) work?.add(event);
    if ((steps.size > 0 || first === 1) && event.frame === 0 && NOTES.includes(event.type)) notes.push(event);
    state = evolve(state, event);
    end = event.seq;
  }
  return { steps: [...steps.values()].filter(({ asked }) => asked), notes, end };
}

const emptyStep = (step: number): Gathered => ({
  callId: undefined,
  asked: undefined,
  before: initialState,
  view: {
    step,
    turn: 1,
    startedAt: "",
    endedAt: "",
    goals: [],
    attempts: [],
    recallIds: [],
    reply: null,
    problems: [],
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
    approval: { asked: null, verdict: null, by: null, reason: null },
  },
});

type OfStep = Extract<RecordedEvent, { readonly step: number }>;

/** `before`: the state without the event. */
function gather(found: Gathered, event: OfStep, before: AgentState): void {
  const { view } = found;
  view.endedAt = event.at;
  const change = planChangeOf(event, before);
  if (change) view.planChanges = [...view.planChanges, change];
  view.checks = [...view.checks, ...proofsOf(event)];
  if (event.type === "model-asked") gatherRequest(found, event, before);
  else if (event.type === "model-failed" || event.type === "model-replied" || event.type === "reply-rejected")
    gatherReply(view, event);
  else if (!isOtherCall(found, event)) gatherCommand(view, event);
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
  const { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd = null } = event;
  const asked = { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd, failure: null };
  view.attempts = [...view.attempts, asked];
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

const stamp = { at: time, seq: ordinal };

const Attempt = open({
  ...stamp,
  attempt: ordinal,
  model: text,
  mode: oneOf("json_schema", "json_object", "plain", "tools", "plan", "react", "code"),
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
  usage: UsageView,
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

const Status = oneOf("ok", "failed", "denied", "cancelled", "unknown");
const Result = open({
  ...stamp,
  status: Status,
  code: nullable(text),
  source: typed<Observation["source"]>(text),
  artifacts: described(listOf(text), "Workspace paths that the call created or changed."),
  text: LongText,
  durationMs: count,
  reconciled: described(flag, "A crash interrupted the call, and its effect was found done."),
});

const Spent = open({ usage: UsageView, costUsd: nullable(amount), modelCalls: ordinal });

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
  ...planMembers,
  nested: described(NestedView, "What happened inside the calls of the step."),
  files: listOf(FileVersionView),
};
const StepView = open(stepMembers);
export type StepView = Static<typeof StepView>;

const StepSummary = open({
  step: ordinal,
  turn: ordinal,
  startedAt: time,
  endedAt: described(time, "Time of the last event of the step."),
  command: described(nullable(text), "Name of the command; null when the reply had none."),
  subject: described(text, "The first text among its arguments, in one line; empty for none."),
  thought: text,
  status: described(nullable(Status), "Status of the result; null until there is one."),
  attempts: described(ordinal, "Requests to the model."),
  tokens: described(count, "In and out, of the reply and of what the command asked a model."),
  costUsd: described(nullable(amount), "Of these tokens; null when a price is unknown."),
  approval: described(nullable(oneOf("approved", "denied")), "What a person answered; null when nobody did."),
  interruptions: described(count, "Crashes during the call."),
  files: described(listOf(text), "Paths that the step changed."),
});
type StepSummary = Static<typeof StepSummary>;

export const StepPage = open({
  agent: text,
  steps: listOf(StepSummary),
  notes: described(listOf(EventView), "Messages, pauses and turns from the first of these steps to the next ones."),
  last: described(count, "Number of the last step of the agent, listed or not."),
});
export type StepPage = Static<typeof StepPage>;

/** At most `limit` steps after `after`, oldest first; without it, the last ones. */
export async function listSteps(
  row: AgentRow,
  { after, limit }: { readonly after?: number; readonly limit: number },
  reader: Pick<StoreReader, "read" | "load" | "files">,
): Promise<StepPage> {
  const { step: last } = await stateOf(reader, row);
  const first = (after ?? Math.max(0, last - limit)) + 1;
  const start = await findBefore(first, row, reader);
  const { state } = await foldLog(reader, row, start);
  const range = { first, last: first + limit - 1 };
  const { steps, notes, end } = await gatherSteps(allEvents(reader, row.id, start), range, state);
  const own = (await reader.files(row.id, start, end)).filter((version) => !isByPerson(version));
  const files = Map.groupBy(own, ({ step }) => step);
  return { agent: row.id, steps: steps.map((step) => summaryOf(step, files)), notes, last };
}

function summaryOf({ view }: Gathered, files: ReadonlyMap<number, readonly FileVersion[]>): StepSummary {
  const { step, turn, startedAt, endedAt, command, thought, result, approval, attempts, reply, spent } = view;
  const parts = [reply, spent].filter((part) => part !== null);
  return {
    step,
    turn,
    startedAt,
    endedAt,
    thought,
    attempts: attempts.length,
    command: command?.name ?? null,
    subject: command ? subjectOf(command) : "",
    status: result?.status ?? (approval.verdict === "denied" ? "denied" : null),
    tokens: parts.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0),
    costUsd: addKnown(parts.map(({ costUsd }) => costUsd)),
    approval: approval.by === "person" ? approval.verdict : null,
    interruptions: view.interruptions,
    files: [...new Set(files.get(step)?.map(({ path }) => path))],
  };
}
