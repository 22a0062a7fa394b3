/**
 * step-view.ts -- everything about one step: what was asked, what came back, what was run, what came of it.
 *
 * Gathered from the log, event by event, up to where the next step begins. The state before the last question is
 * kept: it is what the prompt was made from. Long texts are references until `openTexts` has read them.
 */

import type { CommandCall, Observation } from "#core/call.ts";
import type { EventOf, ModelSpending, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { isBlobRef, type Text } from "#core/text.ts";

type At = Pick<RecordedEvent, "at" | "seq">;
type Without<T, K extends PropertyKey> = Omit<T, K | "type" | "step" | "callId" | "v" | "frame">;

export interface Attempt extends Without<EventOf<"model-asked">, "recallIds" | "epoch">, At {
  readonly failure: Without<EventOf<"model-failed">, never> | null;
}

export interface StepView {
  readonly step: number;
  readonly turn: number;
  readonly startedAt: string;
  /** Of the last event that belongs to it. */
  readonly endedAt: string;
  readonly goals: readonly string[];
  readonly attempts: readonly Attempt[];
  readonly recallIds: readonly string[];
  readonly reply: (Without<EventOf<"model-replied">, "costUsd"> & At & { readonly costUsd: number | null }) | null;
  /** Why the reply could not be used; empty when it could. */
  readonly problems: readonly string[];
  /** As it was read and checked. */
  readonly command: CommandCall | null;
  readonly thought: string;
  /** The JSON had to be mended before it could be read. */
  readonly repaired: boolean;
  readonly approval: {
    /** Why a person was asked; null when nobody was. */
    readonly asked: string | null;
    readonly verdict: "approved" | "denied" | null;
    readonly by: string | null;
    /** With a denial. */
    readonly reason: string | null;
  };
  readonly starts: readonly (Pick<EventOf<"command-started">, "attempt" | "effect" | "annotations"> & At)[];
  readonly interruptions: number;
  readonly result:
    | (Pick<Observation, "status" | "source" | "artifacts" | "text"> &
        At & { readonly code: string | null; readonly durationMs: number; readonly reconciled: boolean })
    | null;
  /** By the command, on models of any kind; null for nothing. */
  readonly spent: ModelSpending | null;
  readonly files: readonly FileVersion[];
}

/** What a view is gathered in. */
interface Gathered {
  asked: (EventOf<"model-asked"> & At) | undefined;
  before: AgentState;
  view: { -readonly [K in keyof StepView]: StepView[K] };
}

export interface FoundStep {
  readonly view: StepView;
  /** The last question, with the state that it was made from. */
  readonly asked: EventOf<"model-asked"> & At;
  readonly before: AgentState;
}

/** `events`: the log from its beginning. Undefined when there is no such step. */
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
  const { view } = found;
  const { at, seq } = event;
  view.endedAt = at;
  switch (event.type) {
    case "model-asked":
      found.asked = event;
      found.before = before;
      if (view.startedAt === "") view.startedAt = at;
      view.turn = before.turn;
      view.goals = before.goals;
      view.recallIds = event.recallIds;
      view.attempts = [...view.attempts, attemptOf(event)];
      break;
    case "model-failed":
      view.attempts = view.attempts.map((attempt, index) =>
        index === view.attempts.length - 1
          ? { ...attempt, failure: { code: event.code, message: event.message, retryAt: event.retryAt } }
          : attempt,
      );
      break;
    case "model-replied": {
      const { text, finishReason, usage, costUsd = null, durationMs } = event;
      view.reply = { at, seq, text, finishReason, usage, costUsd, durationMs };
      break;
    }
    case "reply-rejected":
      view.problems = event.problems;
      break;
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

function attemptOf(event: EventOf<"model-asked"> & At): Attempt {
  const { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd = null } = event;
  return { at, seq, attempt, model, mode, requestHash, reservedTokens, reservedUsd, failure: null };
}

/** Every long text in a value, read in full. One that is not in the store stays a reference. */
export async function openTexts(value: unknown, store: Pick<StoreReader, "blob">): Promise<unknown> {
  if (isBlobRef(value)) {
    const bytes = await store.blob(value.blob);
    return bytes ? Buffer.from(bytes).toString("utf8") : value;
  }
  if (Array.isArray(value)) return Promise.all(value.map((item) => openTexts(item, store)));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([name, inner]) => [name, await openTexts(inner, store)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** For people: a reference that could not be opened says so. */
export const wholeText = (text: Text): string =>
  typeof text === "string" ? text : `${text.head}\n[… of ${text.bytes} bytes; the rest is not in the store]`;
