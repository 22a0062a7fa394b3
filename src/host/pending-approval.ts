/** pending-approval.ts -- finds the question that a person's answer belongs to. */
import { GoaldError } from "#core/errors.ts";
import { type AgentState, approvalOf } from "#core/state.ts";

/**
 * `callId`: the call that the client means; absent for the one that waits. Throws GOALD_CONFLICT when another call waits, or
 * when the question has expired.
 */
export function requireApproval(id: string, state: AgentState, callId: string | undefined, now: Date) {
  const waiting = approvalOf(state);
  const conflict = (message: string): GoaldError =>
    new GoaldError("GOALD_CONFLICT", message, { hint: `See its state: goald show ${id}` });
  if (!waiting) throw conflict(`${id} has no command that waits for this answer.`);
  const name = `${waiting.callId} (${waiting.call.name})`;
  if (callId !== undefined && callId !== waiting.callId)
    throw conflict(`${id} does not wait for ${callId}: ${name} waits now.`);
  if (waiting.until !== null && Date.parse(waiting.until) <= now.getTime())
    throw conflict(`The approval of ${name} expired at ${waiting.until}.`);
  return waiting;
}
