/**
 * action-remarks.ts -- adds to the observation of an action what the dialog format asks of it: a search first, one action, one
 * call, values word for word, printed results.
 *
 * A remark never refuses an action, and an action that ends the work has none.
 */
import type { Observation } from "#core/call.ts";
import { CELL_FAILED, RUN_CODE } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import { describeRestored } from "#core/evolve.ts";
import { frameOwning } from "#core/frames.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { FoundMethod } from "#core/ports/memory.ts";
import { type Frame, type Message, openCommand } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { findUses, isInText, splitAction } from "#reply/split-action.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import type { CommandsFor } from "./command-set.ts";
import type { Journal } from "./journal.ts";

const SEARCH = "method_search";
/** About 600 steps. */
const MAX_EVENTS = 2_000;
const PAGE_EVENTS = 200;
const MAX_NAMED = 5;

type Log = Pick<Journal, "state" | "head" | "eventsAfter">;

interface RemarkParts {
  readonly commandsFor: CommandsFor;
  readonly clock: Pick<Clock, "now">;
}

/** The observation with the remarks on the action that it came from; any other observation unchanged. */
export async function remarkOnAction(
  result: Observation,
  callId: string,
  log: Log,
  parts: RemarkParts,
): Promise<Observation> {
  const { text, asksToEnd } = result;
  const action = asksToEnd || typeof text !== "string" ? undefined : findAction(callId, log);
  const remarks = action ? await listRemarks(action, result, log, parts) : [];
  if (remarks.length === 0) return result;
  return { ...result, text: [...(headOf(text).trim() === "" ? [] : [text, ""]), ...remarks].join("\n") };
}

interface Action {
  readonly callId: string;
  readonly frame: Frame;
  readonly message: Message;
}

/** The reply that asked for the call, when it is an action. */
function findAction(callId: string, { state }: Log): Action | undefined {
  const open = openCommand(state, callId);
  const frame = frameOwning(state, callId);
  if (!frame || open?.call.name !== RUN_CODE) return undefined;
  const message = frame.window.findLast(({ kind }) => kind === "reply");
  return message?.form === "react" && message.step === open.step ? { callId, frame, message } : undefined;
}

async function listRemarks(
  { callId, frame, message }: Action,
  { status, code, text }: Observation,
  log: Log,
  { commandsFor, clock }: RemarkParts,
): Promise<readonly string[]> {
  const { code: action, others } = splitAction(headOf(message.text), "react");
  if (action === null) return [];
  const functions = new Map(commandsFor(log.state).callable.allFunctions.map((each) => [each.name, each]));
  const { calls, values } = findUses(action, new Set(functions.keys()));
  const isFirst = !frame.window.some(({ kind }) => kind === "result");
  const shown = [clock.now().toISOString(), ...wordsShown(log, functions)];
  const unseen = await findUnseen(values, shown, log, `${callId}.`);
  return [
    ...(status === "ok" && headOf(text).trim() === "" ? [NOTHING_PRINTED] : []),
    ...(code === CELL_FAILED && !headOf(text).includes(SEARCH) ? [MEND_OR_SEARCH] : []),
    ...(others > 0 ? [describeOthers(others)] : []),
    ...(isFirst && log.state.foundMethods.length === 0 && !calls.includes(SEARCH) ? [NO_SEARCH] : []),
    ...(calls.length > 1 ? [describeCalls(calls)] : []),
    ...(unseen.length > 0 ? [describeUnseen(unseen)] : []),
  ];
}

const NOTHING_PRINTED = "Nothing was printed. Use print(name) to show a value in the observation.";
const MEND_OR_SEARCH = `Mend the action, or find another method with ${SEARCH}("…").`;
const NO_SEARCH = `Remark: the first action must be a search. Call ${SEARCH}("…") with a description of the first step, then use a method that it finds.`;
const describeOthers = (others: number): string =>
  `Remark: the reply had ${others + 1} actions, and only the first was run. Send one action; the next one can follow after its observation.`;
const describeCalls = (calls: readonly string[]): string =>
  `Remark: this action called ${calls.length} methods (${[...new Set(calls)].slice(0, MAX_NAMED).join(", ")}). Call one method in each action, and look at what it returns before the next.`;
const describeUnseen = (values: readonly string[]): string =>
  `Remark: ${values.slice(0, MAX_NAMED).join(", ")}: not found in the task or in an observation. Values must come from there word for word; search for a method that returns them.`;

/** The texts that the model was shown lately: the task, the messages, the methods that were found. */
function wordsShown({ state }: Log, functions: ReadonlyMap<string, FoundMethod>): readonly string[] {
  const found = state.foundMethods.flatMap((name) => functions.get(name) ?? []);
  return [
    state.role,
    ...state.goals,
    ...state.asked.map(({ text }) => headOf(text)),
    ...state.frames.flatMap(({ origin, window }) => [
      ...(origin ? [headOf(origin.task)] : []),
      ...window.filter(({ kind }) => kind !== "reply").map((message) => headOf(message.text)),
    ]),
    ...found.map(({ signature, doc }) => `${signature} ${doc}`),
  ];
}

/** Looks into the log only for what is in no message: an older observation may have had it. `own`: ids of the action's own calls. */
async function findUnseen(
  values: readonly string[],
  shown: readonly string[],
  log: Log,
  own: string,
): Promise<readonly string[]> {
  const isNotIn = (texts: readonly string[]) => (value: string) => !texts.some((text) => isInText(value, text));
  let unseen = values.filter(isNotIn(shown));
  if (unseen.length === 0) return [];
  const after = Math.max(0, log.head - MAX_EVENTS);
  for await (const events of readPages(log.eventsAfter, bySeq, { limit: PAGE_EVENTS, after })) {
    const others = events.filter((event) => !("callId" in event && event.callId.startsWith(own)));
    unseen = unseen.filter(isNotIn(others.flatMap(textsOf)));
    if (unseen.length === 0) break;
  }
  return unseen;
}

function textsOf(event: RecordedEvent): readonly string[] {
  switch (event.type) {
    case "command-finished":
      return [headOf(event.observation.text)];
    case "message-received":
    case "task-received":
      return [headOf(event.text)];
    case "files-restored":
      return [describeRestored(event)];
    case "agent-reported":
      return event.observation ? [headOf(event.observation.text)] : [];
    case "goals-changed":
      return event.goals;
    case "model-asked":
      return event.folder ? [event.folder] : [];
    default:
      return [];
  }
}
