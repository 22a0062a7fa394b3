/** fold.ts -- building blocks for folding events into the state. Pure. */
import type { Frame, Message, Phase } from "./frame.ts";
import type { OpenCall } from "./open-call.ts";
import type { AgentState } from "./state.ts";
import { withNewest } from "./window.ts";

/** Position and time of an event. */
export type At = { readonly seq: number; readonly frame: number; readonly at: string };

/** Replaces the open call of the same id, or adds the call at the end. */
export function putCall(state: AgentState, call: OpenCall): AgentState {
  const place = state.open.findIndex(({ callId }) => callId === call.callId);
  return { ...state, open: place < 0 ? [...state.open, call] : state.open.with(place, call) };
}

export const closeCall = (state: AgentState, callId: string): AgentState => ({
  ...state,
  open: state.open.filter((call) => call.callId !== callId),
});

export const thinking = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inPhase(withMessage(state, at, message), at, { kind: "thinking" });

/** Adds a message to the frame of the event. */
export const withMessage = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inFrame(state, at.frame, (frame) => addMessage(frame, { seq: at.seq, ...message }, state));

/** Adds a message from outside to every frame, so that the innermost one reads it and the agent remembers it. */
export const withMessageForAll = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inEveryFrame(state, (frame) => ({
    ...addMessage(frame, { seq: at.seq, ...message }, state),
    repetition: null,
  }));

const addMessage = (frame: Frame, message: Message, state: AgentState): Frame =>
  frame.kind === "call" ? frame : { ...frame, window: withNewest(frame, message, state) };

/** The call of the phase has ended: the frame judges the next call of the reply, or thinks. */
export const afterCall = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inFrame(withMessage(state, at, message), at.frame, (frame) => {
    const [callId, ...queue] = frame.queue;
    return { ...frame, queue, phase: callId === undefined ? { kind: "thinking" } : { kind: "judging", callId } };
  });

export const inPhase = (state: AgentState, at: Pick<At, "frame">, phase: Phase): AgentState =>
  inFrame(state, at.frame, (frame) => ({ ...frame, phase }));

export function inFrame(state: AgentState, id: number, change: (frame: Frame) => Frame): AgentState {
  return inEveryFrame(state, (frame) => (frame.id === id ? change(frame) : frame));
}

export function inEveryFrame(state: AgentState, change: (frame: Frame) => Frame): AgentState {
  const [root, ...rest] = state.frames;
  return { ...state, frames: [change(root), ...rest.map(change)] };
}
