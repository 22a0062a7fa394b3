/** fold.ts -- building blocks for folding events into the state. Pure. */
import {
  type AgentState,
  type Frame,
  longestWindow,
  type Message,
  type OpenCall,
  type Phase,
  SHORT_TERM_MESSAGES,
} from "./state.ts";

/** Position of an event. */
export type At = { readonly seq: number; readonly frame: number };

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

/** Keeps nine messages. With a batch, the extra messages go all at once, which keeps the prompt's prefix cacheable. */
export function withMessage(state: AgentState, at: At, message: Omit<Message, "seq">): AgentState {
  const most = longestWindow(state);
  return inFrame(state, at.frame, (frame) => {
    const window = [...frame.window, { seq: at.seq, ...message }];
    return { ...frame, window: window.length > most ? window.slice(-SHORT_TERM_MESSAGES) : window };
  });
}

export const inPhase = (state: AgentState, at: At, phase: Phase): AgentState =>
  inFrame(state, at.frame, (frame) => ({ ...frame, phase }));

function inFrame(state: AgentState, id: number, change: (frame: Frame) => Frame): AgentState {
  const [root, ...rest] = state.frames;
  const apply = (frame: Frame) => (frame.id === id ? change(frame) : frame);
  return { ...state, frames: [apply(root), ...rest.map(apply)] };
}
