/** approvals.ts -- the question whether a command may run: how it is asked, and when it expires. Pure. */
import type { EventOf } from "./event.ts";
import type { Phase } from "./frame.ts";
import { type Move, record } from "./move.ts";
import type { OpenCall } from "./open-call.ts";
import type { AgentState } from "./state.ts";
import { clip } from "./text.ts";
import { isBefore, wait } from "./waits.ts";

/** Long enough for the lists that a policy makes. */
const MAX_REASON_CHARS = 4_000;

/** `expiresMs`: absent for a question that stays open. */
export function askApproval(
  { step, callId }: Pick<OpenCall, "step" | "callId">,
  reason: string,
  expiresMs: number | undefined,
  now: Date,
): EventOf<"approval-asked"> {
  const asked = { type: "approval-asked", step, callId, reason: clip(reason, MAX_REASON_CHARS) } as const;
  return expiresMs === undefined ? asked : { ...asked, until: new Date(now.getTime() + expiresMs).toISOString() };
}

/** Waits for a person. A question that has expired counts as denied. */
export function awaitApproval(
  state: AgentState,
  { step, callId }: Pick<OpenCall, "step" | "callId">,
  { until, reason }: Extract<Phase, { kind: "awaiting-approval" }>,
  now: Date,
): Move {
  if (until === null || isBefore(now, until)) return wait(state, "approval", until, now);
  const words = `Nobody approved it by ${until}. ${reason}`;
  return record({ type: "command-denied", step, callId, by: "policy", reason: words });
}
