/**
 * remember.ts -- turns a step's events into rows of long-term memory.
 *
 * Pure. The caller passes each event before it is folded, while the state still holds the open call with its thought and
 * arguments. One row comes from each finished command, unreadable reply, message from a person and finished turn; it holds the reply,
 * the result and the feedback, each clipped. Failures are kept on purpose: an agent that forgets them repeats them.
 *
 * Everything but a person's own words is folded to single lines, so that nothing in a result can look like the next
 * part. A row is trusted as far as its least trusted part: it holds the model's words, so never more than `agent`. A row with the
 * model's words carries all outside sources that the agent had received.
 */

import type { CommandCall, Observation } from "#core/call.ts";
import { DO_NOTHING, MEMORY_COMMANDS } from "#core/command-names.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { describeRestored } from "#core/files-restored.ts";
import { isCallFrame } from "#core/frames.ts";
import type { NewMemory, Trust } from "#core/ports/memory-row.ts";
import { outsideOf, sourcesOf } from "#core/provenance.ts";
import { type AgentState, activeFrame, openCommand } from "#core/state.ts";
import { clip, headOf, isBlobRef, oneLine, type Text, wellFormed } from "#core/text.ts";
import type { TurnMemory } from "#core/turn-event.ts";

const REPLY_CHARS = 400;
const THOUGHT_CHARS = 200;
const ARGUMENT_CHARS = 120;
const RESULT_CHARS = 400;
/** Limits of one call in the memory of a turn, and of all its calls. */
const CALL_CHARS = 1_200;
const TURN_CHARS = 3_000;
/** Limit of a person's words, which are otherwise kept as they are. */
const PERSON_CHARS = 2_000;
const MAX_FILES = 5;

const IMPORTANCE = { person: 1, closing: 0.8, artifact: 0.6, failure: 0.5, ordinary: 0.4, nothing: 0 } as const;

/** Returns the row that this event leaves, if any. `before` is the state without the event; `namespace` is the agent's id. */
export function rememberStep(before: AgentState, event: RecordedEvent, namespace: string): NewMemory | undefined {
  const row = { namespace, seq: event.seq, kind: "step" } as const;
  // A nested call leaves its traces in the result of the command that made it.
  if (isCallFrame(before, event.frame)) return undefined;
  switch (event.type) {
    case "command-finished":
      // The memory of the turn follows, and has the closing words.
      if (event.closesTurn === true && event.frame === 0) return undefined;
      // The command's own row has the words, which another row would show without their mark.
      if (isMemoryChange(before, event)) return undefined;
      return {
        ...row,
        step: event.step,
        text: paragraphs(replyPart(before, event.callId), ...resultPart(event.observation)),
        importance: importanceOf(event, openCommand(before, event.callId)?.call),
        trust: trustOf(event.observation),
        ...outsideOf(before.received, sourcesOf(event.observation)),
      };
    case "command-denied":
      return {
        ...row,
        step: event.step,
        text: paragraphs(replyPart(before, event.callId), denialPart(event)),
        importance: event.by === "person" ? IMPORTANCE.person : IMPORTANCE.failure,
        trust: "agent",
        ...outsideOf(before.received),
      };
    case "reply-rejected":
      return {
        ...row,
        step: event.step,
        text: paragraphs(
          `Reply that could not be read: ${oneLine(headOf(lastReply(before)), REPLY_CHARS)}`,
          `Problem: ${oneLine(event.problems.join("; "), RESULT_CHARS)}`,
        ),
        importance: IMPORTANCE.failure,
        trust: "agent",
        ...outsideOf(before.received),
      };
    case "message-received":
      return {
        ...row,
        step: before.step,
        text: paragraphs(`${oneLine(event.from, 80)} said: ${clip(headOf(event.text), PERSON_CHARS)}`),
        importance: IMPORTANCE.person,
        trust: "person",
      };
    case "files-restored":
      return createRestoredRow(event, { ...row, step: before.step });
    case "task-received":
      return {
        ...row,
        step: before.step,
        text: paragraphs(`${oneLine(event.from, 80)} gave this task: ${clip(headOf(event.text), PERSON_CHARS)}`),
        importance: IMPORTANCE.closing,
        trust: "agent",
        ...outsideOf(event.outside),
      };
    case "turn-remembered":
      return { ...createTurnRow(event, { ...row, step: event.step }), ...outsideOf(before.received) };
    case "agent-reported":
      return event.observation && createReportRow(event.agent, event.observation, { ...row, step: before.step });
    default:
      return undefined;
  }
}

const isMemoryChange = (before: AgentState, { callId, observation }: EventOf<"command-finished">): boolean =>
  observation.status === "ok" && MEMORY_COMMANDS.includes(openCommand(before, callId)?.call.name ?? "");

const createTurnRow = (event: TurnMemory, row: Omit<RowStamp, "kind">): NewMemory => ({
  ...row,
  kind: "turn",
  text: paragraphs(...turnParts(event)),
  importance: IMPORTANCE.closing,
  trust: "agent",
});

/** The names in it are those that the agent chose. */
const createRestoredRow = (event: EventOf<"files-restored">, row: RowStamp): NewMemory => ({
  ...row,
  text: oneLine(describeRestored(event), PERSON_CHARS),
  importance: IMPORTANCE.person,
  trust: "agent",
});

/** The newest calls come first in the budget, and all parts in their order. */
function turnParts({ turn, asked, calls, artifacts, output }: TurnMemory): readonly string[] {
  const listed: string[] = [];
  let room = TURN_CHARS;
  for (const { name, input } of calls.toReversed()) {
    const line = `Command: ${name} ${oneLine(input, CALL_CHARS)}`;
    room -= line.length;
    if (room < 0) break;
    listed.unshift(line);
  }
  const files = artifacts.slice(-MAX_FILES).join(", ");
  return [
    `Turn ${turn} was for: ${oneLine(asked.join("; "), RESULT_CHARS)}`,
    ...listed,
    ...(files === "" ? [] : [`Files: ${oneLine(files, RESULT_CHARS)}`]),
    `Its end: ${oneLine(output, RESULT_CHARS)}`,
  ];
}

type RowStamp = Pick<NewMemory, "namespace" | "seq" | "kind" | "step">;

const createReportRow = (agent: string, observation: Observation, row: RowStamp): NewMemory => ({
  ...row,
  text: paragraphs(`The agent ${agent} said:`, ...resultPart(observation)),
  importance: observation.status === "ok" ? IMPORTANCE.artifact : IMPORTANCE.failure,
  trust: "agent",
  ...outsideOf(sourcesOf(observation)),
});

function replyPart(before: AgentState, callId: string): string {
  const open = openCommand(before, callId);
  if (!open) return "Command: no longer known";
  const thought = oneLine(open.thought, THOUGHT_CHARS);
  const args = oneLine(shortenArguments(open.call), REPLY_CHARS - thought.length);
  const command = `Command: ${open.call.name} ${args}`;
  return thought === "" ? command : `Thought: ${thought}\n${command}`;
}

/** Returns the arguments as JSON, each string cut to its beginning, so that a long one cannot displace the others. */
function shortenArguments(call: CommandCall): string {
  return JSON.stringify(call.args, (_key, value: unknown) => {
    if (isBlobRef(value)) return oneLine(value.head, ARGUMENT_CHARS);
    return typeof value === "string" ? oneLine(value, ARGUMENT_CHARS) : value;
  });
}

function resultPart({ status, code, text, artifacts }: Observation): string[] {
  const outcome = code === undefined ? status : `${status}, ${code}`;
  const result = `Result (${outcome}): ${oneLine(headOf(text), RESULT_CHARS)}`;
  if (artifacts.length === 0) return [result];
  const more = artifacts.length > MAX_FILES ? ` and ${artifacts.length - MAX_FILES} more` : "";
  return [result, `Files: ${oneLine(artifacts.slice(0, MAX_FILES).join(", "), RESULT_CHARS)}${more}`];
}

function denialPart({ by, reason }: EventOf<"command-denied">): string {
  if (by === "policy") return `Not run, by policy: ${oneLine(reason, RESULT_CHARS)}`;
  return reason === ""
    ? "Not run: a person said no."
    : `Not run. Feedback from a person: ${clip(reason, PERSON_CHARS)}`;
}

/** Returns the reply that is being read, from the phase if it has one, else from the window. */
function lastReply(before: AgentState): Text {
  const { phase, window } = activeFrame(before);
  if (phase.kind === "reading") return phase.reply;
  return window.findLast((message) => message.kind === "reply")?.text ?? "";
}

function importanceOf({ observation, closesTurn }: EventOf<"command-finished">, call: CommandCall | undefined): number {
  if (observation.source === "person") return IMPORTANCE.person;
  if (observation.status !== "ok") return IMPORTANCE.failure;
  if (closesTurn === true) return IMPORTANCE.closing;
  if (observation.artifacts.length > 0) return IMPORTANCE.artifact;
  return call?.name === DO_NOTHING ? IMPORTANCE.nothing : IMPORTANCE.ordinary;
}

const trustOf = ({ source }: Observation): Trust => (source === "web" ? "web" : "agent");

const paragraphs = (...parts: readonly string[]): string => wellFormed(parts.join("\n"));
