/** evolve-step.ts -- folds what happens in a step: questions to the model, calls, and the end of a process. Pure. */
import type { Observation, OpenCall } from "./call.ts";
import { BAD_RESULT, CELL_FAILED, isCellCommand, MAX_FAILED_CELLS, PLAN_COMMANDS, THINK, TOO_DEEP } from "./command.ts";
import type { EventOf } from "./event.ts";
import {
  type At,
  afterCall,
  closeCall,
  inFrame,
  inPhase,
  isCallFrame,
  putCall,
  unwindTo,
  withMessage,
  withMessageForAll,
} from "./frames.ts";
import { runsChecks } from "./goal-check.ts";
import { countIfSpent, countReservationLost, countSpending, mayHaveBeenCharged, wasSent } from "./limits.ts";
import { addReceived, type OutsideSource, sourcesOf } from "./provenance.ts";
import {
  type AgentState,
  type Deed,
  type Frame,
  INTERRUPTED,
  type Message,
  openCommand,
  openQuestion,
} from "./state.ts";
import { withMade } from "./subagent-messages.ts";
import { headOf } from "./text.ts";

/** An earlier attempt that is still open was interrupted, and its server may charge for it. */
export function modelAsked(state: AgentState, event: EventOf<"model-asked"> & At): AgentState {
  const { step, attempt, epoch, model, mode, reservedTokens, reservedUsd = null, callId, frame } = event;
  const isNew = openQuestion(state, callId) === undefined;
  const settled = inFrame(
    settleAttempt(countIfSpent(state, event.spent), callId, { isLost: true, isCounted: true }),
    frame,
    (asking) => (isNew ? { ...asking, asked: asking.asked + 1 } : asking),
  );
  const of = { callId, frame, step, attempt, epoch };
  const call: OpenCall = { kind: "model", ...of, model, mode, reservedTokens, reservedUsd };
  const asked = addReceived({ ...settled, step }, event.outside ?? [], event);
  return inPhase(putCall(asked, call), event, { kind: "asking", callId });
}

export function modelFailed(state: AgentState, event: EventOf<"model-failed"> & At): AgentState {
  const { callId, code, message, retryAt, at, changed, fallback = state.fallback } = event;
  const model = openQuestion(state, callId)?.model ?? "";
  const isOther = fallback !== state.fallback;
  const phase = { kind: "retrying", callId, since: at, at: retryAt ?? at, why: message } as const;
  const settled = event.spent
    ? countSpending(settleAttempt(state, callId, { isLost: false, isCounted: false }), event.spent)
    : settleAttempt(state, callId, { isLost: mayHaveBeenCharged(code), isCounted: wasSent(code) });
  // During an outage further failures are expected, and only what they may cost counts.
  if (state.outage && event.outage) return inPhase(settled, event, phase);
  const failed = {
    ...settled,
    fallback,
    outage: event.outage ? { since: at } : state.outage,
  };
  return inFrame(failed, event.frame, (frame) => ({
    ...frame,
    phase,
    failedTries: [...frame.failedTries, { model, code }],
    modelFailures: isOther ? 0 : frame.modelFailures + (changed ? 0 : 1),
  }));
}

/** Clears the failures that came before a reply. */
export const answeredBy = (state: AgentState, { frame: id }: Pick<At, "frame">, fallback: AgentState["fallback"]) =>
  inFrame({ ...state, fallback, outage: null }, id, (frame) => ({ ...frame, failedTries: [], modelFailures: 0 }));

/** Closes the step's model call, replied or not. */
export const closeQuestion = (state: AgentState, step: number): AgentState => ({
  ...state,
  open: state.open.filter((call) => call.kind !== "model" || call.step !== step),
});

/** Counts the reservation of an attempt without a reply as lost, or releases it, once. The call stays open for the next attempt. */
function settleAttempt(
  state: AgentState,
  callId: string,
  { isLost, isCounted }: { readonly isLost: boolean; readonly isCounted: boolean },
): AgentState {
  const call = openQuestion(state, callId);
  if (!call || call.isSettled) return state;
  const tokens = state.lost.tokens + (isLost ? call.reservedTokens : 0);
  const usd = state.lost.usd + (isLost ? (call.reservedUsd ?? 0) : 0);
  const reservedUsd = call.reservedUsd === null ? null : 0;
  const settled: OpenCall = { ...call, reservedTokens: 0, reservedUsd, isSettled: true };
  const usage = { ...state.usage, modelCalls: state.usage.modelCalls + (isCounted ? 1 : 0) };
  return putCall({ ...state, usage, lost: { tokens, usd } }, settled);
}

export function modelReplied(state: AgentState, event: EventOf<"model-replied"> & At): AgentState {
  const { callId, text, finishReason, usage, step, costUsd } = event;
  const { model, mode } = openQuestion(state, callId) ?? ASKED_UNKNOWN;
  const fallback = model === state.fallback?.model ? state.fallback : null;
  const cutReplies = state.cutReplies + (finishReason === "length" ? 1 : 0);
  const answered = { ...answeredBy(state, event, fallback), cutReplies };
  const paid = countSpending(answered, { usage, costUsd: costUsd ?? null, modelCalls: 1 });
  const replied = closeCall(paid, callId);
  const remembered = withMessage(replied, event, {
    step,
    kind: "reply",
    from: "",
    status: null,
    source: "model",
    text,
    ...(mode === "react" || mode === "code" || mode === "plan" ? { form: mode } : {}),
  });
  return inPhase(remembered, event, { kind: "reading", callId, reply: text, finishReason, model, mode });
}

/** Model and mode for a log that does not record them. */
const ASKED_UNKNOWN = { model: "", mode: "plain" } as const;

export function commandDenied(state: AgentState, event: EventOf<"command-denied"> & At): AgentState {
  const { step, callId, reason, by, refusal } = event;
  const call = openCommand(state, callId)?.call;
  const from = by === "person" ? "person" : (call?.name ?? "policy");
  const kind = by === "person" ? "feedback" : "result";
  const source = by === "person" ? "person" : "goald";
  // A no to code of checks refuses the end of the work, as a failed check does.
  const refusals = state.refusals + (refusal || runsChecks(call) ? 1 : 0);
  const denied = by === "person" ? { ...state, refusals, grantedApprovals: 0 } : { ...state, refusals };
  const message = { step, kind, from, status: "denied", source, text: reason } as const;
  const ended = endCall(denied, event, message);
  // A person's words about a nested call must not end with its frame.
  return by === "person" && isCallFrame(ended, event.frame) ? withMessageForAll(ended, event, message) : ended;
}

export function commandStarted(state: AgentState, event: EventOf<"command-started"> & At): AgentState {
  const open = openCommand(state, event.callId);
  if (!open) return state;
  const { seq, attempt, epoch, effect, annotations, prepared, outside, at, reserved } = event;
  const optional = { ...(outside ? { outside } : {}), ...(reserved ? { reserved } : {}) };
  const intent = { seq, attempt, epoch, at, effect, annotations, prepared, ...optional };
  const started: OpenCall = { ...open, intent };
  const executing = inPhase(countReservationLost(state, event.callId), event, {
    kind: "executing",
    callId: event.callId,
  });
  return putCall(executing, started);
}

export function commandFinished(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { step, callId, observation, closesTurn, reconciled, spent } = event;
  const { status, source, text, code, outside } = observation;
  const open = openCommand(state, callId);
  const { call, thought = "" } = open ?? {};
  const isUnseen = code === INTERRUPTED || reconciled === true;
  const counted = spent ? countSpending(state, spent) : isUnseen ? countReservationLost(state, callId) : state;
  const made = withMade(addReceived(afterEnd(counted, event), sourcesOf(observation), event), observation.artifacts);
  const words = outside ? { source, outside, text } : { source, text };
  const did = deedOf(open, observation);
  const message = {
    step,
    kind: "result",
    from: call?.name ?? "command",
    status,
    ...words,
    ...(did ? { did } : {}),
  } as const;
  const downloadedBytes = made.downloadedBytes + (event.downloadedBytes ?? 0);
  const ended = endCall(noteDeed({ ...made, downloadedBytes }, event, did), event, message);
  const finished = countCell(ended, event, call?.name ?? "", observation);
  if (observation.asksToEnd && status === "ok")
    return inPhase(finished, event, { kind: "ending", reason: headOf(text).trim() || thought });
  if (closesTurn !== true || status !== "ok") return finished;
  return inFrame(finished, event.frame, (frame) => {
    if (frame.kind === "run") return { ...frame, phase: { kind: "ended", resultSeq: event.seq } };
    const end = { reason: headOf(text) };
    return frame.kind === "agent" ? { ...frame, phase: { kind: "closing", end } } : frame;
  });
}

function deedOf(open: ReturnType<typeof openCommand>, { artifacts }: Observation): Deed | undefined {
  if (!open) return undefined;
  const { name } = open.call;
  if (name === THINK) return "think";
  if (PLAN_COMMANDS.includes(name)) return "plan";
  const changesFiles = artifacts.length > 0 && open.intent?.annotations.readOnly !== true;
  return open.did ?? (changesFiles ? "files" : undefined);
}

/** Notes a deed of a nested call with the command that made the call. */
function noteDeed(state: AgentState, { frame }: At, did: Deed | undefined): AgentState {
  const { kind, origin } = state.frames.find(({ id }) => id === frame) ?? {};
  const caller = kind === "call" && origin ? openCommand(state, origin.callId) : undefined;
  return caller && did ? putCall(state, { ...caller, did }) : state;
}

/** Closes a call with everything nested in it. Its frame reads the message and goes on (`afterCall`), unless it was pushed for this call. */
function endCall(
  state: AgentState,
  event: (EventOf<"command-finished"> | EventOf<"command-denied">) & At,
  message: Omit<Message, "seq">,
): AgentState {
  const closed = closeCall(unwindTo(state, event.callId), event.callId);
  if (isCallFrame(closed, event.frame)) return inPhase(closed, event, { kind: "ended", resultSeq: event.seq });
  return afterCall(closed, event, message);
}

/**
 * Folds what is known about the end of a process during a command. Several agents have commands under way when a
 * process dies, and nobody can tell which command did it. So a first death makes each of them a suspect, and the host
 * then runs the commands of suspects one at a time (`call-isolated`). Only a death during such a time counts further.
 * An orderly end of a process (`call-cut-off`) is not a death. Pure.
 */
export function callInterrupted(state: AgentState, { callId, epoch }: EventOf<"call-interrupted">): AgentState {
  // One death interrupts the calls of all frames.
  const deaths = state.isolated ? state.deaths + 1 : Math.max(1, state.deaths);
  const death = { deaths, interruptions: state.interruptions + 1, deathSeenAt: epoch, isolated: null };
  const counted = epoch === state.deathSeenAt ? state : { ...state, ...death };
  const open = openCommand(counted, callId);
  if (!open?.intent) return counted;
  const seen: OpenCall = { ...open, intent: { ...open.intent, seenInterruptedAt: epoch } };
  return putCall(counted, seen);
}

/**
 * The agent is paused at this count of `deaths`, because a command that kills the process stops all other agents with it.
 * One death may be an accident, two may be the machine.
 */
export const MAX_DEATHS = 3;
/** Times that results of nested work set the count back, for one command of the agent: it survives at most six deaths. */
const MAX_RESETS = 2;

/**
 * The call is over. Its end acquits the agent when goald saw it: an end written by recovery does not show that the process
 * survives this call. That of a nested call shows only that the command below goes on: it resets a count that is nearly full.
 */
function afterEnd(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { callId, frame, observation, reconciled } = event;
  const isSeen = observation.code !== INTERRUPTED && reconciled !== true;
  if (isSeen && frame === 0) return { ...state, ...NO_DEATHS };
  const isReset = isSeen && state.deaths === MAX_DEATHS - 1 && state.deathResets < MAX_RESETS;
  const counted = isReset ? { ...state, deaths: 0, deathResets: state.deathResets + 1 } : state;
  return state.isolated?.callId === callId ? { ...counted, isolated: null } : counted;
}

export const NO_DEATHS = { deaths: 0, deathResets: 0, interruptions: 0, isolated: null } as const;

/** A result that does not match is asked for once more. */
const MAX_BAD_RESULTS = 2;
/** Method names that the state keeps: the newest of all searches. */
const MAX_FOUND_METHODS = 20;

/** A saved namespace. Its content is in the event. */
export interface NamespaceRef {
  readonly seq: number;
  readonly version: string;
  /** Absent: it has received no outside words since a person trusted all of them. */
  readonly outside?: readonly OutsideSource[];
}

export function namespaceSaved(state: AgentState, event: EventOf<"namespace-saved"> & At): AgentState {
  const { version, outside, seq } = event;
  return { ...state, namespace: { seq, version, ...(outside ? { outside } : {}) } };
}

/** A person trusts all outside words: those of the namespace too. */
export function trustNamespace(namespace: NamespaceRef | null): NamespaceRef | null {
  if (!namespace) return null;
  const { outside: _, ...trusted } = namespace;
  return trusted;
}

/** Newest first, each name once. */
export function methodsFound(state: AgentState, { names }: EventOf<"methods-found">): AgentState {
  const found = [...new Set([...names, ...state.foundMethods])].slice(0, MAX_FOUND_METHODS);
  return { ...state, foundMethods: found };
}

/** Counts the failures of the frame's cells and results. */
function countCell(state: AgentState, { frame }: At, name: string, { status, code }: Observation): AgentState {
  if (code === BAD_RESULT) return inFrame(state, frame, (one) => ({ ...one, badResults: one.badResults + 1 }));
  if (!isCellCommand(name) || (status !== "ok" && code !== CELL_FAILED && code !== TOO_DEEP)) return state;
  const outermost = code === TOO_DEEP ? outermostCommand(state) : undefined;
  const counted = outermost ? putCall(state, { ...outermost, tooDeep: (outermost.tooDeep ?? 0) + 1 }) : state;
  return inFrame(counted, frame, (one) => ({ ...one, failedCells: status === "ok" ? 0 : one.failedCells + 1 }));
}

/** The agent's own command below all nested work; undefined when there is none. */
const outermostCommand = (state: AgentState) => openCommand(state, state.frames[1]?.origin?.callId ?? "");

/** Why all sub-tasks end with an error: each level would try again, and the next one after it. Undefined while they may go on. */
export function depthTrouble(state: AgentState) {
  const { tooDeep = 0 } = outermostCommand(state) ?? {};
  const text = `${MAX_FAILED_CELLS} pieces of code gave sub-tasks too deep. Do the work instead of passing it on.`;
  return tooDeep < MAX_FAILED_CELLS ? undefined : { code: TOO_DEEP, text };
}

/** Why the frame must give up; undefined while it may go on. */
export function cellTrouble({ failedCells, badResults }: Frame) {
  if (badResults >= MAX_BAD_RESULTS)
    return {
      code: BAD_RESULT,
      reason: `${badResults} results in a row did not match the type that was asked for.`,
    } as const;
  if (failedCells >= MAX_FAILED_CELLS)
    return { code: "failing-cells", reason: `${failedCells} pieces of code in a row failed.` } as const;
  return undefined;
}
