/** move.ts -- what an agent can do next. */
import type { Effect, WaitFor } from "./call.ts";
import type { NewEvent } from "./event.ts";
import { isFurtherCall } from "./frames.ts";
import type { PauseCode } from "./pause-code.ts";
import type { Text } from "./text.ts";

export type Move =
  | { readonly kind: "record"; readonly events: readonly NewEvent[] }
  | { readonly kind: "ask"; readonly callId: string; readonly step: number; readonly attempt: number }
  | { readonly kind: "read"; readonly step: number; readonly reply: Text; readonly finishReason: string }
  | { readonly kind: "execute"; readonly callId: string; readonly attempt: number; readonly effect: Effect }
  | { readonly kind: "probe"; readonly callId: string; readonly effect: Effect }
  | { readonly kind: "wait"; readonly waitFor: WaitFor; readonly until: string | null }
  | { readonly kind: "rest" };

/** The last call has ended, and the next one has not begun. */
export const isBetweenCalls = (move: Move): boolean =>
  move.kind === "ask" || (move.kind === "execute" && move.attempt === 1 && isFurtherCall(move.callId));

/** A phase can name a call that is not open only in a damaged log. Pausing avoids an endless loop. */
export const lostCall = (callId: string): Move =>
  pause("crash-loop", `The log names a call ${callId} that is not open. Run \`goald verify\`.`);

export const pause = (code: PauseCode, reason: string): Move => record({ type: "agent-paused", code, reason });
export const record = (...events: NewEvent[]): Move => ({ kind: "record", events });
