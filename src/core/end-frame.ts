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

/** Gives up after unreadable replies. The reason says what a person can do about replies of nothing but reasoning. */
export function giveUpReading(frame: Frame, isProse: boolean): Move {
  const { badReplies, window } = frame;
  const unread = `${badReplies} replies in a row could not be read as one command${isProse ? "" : " in JSON"}.`;
  const problems = window.filter(({ kind }) => kind === "problem").slice(-badReplies);
  const tokens = problems.reduce((sum, { reasoningTokens = 0 }) => sum + reasoningTokens, 0);
  const reasoning =
    ` Reasoning took ${tokens} tokens of replies that were cut off before an answer began. Allow longer replies with ` +
    "the setting models.replyTokens (GOALD_MODELS_REPLY_TOKENS) or less reasoning with models.reasoningEffort: then goald resume <agent>";
  return giveUp(frame, "bad-replies", tokens === 0 ? unread : unread + reasoning);
}

/** The code of a cell asked to end the work: this stands in for the model's own request. */
export const requestCompletion = (frame: Frame, step: number, reason: string): Move => {
  const call = { name: TASK_COMPLETE, args: { reason } };
  const callId = commandCallId(frame, step, 1);
  return record({ type: "command-requested", step, callId, call, thought: reason, repaired: false });
};
