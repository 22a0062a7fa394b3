/** end-frame.ts -- the moves that end a frame: its result is there, it gives up, or its code asked to end the work. Pure. */

import { commandCallId } from "./call-ids.ts";
import { BAD_RESULT } from "./cells.ts";
import { TASK_COMPLETE } from "./command-names.ts";
import type { Frame, Phase } from "./frame.ts";
import { type Move, pause, record } from "./move.ts";
import type { PauseCode } from "./pause-code.ts";

export function pop(frame: Frame, { resultSeq, problem }: Omit<Extract<Phase, { kind: "ended" }>, "kind">): Move {
  const { id, path, origin } = frame;
  if (!origin) return { kind: "rest" };
  const { step, ordinal, hash } = origin;
  const ended = { resultSeq, ...(problem ? { problem } : {}) };
  return record({ type: "frame-popped", frame: id, step, callId: path, ordinal, hash, ...ended });
}

/** Ends a run without a result: its command reads the problem and decides. The agent itself is paused instead. */
export const giveUp = (frame: Frame, code: PauseCode | typeof BAD_RESULT, reason: string): Move =>
  frame.kind === "run"
    ? pop(frame, { resultSeq: null, problem: { code, text: reason } })
    : pause(code === BAD_RESULT ? "bad-replies" : code, reason);

/** The code of a cell asked to end the work: this stands in for the model's own request. */
export const requestCompletion = (frame: Frame, step: number, reason: string): Move => {
  const call = { name: TASK_COMPLETE, args: { reason } };
  const callId = commandCallId(frame, step, 1);
  return record({ type: "command-requested", step, callId, call, thought: reason, repaired: false });
};
