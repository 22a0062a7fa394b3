/** unknown-outcome.ts -- what the model reads about a call whose outcome nobody can know. Pure. */
import type { NewEvent } from "./event.ts";
import { INTERRUPTED, type OpenCall } from "./state.ts";

/** The observation for an interrupted call whose outcome cannot be known. */
export function outcomeUnknown(
  callId: string,
  open: Extract<OpenCall, { kind: "command" }>,
  problem?: string,
): NewEvent {
  const { call, step, intent } = open;
  const text =
    `The outcome of ${call.name} is unknown: it was started at ${intent?.at ?? "an unknown time"} and goald stopped before it saw the end. ` +
    `It may or may not have happened. ${problem === undefined ? "" : `Its probe failed: ${problem} `}Look before you repeat it.`;
  const observation = { status: "unknown", code: INTERRUPTED, text, source: "goald", artifacts: [] } as const;
  return { type: "command-finished", step, callId, observation, durationMs: 0 };
}

/** The observation for a command that ran again after a crash and did not ask for the same nested work as before. */
export function differed(callId: string, { call, step }: Extract<OpenCall, { kind: "command" }>): NewEvent {
  const text =
    `The outcome of ${call.name} is unknown: it was interrupted, and when it ran again it took another way than before. ` +
    "What it had done by then is not repeated. Look before you repeat it.";
  const observation = { status: "unknown", code: INTERRUPTED, text, source: "goald", artifacts: [] } as const;
  return { type: "command-finished", step, callId, observation, durationMs: 0 };
}
