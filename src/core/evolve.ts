/**
 * evolve.ts -- the fold of one event into the state: `events.reduce(evolve, initialState)`.
 *
 * Total and pure: every event gives a state for every state. It never throws, reads no
 * clock and makes no id.
 */

import { countCell, methodsFound, namespaceSaved } from "./cells.ts";
import type { EventOf, RecordedEvent } from "./event.ts";
import { afterEnd, callCleared, callCutOff, callInterrupted, callIsolated, NO_DEATHS } from "./evolve-deaths.ts";
import { answeredBy, closeQuestion, modelAsked, modelFailed, modelReplied } from "./evolve-question.ts";
import { FROM_GOALD, goalsChanged, settingsWith } from "./evolve-settings.ts";
import {
  type At,
  afterCall,
  closeCall,
  inEveryFrame,
  inFrame,
  inPhase,
  putCall,
  thinking,
  withMessage,
  withMessageForAll,
} from "./fold.ts";
import type { Message } from "./frame.ts";
import { isCallFrame, isFurtherCall, popFrame, pushFrame, unwindTo } from "./frames.ts";
import { countRequest, noticeText } from "./loops.ts";
import { receive, sourcesOf } from "./provenance.ts";
import { countDownload, loseReserved, spend, spendAll, spendIf } from "./spending.ts";
import { type AgentState, activeFrame, INTERRUPTED, initialState, type OpenCall, openCommand } from "./state.ts";
import {
  agentEnded,
  agentReported,
  agentStarted,
  agentTold,
  startedFrom,
  taskReceived,
  withMade,
} from "./subagents/evolve-subagents.ts";
import { headOf } from "./text.ts";

export function evolve(state: AgentState, event: RecordedEvent): AgentState {
  switch (event.type) {
    case "agent-created": {
      const { name, role, goals, startedBy } = event;
      const created = { ...state, name, role, goals, settings: settingsWith(state.settings, event) };
      return startedBy ? startedFrom(startedBy, created, event) : created;
    }
    case "settings-changed": {
      const fallback = event.model === undefined ? state.fallback : null;
      return { ...state, fallback, settings: settingsWith(state.settings, event) };
    }
    case "goals-changed":
      return goalsChanged(state, event);
    case "model-asked":
      return modelAsked(state, event);
    case "model-replied":
      return modelReplied(state, event);
    case "model-failed":
      return modelFailed(state, event);
    case "reply-rejected": {
      const answered = answeredBy(closeQuestion(state, event.step), event, state.fallback);
      const rejected = inFrame(answered, event.frame, (frame) =>
        event.isBadResult
          ? { ...frame, badResults: frame.badResults + 1 }
          : { ...frame, badReplies: frame.badReplies + 1 },
      );
      const text = event.problems.join("\n");
      return thinking(rejected, event, { ...FROM_GOALD, step: event.step, kind: "problem", text });
    }
    case "command-requested": {
      const { step, call, thought, callId, frame, leaving } = event;
      const requested = inFrame(state, frame, (asking) => {
        const isFurther = asking.phase.kind === "judging" && isFurtherCall(callId);
        const repetition = countRequest(asking.repetition, event, isFurther);
        if (isFurther) return { ...asking, queue: [...asking.queue, callId], repetition };
        return { ...asking, phase: { kind: "judging", callId }, badReplies: 0, repetition };
      });
      const leaves = leaving ? { leaving } : {};
      return putCall(requested, { kind: "command", callId, frame, step, call, thought, ...leaves });
    }
    case "approval-asked": {
      const { callId, reason, until = null } = event;
      return inPhase(state, event, { kind: "awaiting-approval", callId, reason, until });
    }
    case "approvals-granted":
      return { ...state, grantedApprovals: event.count };
    case "command-approved": {
      const spent = event.by === "earlier-approval" ? 1 : 0;
      const approved = { ...state, grantedApprovals: Math.max(0, state.grantedApprovals - spent) };
      return inPhase(approved, event, { kind: "approved", callId: event.callId });
    }
    case "command-denied":
      return commandDenied(state, event);
    case "command-started":
      return commandStarted(state, event);
    case "call-interrupted":
      return callInterrupted(state, event);
    case "call-cut-off":
      return callCutOff(state, event);
    case "call-isolated":
      return callIsolated(state, event);
    case "call-cleared":
      return callCleared(state);
    case "repetition-noticed":
      return repetitionNoticed(state, event);
    case "command-waiting": {
      const { callId, waitFor, until, spent } = event;
      const left = receive(unwindTo(callCleared(state), callId), event.outside ?? [], event);
      const waiting = { kind: "waiting", callId, waitFor, until } as const;
      return inPhase(spent ? spendAll(left, callId, spent) : left, event, waiting);
    }
    case "command-finished":
      return commandFinished(state, event);
    case "words-trusted":
      return event.what === "all" ? { ...state, received: [], trustedSeq: event.seq } : state;
    case "message-received": {
      const { from, text } = event;
      return withMessageForAll({ ...state, grantedApprovals: 0, refusals: 0 }, event, {
        step: state.step,
        kind: "feedback",
        from,
        status: null,
        source: "person",
        text,
      });
    }
    case "frame-pushed":
      return pushFrame(state, event);
    case "frame-popped":
      return popFrame(state, event);
    case "namespace-saved":
      return namespaceSaved(state, event);
    case "methods-found":
      return methodsFound(state, event);
    case "agent-paused":
      return {
        ...spendIf(state, event.spent),
        grantedApprovals: 0,
        paused: { code: event.code, reason: event.reason },
      };
    case "agent-resumed":
      return agentResumed(state, event);
    case "turn-started":
      return inPhase({ ...state, turn: event.turn, fallback: null, made: [], refusals: 0 }, event, {
        kind: "thinking",
      });
    case "turn-finished":
      return inPhase(state, event, { kind: "resting", outcome: event.outcome, reason: event.reason });
    case "agent-started":
      return agentStarted(state, event);
    case "agent-told":
      return agentTold(state, event);
    case "agent-ended":
      return agentEnded(state, event);
    case "agent-reported":
      return agentReported(state, event);
    case "task-received":
      return taskReceived(state, event);
  }
}

export const replay = (events: Iterable<RecordedEvent>, from: AgentState = initialState): AgentState => {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
};

function commandDenied(state: AgentState, event: EventOf<"command-denied"> & At): AgentState {
  const { step, callId, reason, by, refusal } = event;
  const from = by === "person" ? "person" : (openCommand(state, callId)?.call.name ?? "policy");
  const kind = by === "person" ? "feedback" : "result";
  const source = by === "person" ? "person" : "goald";
  const refusals = state.refusals + (refusal ? 1 : 0);
  const denied = by === "person" ? { ...state, grantedApprovals: 0 } : { ...state, refusals };
  const message = { step, kind, from, status: "denied", source, text: reason } as const;
  const ended = endCall(denied, event, message);
  // A person's words about a nested call must not end with its frame.
  return by === "person" && isCallFrame(ended, event.frame) ? withMessageForAll(ended, event, message) : ended;
}

function commandStarted(
  state: AgentState,
  event: EventOf<"command-started"> & At & { readonly at: string },
): AgentState {
  const open = openCommand(state, event.callId);
  if (!open) return state;
  const { seq, attempt, epoch, effect, annotations, prepared, outside, at, reserved } = event;
  const optional = { ...(outside ? { outside } : {}), ...(reserved ? { reserved } : {}) };
  const intent = { seq, attempt, epoch, at, effect, annotations, prepared, ...optional };
  const started: OpenCall = { ...open, intent };
  const executing = inPhase(loseReserved(state, event.callId), event, { kind: "executing", callId: event.callId });
  return putCall(executing, started);
}

/** Resets the failure counters. A server that was down is retried at once. */
function agentResumed(state: AgentState, event: EventOf<"agent-resumed"> & At & { readonly at: string }): AgentState {
  const cleared = { badReplies: 0, modelFailures: 0, failedTries: [], repetition: null, failedCells: 0 };
  const resumed = inEveryFrame(state, (frame) => ({ ...frame, ...cleared }));
  const { id, phase } = activeFrame(state);
  const again = { ...resumed, fallback: null, outage: null, paused: null, ...NO_DEATHS, refusals: 0 };
  const isDown = state.outage && phase.kind === "retrying";
  return isDown ? inPhase(again, { frame: id }, { ...phase, at: event.at }) : again;
}

function repetitionNoticed(state: AgentState, event: EventOf<"repetition-noticed"> & At): AgentState {
  const repetition = state.frames.find(({ id }) => id === event.frame)?.repetition;
  if (!repetition) return state;
  const text = noticeText(repetition, event.count);
  const told = inFrame(state, event.frame, (frame) => ({ ...frame, repetition: { ...repetition, noticed: true } }));
  return withMessage(told, event, { ...FROM_GOALD, step: event.step, kind: "feedback", text });
}

function commandFinished(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { step, callId, observation, closesTurn, reconciled, spent } = event;
  const { status, source, text, code, outside } = observation;
  const { call, leaving } = openCommand(state, callId) ?? {};
  const isUnseen = code === INTERRUPTED || reconciled === true;
  const counted = spent ? spend(state, spent) : isUnseen ? loseReserved(state, callId) : state;
  const made = withMade(receive(afterEnd(counted, event), sourcesOf(observation), event), observation.artifacts);
  const words = outside ? { source, outside, text } : { source, text };
  const told = { step, kind: "result", from: call?.name ?? "command", status, ...words } as const;
  const ended = endCall(countDownload(made, event), event, told);
  const finished = countCell(ended, event, call?.name ?? "", observation);
  if (observation.asksToEnd && status === "ok")
    return inPhase(finished, event, { kind: "ending", reason: headOf(text) });
  if (closesTurn !== true || status !== "ok") return finished;
  return inFrame(finished, event.frame, (frame) => {
    if (frame.kind === "run") return { ...frame, phase: { kind: "ended", resultSeq: event.seq } };
    const end = { reason: headOf(text), ...(leaving?.carries ? { carries: true as const } : {}) };
    return frame.kind === "agent" ? { ...frame, phase: { kind: "closing", end } } : frame;
  });
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
