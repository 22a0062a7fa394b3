/** number-messages.ts -- numbers the replies of a frame from 1, for THOUGHT, ACTION and OBSERVATION. */
import type { Frame, Message } from "#core/state.ts";

interface MessageNumbers {
  /** Number of the reply that the request asks for. */
  readonly next: number;
  /** Number of a reply, and of what belongs to its step. */
  of(message: Message): number;
}

/** Each model call leaves one reply, and the calls of the frame are counted: the numbers go on when the window moves. */
export function numberMessages({ asked, phase, window }: Frame): MessageNumbers {
  const isAsking = phase.kind === "asking" || phase.kind === "retrying";
  const next = asked + (isAsking ? 0 : 1);
  const steps = [...new Set(window.filter(({ kind }) => kind === "reply").map(({ step }) => step))];
  return {
    next,
    of: ({ step }) => Math.max(1, next - steps.length + steps.filter((each) => each <= step).length - 1),
  };
}
