/** waiting.ts -- approvals and answers that agents wait for, loaded from a store. */
import type { CommandCall } from "#core/call.ts";
import { isCellCommand } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import { runsChecks } from "#core/goal-check.ts";
import { tidyPath } from "#core/guarded-files.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { type OutsideSource, sourcesOfFile } from "#core/provenance.ts";
import { type AgentState, approvalOf, callForPerson, openCommand, questionOf } from "#core/state.ts";
import type { Text } from "#core/text.ts";
import { asRecord, parseJson } from "#util/json.ts";
import { type Redactors, redactJson } from "#util/redact.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { Call, OutsideSourceView, patchMembers, ReceivedView } from "./parts.ts";
import { eventsBackward, openTexts, stateOf, wholeText } from "./read-agent.ts";

const CodeView = open({
  file: described(nullable(text), "The file with the code; null when the call itself has it."),
  sha256: described(nullable(text), "Of the file; null when there is no file, or it could not be read."),
  text: described(text, "The whole code, as it was when the question was asked. The call runs only this."),
});
type CodeView = Static<typeof CodeView>;

const CallChange = open({
  path: text,
  against: described(nullable(text), "SHA-256 of the file that the diff was made against; null for a new file."),
  ...patchMembers,
});
export type CallChange = Static<typeof CallChange>;

export const WaitingView = open({
  agent: described(text, "Id of the agent."),
  name: text,
  kind: oneOf("approval", "question"),
  since: time,
  step: count,
  callId: text,
  thought: described(text, "The agent's thought with the command."),
  command: described(Call, "The command that waits, with all of its arguments."),
  change: described(nullable(CallChange), "What it would change in its file; null in the details of an agent."),
  reason: described(nullable(text), "Why a person must approve it, in one or more lines; null for a question."),
  until: described(nullable(time), "When the approval expires and counts as denied; null for never."),
  received: described(listOf(ReceivedView), "Outside words that the agent has read since its last clean state."),
  files: described(
    listOf(open({ path: text, outside: listOf(OutsideSourceView) })),
    "Files that the command names and that hold words from outside.",
  ),
  code: described(nullable(CodeView), "The code that the command would run; null for none."),
  question: described(nullable(text), "The agent's question; null for an approval."),
});
export type WaitingView = Static<typeof WaitingView>;

/**
 * Returns a view with the member `waiting` as JSON without secrets. A call that waits for an approval is shown as it would
 * run: it loses known secrets only. When one of these is a number, which would break the JSON, it loses what looks like a
 * secret too.
 */
export function waitingToJson(
  { waiting, ...rest }: { readonly waiting?: unknown },
  { redact, scrub }: Redactors,
): string {
  const show = (item: unknown): unknown =>
    (asRecord(item).kind === "approval" && parseJson(scrub(JSON.stringify(item)))) || redactJson(item, redact);
  const shown = Array.isArray(waiting) ? waiting.map(show) : show(waiting);
  return JSON.stringify({ ...redactJson(rest, redact), waiting: shown });
}

type Reader = Pick<StoreReader, "load" | "read" | "blob" | "lastFileVersion">;

type ChangeOf = (command: CommandCall) => Promise<CallChange | null>;

/** Null when the agent waits for no person; a paused one may. Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function loadWaiting(row: AgentRow, reader: Reader, changeOf?: ChangeOf): Promise<WaitingView | null> {
  const state = await stateOf(reader, row, row.head);
  const approval = approvalOf(state);
  const open = approval ?? callForPerson(state);
  if (!open) return null;
  const asked = await findAsked(open.callId, row, reader);
  const command = (await openTexts(open.call, reader)) as WaitingView["command"];
  return {
    agent: row.id,
    name: state.name || row.name,
    kind: approval ? "approval" : "question",
    since: asked?.at ?? row.updatedAt,
    step: open.step,
    callId: open.callId,
    thought: openCommand(state, open.callId)?.thought ?? "",
    command,
    change: approval && changeOf ? await changeOf(command).catch(() => null) : null,
    reason: approval?.reason ?? null,
    until: approval?.until ?? null,
    received: state.received,
    files: approval ? await outsideFiles(row.id, state, open.call, reader) : [],
    code: approval ? (codeOfChecks(command, state) ?? (await codeOf(command, asked, reader))) : null,
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

type AskedEvent = Extract<RecordedEvent, { readonly type: "approval-asked" | "command-waiting" }>;

/** The event with which the wait began. */
async function findAsked(callId: string, row: AgentRow, reader: Reader): Promise<AskedEvent | undefined> {
  for await (const event of eventsBackward(reader, row.id, row.head)) {
    if (!("callId" in event) || event.callId !== callId) continue;
    if (event.type === "approval-asked" || event.type === "command-waiting") return event;
  }
  return undefined;
}

/** The yes is for the code of all checks. */
function codeOfChecks(command: CommandCall, { checks }: AgentState): CodeView | null {
  if (!runsChecks(command)) return null;
  const tests = checks.flatMap(({ test }) => (test.kind === "code" ? [test] : []));
  return { file: null, sha256: null, text: tests.map(({ code }) => code).join("\n\n") };
}

async function codeOf(command: CommandCall, asked: AskedEvent | undefined, reader: Reader): Promise<CodeView | null> {
  const script = asked?.type === "approval-asked" ? asked.script : undefined;
  if (script) {
    const code = wholeText((await openTexts(script.code, reader)) as Text);
    return { file: script.file, sha256: script.sha256, text: code };
  }
  const { code } = command.args;
  if (!isCellCommand(command.name) || typeof code !== "string") return null;
  return { file: null, sha256: null, text: code };
}
