/** waiting.ts -- approvals and answers that agents wait for, loaded from a store. */
import type { CommandCall } from "#core/call.ts";
import { sourcesOfFile } from "#core/file-words.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { type AgentState, approvalOf, callForPerson, questionOf } from "#core/state.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { stateOf } from "./load-agent.ts";
import { openTexts } from "./long-text.ts";
import { Call, OutsideSourceView, ReceivedView } from "./parts.ts";
import { eventsBackward } from "./read-log.ts";
import { tidyPath } from "./trusted-words.ts";

export const WaitingView = open({
  agent: described(text, "Id of the agent."),
  name: text,
  kind: oneOf("approval", "question"),
  since: time,
  step: count,
  callId: text,
  command: described(Call, "The command that waits, with all of its arguments."),
  reason: described(nullable(text), "Why a person must approve it, in one or more lines; null for a question."),
  until: described(nullable(time), "When the approval expires and counts as denied; null for never."),
  received: described(listOf(ReceivedView), "Outside words that the agent has read since its last clean state."),
  files: described(
    listOf(open({ path: text, outside: listOf(OutsideSourceView) })),
    "Files that the command names and that hold words from outside.",
  ),
  question: described(nullable(text), "The agent's question; null for an approval."),
});
export type WaitingView = Static<typeof WaitingView>;

type Reader = Pick<StoreReader, "load" | "read" | "blob" | "lastFileVersion">;

/** Null when the agent waits for no person, or is paused. Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function loadWaiting(row: AgentRow, reader: Reader): Promise<WaitingView | null> {
  const state = await stateOf(reader, row);
  const approval = approvalOf(state);
  const open = approval ?? callForPerson(state);
  if (state.paused || !open) return null;
  return {
    agent: row.id,
    name: state.name || row.name,
    kind: approval ? "approval" : "question",
    since: await beginningOf(open.callId, row, reader),
    step: open.step,
    callId: open.callId,
    command: (await openTexts(open.call, reader)) as WaitingView["command"],
    reason: approval?.reason ?? null,
    until: approval?.until ?? null,
    received: state.received,
    files: approval ? await outsideFiles(row.id, state, open.call, reader) : [],
    question: approval ? null : (questionOf(state) ?? ""),
  };
}

const MAX_PATH_CHARS = 4_096;

/** Arguments that name a path of the history with words from outside. An argument that is a text names none. */
async function outsideFiles(
  agent: string,
  { trustedSeq }: AgentState,
  { args }: CommandCall,
  reader: Reader,
): Promise<WaitingView["files"]> {
  const isPath = (value: unknown): value is string =>
    typeof value === "string" && value !== "" && value.length <= MAX_PATH_CHARS && !/[\n\0]/.test(value);
  const paths = new Set(Object.values(args).flat().filter(isPath).map(tidyPath));
  const found: { path: string; outside: readonly OutsideSource[] }[] = [];
  for (const path of paths) {
    const outside = await sourcesOfFile({ agent, trustedSeq }, path, reader);
    if (outside.length > 0) found.push({ path, outside });
  }
  return found;
}

/** Time of the event with which the wait began. */
async function beginningOf(callId: string, row: AgentRow, reader: Reader): Promise<string> {
  for await (const event of eventsBackward(reader, row.id, row.head)) {
    if (!("callId" in event) || event.callId !== callId) continue;
    if (event.type === "approval-asked" || event.type === "command-waiting") return event.at;
  }
  return row.updatedAt;
}
