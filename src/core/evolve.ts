/**
 * evolve.ts -- the fold of one event into the state: `events.reduce(evolve, initialState)`.
 *
 * Total and pure: every event gives a state for every state. It never throws, reads no
 * clock and makes no id.
 */

import type { AgentSettings } from "./agent-settings.ts";
import type { EventOf, RecordedEvent } from "./event.ts";
import { answeredBy, closeQuestion, modelAsked, modelFailed, modelReplied } from "./evolve-question.ts";
import { type At, closeCall, inPhase, putCall, thinking, withMessage } from "./fold.ts";
import { countRequest, noticeText } from "./loops.ts";
import { loseReserved, spend, spendAll } from "./spending.ts";
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
      return startedBy ? startedFrom(startedBy, created) : created;
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
      const answered = answeredBy(closeQuestion(state, event.step), state.fallback);
      const rejected = { ...answered, badReplies: state.badReplies + 1 };
      const text = event.problems.join("\n");
      return thinking(rejected, event, { ...FROM_GOALD, step: event.step, kind: "problem", text });
    }
    case "command-requested": {
      const { step, call, thought, callId } = event;
      const requested = inPhase(state, event, { kind: "judging", callId });
      const counted = { ...requested, badReplies: 0, repetition: countRequest(state.repetition, event) };
      return putCall(counted, { kind: "command", callId, step, call, thought });
    }
    case "approval-asked":
      return inPhase(state, event, { kind: "awaiting-approval", callId: event.callId });
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
    case "repetition-noticed":
      return repetitionNoticed(state, event);
    case "command-waiting": {
      const { callId, waitFor, until, spent } = event;
      return inPhase(spent ? spendAll(state, callId, spent) : state, event, {
        kind: "waiting",
        callId,
        waitFor,
        until,
      });
    }
    case "command-finished":
      return commandFinished(state, event);
    case "message-received": {
      const { from, text } = event;
      return withMessage({ ...state, grantedApprovals: 0, repetition: null }, event, {
        step: state.step,
        kind: "feedback",
        from,
        status: null,
        source: "person",
        text,
      });
    }
    case "agent-paused":
      return { ...state, grantedApprovals: 0, paused: { code: event.code, reason: event.reason } };
    case "agent-resumed":
      return agentResumed(state, event);
    case "turn-started":
      return inPhase({ ...state, turn: event.turn, fallback: null, made: [] }, event, { kind: "thinking" });
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

function settingsWith(before: AgentSettings, given: Partial<AgentSettings>): AgentSettings {
  const {
    approve = before.approve,
    stepLimit = before.stepLimit,
    tokenLimit = before.tokenLimit,
    budgetUsd = before.budgetUsd,
    deadline = before.deadline,
    model = before.model,
    windowBatch = before.windowBatch,
    background = before.background,
  } = given;
  return { approve, stepLimit, tokenLimit, budgetUsd, deadline, model, windowBatch, background };
}

/** Fields of a message from goald itself to the model. */
const FROM_GOALD = { from: "goald", status: null, source: "goald" } as const;

/** The new goals are in the instructions; this message points out that they changed. */
function goalsChanged(state: AgentState, event: EventOf<"goals-changed"> & At): AgentState {
  const changed = { ...state, goals: event.goals, grantedApprovals: 0, repetition: null };
  const text = "The goals were changed just now. Those in your instructions are the ones that count.";
  return withMessage(changed, event, { ...FROM_GOALD, step: state.step, kind: "feedback", text });
}

function commandDenied(state: AgentState, event: EventOf<"command-denied"> & At): AgentState {
  const { step, callId, reason, by } = event;
  const from = by === "person" ? "person" : (openCommand(state, callId)?.call.name ?? "policy");
  const kind = by === "person" ? "feedback" : "result";
  const source = by === "person" ? "person" : "goald";
  const denied = by === "person" ? { ...state, grantedApprovals: 0 } : state;
  return thinking(closeCall(denied, callId), event, { step, kind, from, status: "denied", source, text: reason });
}

function commandStarted(
  state: AgentState,
  event: EventOf<"command-started"> & At & { readonly at: string },
): AgentState {
  const open = openCommand(state, event.callId);
  if (!open) return state;
  const { attempt, epoch, effect, annotations, prepared, at, reserved } = event;
  const intent = { attempt, epoch, at, effect, annotations, prepared, ...(reserved ? { reserved } : {}) };
  const started: OpenCall = { ...open, intent };
  const executing = inPhase(loseReserved(state, event.callId), event, { kind: "executing", callId: event.callId });
  return putCall(executing, started);
}

function callInterrupted(state: AgentState, { callId, epoch }: EventOf<"call-interrupted">): AgentState {
  const counted = { ...state, deaths: state.deaths + 1 };
  const open = openCommand(state, callId);
  if (!open?.intent) return counted;
  const seen: OpenCall = { ...open, intent: { ...open.intent, seenInterruptedAt: epoch } };
  return putCall(counted, seen);
}

/** Resets the failure counters. A server that was down is retried at once. */
function agentResumed(state: AgentState, event: EventOf<"agent-resumed"> & At & { readonly at: string }): AgentState {
  const resumed = { ...answeredBy(state, null), paused: null, badReplies: 0, deaths: 0, repetition: null };
  const { phase } = activeFrame(state);
  return state.outage && phase.kind === "retrying" ? inPhase(resumed, event, { ...phase, at: event.at }) : resumed;
}

function repetitionNoticed(state: AgentState, event: EventOf<"repetition-noticed"> & At): AgentState {
  const { repetition } = state;
  if (!repetition) return state;
  const text = noticeText(repetition.call.name, event.count);
  const told = { ...state, repetition: { ...repetition, noticed: true } };
  return withMessage(told, event, { ...FROM_GOALD, step: event.step, kind: "feedback", text });
}

function commandFinished(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { step, callId, observation, closesTurn, reconciled, spent } = event;
  const { status, source, text, code } = observation;
  const from = openCommand(state, callId)?.call.name ?? "command";
  const tainted = state.tainted || source === "web" || source === "agent";
  // An end written by recovery does not show that the process survives this call, so deaths stay counted.
  const isUnseen = code === INTERRUPTED || reconciled === true;
  const deaths = isUnseen ? state.deaths : 0;
  const counted = spent ? spend(state, spent) : isUnseen ? loseReserved(state, callId) : state;
  const closed = closeCall(withMade({ ...counted, tainted, deaths }, observation.artifacts), callId);
  const finished = thinking(closed, event, { step, kind: "result", from, status, source, text });
  if (closesTurn !== true || status !== "ok") return finished;
  return inPhase(finished, event, { kind: "closing", reason: headOf(text) });
}
