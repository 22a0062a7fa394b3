/** waiting.ts -- approvals and answers that agents wait for, loaded from a store. */
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { activeFrame, openCommand, questionOf } from "#core/state.ts";
import { count, described, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { stateOf } from "./load-agent.ts";
import { openTexts } from "./long-text.ts";
import { Call } from "./parts.ts";
import { eventsBackward } from "./read-log.ts";

export const WaitingView = open({
  agent: described(text, "Id of the agent."),
  name: text,
  kind: oneOf("approval", "question"),
  since: time,
  step: count,
  callId: text,
  command: described(Call, "The command that waits, with all of its arguments."),
  reason: described(nullable(text), "Why a person must approve it; null for a question."),
  question: described(nullable(text), "The agent's question; null for an approval."),
});
export type WaitingView = Static<typeof WaitingView>;

type Reader = Pick<StoreReader, "load" | "read" | "blob">;

/** Null when the agent waits for no person, or is paused. Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function loadWaiting(row: AgentRow, reader: Reader): Promise<WaitingView | null> {
  const state = await stateOf(reader, row);
  const { phase } = activeFrame(state);
  const isApproval = phase.kind === "awaiting-approval";
  const isQuestion = phase.kind === "waiting" && phase.waitFor === "person";
  if (state.paused || !(isApproval || isQuestion)) return null;
  const open = openCommand(state, phase.callId);
  if (!open) return null;
  const { at, reason } = await beginningOf(phase.callId, row, reader);
  return {
    agent: row.id,
    name: state.name || row.name,
    kind: isApproval ? "approval" : "question",
    since: at,
    step: open.step,
    callId: phase.callId,
    command: (await openTexts(open.call, reader)) as WaitingView["command"],
    reason: isApproval ? reason : null,
    question: isApproval ? null : (questionOf(state) ?? ""),
  };
}

/** The event with which the wait began. */
async function beginningOf(
  callId: string,
  row: AgentRow,
  reader: Reader,
): Promise<{ readonly at: string; readonly reason: string }> {
  for await (const event of eventsBackward(reader, row.id, row.head)) {
    if (!("callId" in event) || event.callId !== callId) continue;
    if (event.type === "approval-asked") return { at: event.at, reason: event.reason };
    if (event.type === "command-waiting") return { at: event.at, reason: "" };
  }
  return { at: row.updatedAt, reason: "" };
}
