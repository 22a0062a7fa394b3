/**
 * evolve.ts -- the fold: one event more, one state further.
 *
 * Total and pure: every event on every state gives a state. It throws nothing, reads no
 * clock, makes no id. `state = events.reduce(evolve, initialState)`.
 */
import type { AgentSettings, EventOf, RecordedEvent } from "./event.ts";
import {
  type AgentState,
  type Frame,
  initialState,
  type Message,
  type OpenCall,
  openCommand,
  type Phase,
  SHORT_TERM_MESSAGES,
} from "./state.ts";
import { headOf } from "./text.ts";

export function evolve(state: AgentState, event: RecordedEvent): AgentState {
  switch (event.type) {
    case "agent-created": {
      const { name, role, goals } = event;
      return { ...state, name, role, goals, settings: settingsWith(state.settings, event) };
    }
    case "settings-changed":
      return { ...state, settings: settingsWith(state.settings, event) };
    case "goals-changed":
      return { ...state, goals: event.goals };
    case "model-asked": {
      const { step, attempt, epoch, reservedTokens, reservedUsd = null, callId } = event;
      const asked = inPhase(state, event, { kind: "asking", callId });
      return {
        ...asked,
        step,
        open: { ...state.open, [callId]: { kind: "model", step, attempt, epoch, reservedTokens, reservedUsd } },
      };
    }
    case "model-replied":
      return modelReplied(state, event);
    case "model-failed": {
      const failed = { ...state, modelFailures: state.modelFailures + 1 };
      return inPhase(failed, event, { kind: "retrying", callId: event.callId, at: event.retryAt ?? event.at });
    }
    case "reply-rejected": {
      const rejected = { ...state, badReplies: state.badReplies + 1 };
      const text = event.problems.join("\n");
      return thinking(rejected, event, {
        step: event.step,
        kind: "problem",
        from: "goald",
        status: null,
        source: "goald",
        text,
      });
    }
    case "command-requested": {
      const { step, call, thought, callId } = event;
      const requested = inPhase(state, event, { kind: "judging", callId });
      return {
        ...requested,
        badReplies: 0,
        open: { ...state.open, [callId]: { kind: "command", step, call, thought } },
      };
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
    case "repetition-noticed":
      return state;
    case "command-waiting": {
      const { callId, waitFor, until } = event;
      return inPhase(state, event, { kind: "waiting", callId, waitFor, until });
    }
    case "command-finished":
      return commandFinished(state, event);
    case "message-received": {
      const { from, text } = event;
      return withMessage({ ...state, grantedApprovals: 0 }, event, {
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
      return { ...state, paused: null, badReplies: 0, modelFailures: 0 };
    case "turn-started":
      return inPhase({ ...state, turn: event.turn }, event, { kind: "thinking" });
    case "turn-finished":
      return inPhase(state, event, { kind: "resting", outcome: event.outcome, reason: event.reason });
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
    background = before.background,
  } = given;
  return { approve, stepLimit, tokenLimit, budgetUsd, deadline, model, background };
}

type At = { readonly seq: number; readonly frame: number };

function modelReplied(state: AgentState, event: EventOf<"model-replied"> & At): AgentState {
  const { callId, text, finishReason, usage, step } = event;
  const spent: AgentState["usage"] = {
    modelCalls: state.usage.modelCalls + 1,
    inputTokens: state.usage.inputTokens + usage.inputTokens,
    outputTokens: state.usage.outputTokens + usage.outputTokens,
    cachedTokens: state.usage.cachedTokens + usage.cachedTokens,
    estimated: state.usage.estimated || usage.estimated,
  };
  const replied = closeCall({ ...state, usage: spent, modelFailures: 0 }, callId);
  const remembered = withMessage(replied, event, {
    step,
    kind: "reply",
    from: "",
    status: null,
    source: "model",
    text,
  });
  return inPhase(remembered, event, { kind: "reading", callId, reply: text, finishReason });
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
  const { attempt, epoch, effect, annotations, prepared, at } = event;
  const started: OpenCall = { ...open, intent: { attempt, epoch, at, effect, annotations, prepared } };
  const executing = inPhase(state, event, { kind: "executing", callId: event.callId });
  return { ...executing, open: { ...state.open, [event.callId]: started } };
}

function commandFinished(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { step, callId, observation, closesTurn } = event;
  const { status, source, text } = observation;
  const from = openCommand(state, callId)?.call.name ?? "command";
  const closed = closeCall({ ...state, tainted: state.tainted || source === "web" || source === "agent" }, callId);
  const finished = thinking(closed, event, { step, kind: "result", from, status, source, text });
  if (closesTurn !== true || status !== "ok") return finished;
  return inPhase(finished, event, { kind: "closing", reason: headOf(text) });
}

function closeCall(state: AgentState, callId: string): AgentState {
  const { [callId]: _closed, ...open } = state.open;
  return { ...state, open };
}

const thinking = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inPhase(withMessage(state, at, message), at, { kind: "thinking" });

const withMessage = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inFrame(state, at.frame, (frame) => ({
    ...frame,
    window: [...frame.window, { seq: at.seq, ...message }].slice(-SHORT_TERM_MESSAGES),
  }));

const inPhase = (state: AgentState, at: At, phase: Phase): AgentState =>
  inFrame(state, at.frame, (frame) => ({ ...frame, phase }));

function inFrame(state: AgentState, id: number, change: (frame: Frame) => Frame): AgentState {
  const [root, ...rest] = state.frames;
  const apply = (frame: Frame) => (frame.id === id ? change(frame) : frame);
  return { ...state, frames: [apply(root), ...rest.map(apply)] };
}
