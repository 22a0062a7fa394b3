/**
 * remember.ts -- turns a step's events into rows of long-term memory.
 *
 * The caller passes each event with the state before it, which still holds the open call and the reply. One row comes
 * from each finished command, unreadable reply, message from a person and finished turn; it holds the command with its
 * arguments, the result and the feedback, and last what the model thought (not the sentence for the onlooker). Of what is
 * too long for the row, the row has the beginning, and further rows of kind `piece` have the whole (step-lines.ts). A
 * text over 20,000 characters is in a file, and its pieces are those of the part that the model has read. Failures are
 * kept on purpose: an agent that forgets them repeats them.
 *
 * A file or page that is read or written again replaces the pieces of what it was before. Pure but for `read`.
 *
 * All but a person's own words is on single lines or indented, so that nothing in a result can look like the next part.
 * A row is trusted as far as its least trusted part: it holds the model's words, so never more than `agent`. A
 * row with the model's words carries all outside sources that the agent had received; a piece is trusted as far as its
 * text.
 */
import type { CommandCall, Observation } from "#core/call.ts";
import { DO_NOTHING, MEMORY_COMMANDS } from "#core/command.ts";
import type { EventOf, RecordedEvent, TurnMemory } from "#core/event.ts";
import { describeRestored } from "#core/evolve.ts";
import { isCallFrame } from "#core/frames.ts";
import type { NewMemory, Trust } from "#core/ports/memory.ts";
import { outsideOf, sourcesOf } from "#core/provenance.ts";
import { type AgentState, activeFrame, openCommand } from "#core/state.ts";
import { clip, headOf, oneLine, type Text, wellFormed } from "#core/text.ts";
import {
  type CommandTexts,
  clipEnd,
  clipLine,
  commandLines,
  describeCall,
  indentLines,
  joinLines,
  type Lines,
  type ReadText,
  readArguments,
  readCommandTexts,
  readThoughts,
  resultLines,
  type TextOfSource,
  thoughtLines,
  withPieces,
} from "./step-lines.ts";

const LINE_CHARS = 400;
/** Limit of a person's words in a row; longer words have pieces too. */
const PERSON_CHARS = 2_000;

/** No row but those of a step that failed, and of its pieces, has that of a failure. */
export const IMPORTANCE = {
  person: 1,
  closing: 0.8,
  artifact: 0.6,
  failure: 0.5,
  ordinary: 0.4,
  nothing: 0,
} as const;

/**
 * Returns the rows that this event leaves, the row of the step first. `before` is the state without the event; `namespace` is
 * the agent's id; `readWhole` returns the whole of a text, by default its beginning.
 */
export async function rememberStep(
  before: AgentState,
  event: RecordedEvent,
  namespace: string,
  readWhole: ReadText = async (text) => headOf(text),
): Promise<readonly NewMemory[]> {
  // A nested call leaves its traces in the result of the command that made it.
  if (isCallFrame(before, event.frame)) return [];
  const row = { namespace, seq: event.seq, kind: "step" } as const;
  // A text that cannot be read any more is no reason to lose the step.
  const read: ReadText = (text) => readWhole(text).catch(() => headOf(text));
  switch (event.type) {
    case "command-finished":
      // The memory of the turn follows, and has the closing words.
      if (event.closesTurn === true && event.frame === 0) return [];
      // The command's own row has the words, which another row would show without their mark.
      if (isMemoryChange(before, event)) return [];
      return rememberFinished(before, event, row, read);
    case "command-denied": {
      const denial: Lines = { lines: [denialPart(event)], texts: [] };
      const call = await readCall(before, event.callId, read);
      const { lines, texts } = await callLines(before, call, { isConfirmed: false }, denial, read);
      const importance = event.by === "person" ? IMPORTANCE.person : IMPORTANCE.failure;
      return withPieces(
        { ...row, step: event.step, text: paragraphs(...lines), importance, ...ownOrigin(before) },
        texts,
      );
    }
    case "message-received":
    case "task-received":
      return rememberWords(before, event, row, await read(event.text));
    case "agent-reported":
      return event.observation
        ? rememberReport(event.agent, event.observation, { ...row, step: before.step }, read)
        : [];
    default:
      return rememberShort(before, event, row);
  }
}

type Stamp = Pick<NewMemory, "namespace" | "seq"> & { readonly kind: "step" };

const ownOrigin = (before: AgentState) => ({ trust: "agent", ...outsideOf(before.received) }) as const;

/** The rows that have no pieces. */
function rememberShort(before: AgentState, event: RecordedEvent, row: Stamp): readonly NewMemory[] {
  switch (event.type) {
    case "reply-rejected": {
      const text = paragraphs(
        `Reply that could not be read: ${clipLine(headOf(lastReply(before)), LINE_CHARS)}`,
        `Problem: ${clipLine(event.problems.join("; "), LINE_CHARS)}`,
      );
      return [{ ...row, step: event.step, text, importance: IMPORTANCE.failure, ...ownOrigin(before) }];
    }
    case "files-restored": {
      // The names in it are those that the agent chose.
      const text = oneLine(describeRestored(event), PERSON_CHARS);
      return [{ ...row, step: before.step, text, importance: IMPORTANCE.person, trust: "agent" }];
    }
    case "turn-remembered": {
      const text = paragraphs(...turnLines(event));
      return [{ ...row, step: event.step, kind: "turn", text, importance: IMPORTANCE.closing, ...ownOrigin(before) }];
    }
    default:
      return [];
  }
}

async function rememberFinished(
  before: AgentState,
  { step, callId, observation, closesTurn }: EventOf<"command-finished">,
  row: Stamp,
  read: ReadText,
): Promise<readonly NewMemory[]> {
  const result = await read(observation.text);
  const call = await readCall(before, callId, read);
  const known = call ? readCommandTexts(call, observation, result) : { isConfirmed: false };
  const origin = { trust: trustOf(observation), ...outsideOf(before.received, sourcesOf(observation)) };
  const outcome = resultLines(observation, result, known, { source: call ? describeCall(call) : "result", ...origin });
  const { lines, texts } = await callLines(before, call, known, outcome, read);
  const importance = importanceOf(observation, closesTurn === true, call);
  return withPieces(
    { ...row, step, text: paragraphs(...lines), importance, ...origin, ...currentSource(known) },
    texts,
  );
}

/** The row of a text that replaces what its file or page was before. */
function currentSource({ result, argument }: CommandTexts): Pick<NewMemory, "source" | "replaces"> {
  const current: TextOfSource | undefined = [result, argument].find((text) => text?.isCurrent === true);
  if (!current) return {};
  const { source, lines } = current;
  const isPart = lines !== undefined && (lines.first > 1 || lines.last < lines.all);
  return { source, replaces: { source, ...(isPart ? { lines } : {}) } };
}

/** Words of a person or of the agent's parent. */
function rememberWords(
  before: AgentState,
  event: EventOf<"message-received"> | EventOf<"task-received">,
  row: Stamp,
  words: string,
): readonly NewMemory[] {
  const from = oneLine(event.from, 80);
  const isPerson = event.type === "message-received";
  const origin = isPerson ? { trust: "person" as const } : { trust: "agent" as const, ...outsideOf(event.outside) };
  const head = isPerson ? `${from} said` : `${from} gave this task`;
  const importance = isPerson ? IMPORTANCE.person : IMPORTANCE.closing;
  const text = paragraphs(`${head}: ${clip(words, PERSON_CHARS)}`);
  const isLong = words.length > PERSON_CHARS;
  return withPieces(
    { ...row, step: before.step, text, importance, ...origin },
    isLong ? [{ source: head, text: words, format: "plain", ...origin }] : [],
  );
}

const isMemoryChange = (before: AgentState, { callId, observation }: EventOf<"command-finished">): boolean =>
  observation.status === "ok" && MEMORY_COMMANDS.includes(openCommand(before, callId)?.call.name ?? "");

async function rememberReport(
  agent: string,
  observation: Observation,
  row: Stamp & Pick<NewMemory, "step">,
  read: ReadText,
): Promise<readonly NewMemory[]> {
  const origin = { trust: "agent" as const, ...outsideOf(sourcesOf(observation)) };
  const source = `the agent ${agent}`;
  const result = await read(observation.text);
  const { lines, texts } = resultLines(observation, result, { isConfirmed: false }, { source, ...origin });
  const importance = observation.status === "ok" ? IMPORTANCE.artifact : IMPORTANCE.failure;
  return withPieces({ ...row, text: paragraphs(`The agent ${agent} said:`, ...lines), importance, ...origin }, texts);
}

/** The call of an open command, with long texts whole. Undefined when it is no longer known. */
async function readCall(before: AgentState, callId: string, read: ReadText) {
  const open = openCommand(before, callId);
  return open && { name: open.call.name, args: await readArguments(open.call.args, read), open };
}

/** The lines of a command and its outcome, then those of the thoughts, which a prompt leaves out first. */
async function callLines(
  before: AgentState,
  call: Awaited<ReturnType<typeof readCall>>,
  known: CommandTexts,
  outcome: Lines,
  read: ReadText,
): Promise<Lines> {
  if (!call) return joinLines({ lines: ["Command: no longer known"], texts: [] }, outcome);
  const origin = ownOrigin(before);
  const thoughts = thoughtLines(await readThoughts(before, call.open, read), origin);
  return joinLines(commandLines(call, known, origin), outcome, thoughts);
}

function denialPart({ by, reason }: EventOf<"command-denied">): string {
  if (by === "policy") return `Not run, by policy: ${clipLine(reason, LINE_CHARS)}`;
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

function importanceOf(observation: Observation, closesTurn: boolean, call: CommandCall | undefined): number {
  if (observation.source === "person") return IMPORTANCE.person;
  if (observation.status !== "ok") return IMPORTANCE.failure;
  if (closesTurn) return IMPORTANCE.closing;
  if (observation.artifacts.length > 0) return IMPORTANCE.artifact;
  return call?.name === DO_NOTHING ? IMPORTANCE.nothing : IMPORTANCE.ordinary;
}

const trustOf = ({ source }: Observation): Trust => (source === "web" ? "web" : "agent");

const paragraphs = (...parts: readonly string[]): string => wellFormed(parts.join("\n"));

/** Limits of one call, and of all calls. */
const CALL_CHARS = 1_200;
const TURN_CHARS = 3_000;
const MAX_FILES = 5;

/**
 * Returns the lines of the row that a finished turn leaves. The newest calls come first in the budget, and all parts in
 * their order.
 */
function turnLines({ turn, asked, calls, artifacts, output }: TurnMemory): readonly string[] {
  const listed: string[] = [];
  let room = TURN_CHARS;
  for (const { name, input } of calls.toReversed()) {
    const line = `Command: ${name} ${indentLines(clipEnd(input, CALL_CHARS))}`;
    room -= line.length;
    if (room < 0) break;
    listed.unshift(line);
  }
  const files = artifacts.slice(-MAX_FILES).join(", ");
  return [
    `Turn ${turn} was for: ${clipLine(asked.join("; "), LINE_CHARS)}`,
    ...listed,
    ...(files === "" ? [] : [`Files: ${clipLine(files, LINE_CHARS)}`]),
    `Its end: ${clipLine(output, LINE_CHARS)}`,
  ];
}
