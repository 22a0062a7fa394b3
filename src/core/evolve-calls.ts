/** evolve-calls.ts -- folds the start and the end of a command's call. Pure. */

import type { Observation } from "./call.ts";
import { countCell } from "./cells.ts";
import { PLAN_COMMANDS, THINK } from "./command-names.ts";
import type { EventOf } from "./event.ts";
import { afterEnd } from "./evolve-deaths.ts";
import { type At, afterCall, closeCall, inFrame, inPhase, putCall, withMessageForAll } from "./fold.ts";
import type { Deed, Message } from "./frame.ts";
import { isCallFrame, unwindTo } from "./frames.ts";
import { runsChecks } from "./goal-check.ts";
import type { OpenCall } from "./open-call.ts";
import { receive, sourcesOf } from "./provenance.ts";
import { countDownload, loseReserved, spend } from "./spending.ts";
import { type AgentState, INTERRUPTED, openCommand } from "./state.ts";
import { withMade } from "./subagents/evolve-subagents.ts";
import { headOf } from "./text.ts";

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

export function commandStarted(
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

export function commandFinished(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { step, callId, observation, closesTurn, reconciled, spent } = event;
  const { status, source, text, code, outside } = observation;
  const open = openCommand(state, callId);
  const { call, thought = "" } = open ?? {};
  const isUnseen = code === INTERRUPTED || reconciled === true;
  const counted = spent ? spend(state, spent) : isUnseen ? loseReserved(state, callId) : state;
  const made = withMade(receive(afterEnd(counted, event), sourcesOf(observation), event), observation.artifacts);
  const words = outside ? { source, outside, text } : { source, text };
  const did = deedOf(open, observation);
  const told = {
    step,
    kind: "result",
    from: call?.name ?? "command",
    status,
    ...words,
    ...(did ? { did } : {}),
  } as const;
  const ended = endCall(noteDeed(countDownload(made, event), event, did), event, told);
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

function deedOfCommand(name: string): Deed | undefined {
  if (name === THINK) return "think";
  return PLAN_COMMANDS.includes(name) ? "plan" : undefined;
}

function deedOf(open: ReturnType<typeof openCommand>, { artifacts }: Observation): Deed | undefined {
  if (!open) return undefined;
  const changesFiles = artifacts.length > 0 && open.intent?.annotations.readOnly !== true;
  return deedOfCommand(open.call.name) ?? open.did ?? (changesFiles ? "files" : undefined);
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
