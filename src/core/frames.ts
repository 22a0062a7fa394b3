/**
 * frames.ts -- the stack of nested work: which frame owns a call, what pushes and pops frames. Pure.
 *
 * A running command can ask for other calls (frame of kind `call`) and for sub-tasks that the model works on (kind
 * `run`). Each pushes a frame and waits until it is popped, so the frames are a stack and one thing happens at a time.
 * A nested frame has its own phase, messages and failures: the frame below sees only the result. Ids are paths: command
 * c7 asks for c7.1, c7.2 …; the run c7.2 asks the model as c7.2.m1 and requests the command c7.2.c1. Further calls of
 * one reply to c7 or c7.2.c1 are c7-2, c7-3 … or c7.2.c1-2 …: they belong to the same frame and wait in its queue.
 *
 * After a crash the command at the bottom runs again if its effect allows it. Work that it had asked for before is
 * recognised by position and hash: an ended one returns its recorded result, and an unfinished one continues in its
 * frame.
 */
import { type OpenCall, reservedBy } from "./call.ts";
import type { EventOf } from "./event.ts";
import { type AgentState, createFrame, type Frame, formOfFrame, type Message, type Phase } from "./state.ts";
import { clip, headOf } from "./text.ts";

/** Maximum number of frames, the agent's included: a run that always starts a run ends here. */
export const MAX_FRAMES = 8;
/** Maximum number of nested calls and runs of one command: the state keeps a reference to each result. */
export const MAX_NESTED = 1_000;
/** Ended runs of a command that its next run sees, and characters of the task and of the result of each. */
const MAX_SEEN_RUNS = 4;
const MAX_RUN_CHARS = 2_000;
/** Maximum number of model calls of one run. */
export const MAX_RUN_STEPS = 25;

/** The frame that owns an open call; undefined when the call is not open. */
export function frameOwning(state: AgentState, callId: string): Frame | undefined {
  const open = state.open.find((call) => call.callId === callId);
  return open && state.frames.find(({ id }) => id === open.frame);
}

/** True for a call that its reply named after another one. */
export const isFurtherCall = (callId: string): boolean => /-\d+$/.test(callId);

/** True for nested work of a command: its id ends in its position, such as c7.1. */
export const isNestedCall = (callId: string): boolean => /\.\d+$/.test(callId);

/** True when the frame was pushed for a single call, and so shows the model nothing. */
export const isCallFrame = ({ frames }: AgentState, frame: number): boolean =>
  frames.some(({ id, kind }) => id === frame && kind === "call");

/** The frame whose phase is about this call. */
export const frameWorkingOn = (state: AgentState, callId: string): Frame | undefined =>
  state.frames.find(({ phase }) => "callId" in phase && phase.callId === callId);

/** The unfinished nested work of a command that has run before. */
export const frameNestedIn = (state: AgentState, callId: string): Frame | undefined =>
  state.frames.find(({ origin }) => origin?.callId === callId);

export function pushFrame(state: AgentState, event: EventOf<"frame-pushed"> & At): AgentState {
  const { frame: id, kind, callId, step, ordinal, hash, task = "", returns = {}, form, seq } = event;
  const parent = state.frames.at(-1)?.phase;
  if (parent?.kind !== "executing") return state;
  const command = state.open.find((call) => call.callId === parent.callId);
  const name = command?.kind === "command" ? command.call.name : "";
  const of = { callId: parent.callId, command: name, step, ordinal, hash, seq };
  const origin = { ...of, task, returns, ...(form ? { form } : {}) };
  const frame = createFrame({ id, kind, path: callId, origin });
  const [root, ...rest] = state.frames;
  return { ...state, framesPushed: Math.max(state.framesPushed, id), frames: [root, ...rest, frame] };
}

/** Removes the frame and those above it, and records its result with the command that asked for it. */
export function popFrame(state: AgentState, event: EventOf<"frame-popped"> & At): AgentState {
  const frame = state.frames.find(({ id }) => id === event.frame);
  const { origin } = frame ?? {};
  if (!frame || !origin) return state;
  const { callId, ordinal, hash, seq: from } = origin;
  const cut = cutFrames(state, (id) => id >= frame.id);
  const isRun = frame.kind === "run";
  const result = { ordinal, hash, seq: event.resultSeq ?? event.seq, ...(isRun ? { from } : {}) };
  const open = cut.open.map((call): OpenCall => {
    if (call.kind !== "command" || call.callId !== callId) return call;
    const ended = { ...call, results: [...(call.results ?? []), result] };
    if (!isRun) return ended;
    // The last message of a run that has a result holds it.
    const last = frame.window.at(-1);
    const words =
      last?.seq === event.resultSeq ? headOf(last.text) : `No result: ${event.problem?.text ?? "it ended early"}`;
    const task = clip(headOf(origin.task), MAX_RUN_CHARS);
    const run = { ordinal, task, result: clip(words, MAX_RUN_CHARS) };
    return { ...ended, runs: [...(call.runs ?? []), run].slice(-MAX_SEEN_RUNS) };
  });
  return { ...cut, open };
}

/** Removes the frames above the one that owns this call: the call has ended without waiting for them. */
export function unwindTo(state: AgentState, callId: string): AgentState {
  const owner = frameOwning(state, callId);
  return owner && owner.id < (state.frames.at(-1)?.id ?? 0) ? cutFrames(state, (id) => id > owner.id) : state;
}

/** Ids grow from frame to frame. Reservations of the open calls of removed frames count as lost. */
function cutFrames(state: AgentState, isCut: (id: number) => boolean): AgentState {
  const [root, ...rest] = state.frames;
  const { lost } = state;
  const reserved = reservedBy(state.open.filter(({ frame }) => isCut(frame)));
  return {
    ...state,
    lost: { tokens: lost.tokens + reserved.tokens, usd: lost.usd + reserved.usd },
    frames: [root, ...rest.filter(({ id }) => !isCut(id))],
    open: state.open.filter(({ frame }) => !isCut(frame)),
  };
}

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

export const SHORT_TERM_MESSAGES = 9;

/** Upper bound of `windowBatch`, which keeps the state small. */
export const MAX_WINDOW_BATCH = 40;

/** Actions that the form `plan` shows, each with what came of it. */
export const SHOWN_ACTIONS = 10;

/** Most messages of a window in any form: people may write many between two actions. */
const MAX_MESSAGES = SHORT_TERM_MESSAGES + MAX_WINDOW_BATCH;

/** Adds a message. With a batch, the extra messages go all at once, which keeps the prompt's prefix cacheable. */
function withNewest(frame: Frame, message: Message, state: AgentState): readonly Message[] {
  const window = [...frame.window, message];
  const batch = Math.min(MAX_WINDOW_BATCH, state.settings.windowBatch);
  if (formOfFrame(state, frame) === "plan") {
    const actions = window.filter(({ kind }) => kind === "reply").length;
    const isLong = actions > SHOWN_ACTIONS + batch || window.length > MAX_MESSAGES;
    return isLong ? lastActions(window) : window;
  }
  return window.length > SHORT_TERM_MESSAGES + batch ? window.slice(-SHORT_TERM_MESSAGES) : window;
}

/**
 * The messages of a frame that the prompt shows: nine, or in the form `plan` the last ten actions with their
 * observations. Older ones are in long-term memory. The frame's form may have changed since the newest one came. Pure.
 */
export function shownWindow(state: AgentState, frame: Frame): readonly Message[] {
  const batch = Math.min(MAX_WINDOW_BATCH, state.settings.windowBatch);
  return formOfFrame(state, frame) === "plan" ? frame.window : frame.window.slice(-SHORT_TERM_MESSAGES - batch);
}

/** The last ten actions, and what came after the first of them. */
function lastActions(window: readonly Message[]): readonly Message[] {
  const places = window.flatMap(({ kind }, place) => (kind === "reply" ? [place] : []));
  const first = places.at(-SHOWN_ACTIONS) ?? 0;
  return window.slice(Math.max(first, window.length - MAX_MESSAGES));
}
