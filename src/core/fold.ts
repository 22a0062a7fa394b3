/** fold.ts -- the small steps that every fold of an event is made of. Pure. */
import { type AgentState, type Frame, type Message, type Phase, SHORT_TERM_MESSAGES } from "./state.ts";

/** Where an event stands. */
export type At = { readonly seq: number; readonly frame: number };

export function closeCall(state: AgentState, callId: string): AgentState {
  const { [callId]: _closed, ...open } = state.open;
  return { ...state, open };
}

export const thinking = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inPhase(withMessage(state, at, message), at, { kind: "thinking" });

export const withMessage = (state: AgentState, at: At, message: Omit<Message, "seq">): AgentState =>
  inFrame(state, at.frame, (frame) => ({
    ...frame,
    window: [...frame.window, { seq: at.seq, ...message }].slice(-SHORT_TERM_MESSAGES),
  }));

export const inPhase = (state: AgentState, at: At, phase: Phase): AgentState =>
  inFrame(state, at.frame, (frame) => ({ ...frame, phase }));

function inFrame(state: AgentState, id: number, change: (frame: Frame) => Frame): AgentState {
  const [root, ...rest] = state.frames;
  const apply = (frame: Frame) => (frame.id === id ? change(frame) : frame);
  return { ...state, frames: [apply(root), ...rest.map(apply)] };
}
