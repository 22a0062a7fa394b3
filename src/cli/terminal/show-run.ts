/**
 * show-run.ts -- a running agent as a person reads it, event by event. Everything shown is durable already. Control
 * characters are removed from the texts of models, files and the web.
 */
import type { CommandCall } from "#core/call.ts";
import { describeSaved } from "#core/command.ts";
import type { EventOf, OutputMode, RecordedEvent } from "#core/event.ts";
import { describeRestored } from "#core/evolve.ts";
import { isNestedCall } from "#core/frames.ts";
import { CHECK_COMMANDS, describeResult, type GoalCheck } from "#core/goal-check.ts";
import { APPROVES_ALL } from "#core/policy.ts";
import type { AgentState } from "#core/state.ts";
import { countNoun, headOf, oneLine, type Text, withCommas } from "#core/text.ts";
import type { createLiveThoughts, ThoughtName, Thoughts } from "#reply/thoughts.ts";
import { clean, cutToWholeWords } from "#util/outside-text.ts";
import { describeCall, FEW_CHARS, styleOfDiff } from "./describe-call.ts";
import { paint, type Style, shortSpan } from "./print.ts";

export interface ShowRunParts {
  print(line: string): void;
  readonly colour: boolean;
  /** Reads the thoughts of a reply as the loop does. */
  thoughtsOf(reply: string, finishReason: string, mode: OutputMode): Thoughts | null;
  /** On a terminal: shows thoughts while the reply arrives. */
  readonly live?: Omit<ShowLiveParts, "paintLabel">;
}

export interface ShowRun {
  (event: RecordedEvent): void;
  /** Receives the reply's text as it arrives; absent when nothing of it is shown. */
  readonly onText?: (piece: string) => void;
}

const MAX_RAW_REPLY_CHARS = 300;
const MAX_RESULT_CHARS = 1_500;
const MAX_ARGUMENT_CHARS = 1_000;

export function createShowRun(parts: ShowRunParts): ShowRun {
  const { print } = parts;
  const paintIn = (style: Style, text: string): string => paint(parts.colour, style, text);
  const live = parts.live && createShowLive({ ...parts.live, paintLabel: (label) => paintIn("bold", label) });
  const showNested = createShowNested((line) => print(paintIn("dim", clean(line))));
  /** Mode of the last request. A reply to a request before the output began is read as JSON. */
  let mode: OutputMode = "plain";
  const paintEdit = (body: string): string =>
    body
      .split("\n")
      .map((line) => paint(parts.colour && styleOfDiff(line) !== undefined, styleOfDiff(line) ?? "dim", line))
      .join("\n");
  const showChecks = createShowChecks((style, line) => print(paintIn(style, clean(line))));
  /** The sentence that stands above every question was printed. */
  let isFurther = false;
  const show = (event: RecordedEvent): void => {
    const fields = fieldsOf(event, parts, mode);
    const shownLive = live?.end((wanted) => fields.find(([, label]) => label === wanted)?.[2]);
    if (showChecks(event) || showNested(event)) return;
    if (event.type === "model-asked") {
      print("");
      ({ mode } = event);
    }
    for (const [style, label, text] of fields) {
      const body = indent(clean(text).trim());
      // The live text has shown these words already.
      if (shownLive?.has(label) && shownLive.get(label) === parts.live?.redact(body)) continue;
      if (body === APPROVES_ALL && isFurther) continue;
      isFurther ||= body === APPROVES_ALL;
      if (label === "") print(paintIn(style, body));
      else if (body !== "") print(`${paintIn(style, label)} ${label === COMMAND ? paintEdit(body) : body}`);
    }
  };
  return live ? Object.assign(show, { onText: live.push }) : show;
}

const COMMAND = "Command:";

const LABELS: Readonly<Record<ThoughtName, string>> = {
  text: "Thoughts:",
  reasoning: "Reasoning:",
  plan: "Plan:",
  criticism: "Criticism:",
  speak: "Says:",
};
const NAMES = Object.keys(LABELS) as readonly ThoughtName[];

/** A field without a label is printed as plain text in the style. */
type Field = readonly [style: Style, label: string, text: string];

function fieldsOf(event: RecordedEvent, parts: ShowRunParts, mode: OutputMode): readonly Field[] {
  switch (event.type) {
    case "model-asked":
      return [["dim", "", stepLine(event)]];
    case "model-replied":
      return thoughtFields(event, parts, mode);
    case "model-failed":
      return [["yellow", "No reply:", `${event.message}${nextTry(event)}`]];
    case "reply-rejected":
      return [["yellow", "Reply not usable; the model reads:", event.problems.join("\n")]];
    case "command-requested":
      return [["cyan", COMMAND, describeCall(event.call)]];
    case "approval-asked":
      return [["dim", "", event.reason]];
    case "command-denied":
      return [["yellow", event.by === "person" ? "Not run; your words:" : "Not run:", event.reason]];
    case "command-finished": {
      const { status, text } = event.observation;
      // The following turn-finished shows the same reason.
      if (event.closesTurn === true && status === "ok") return [];
      return [[status === "ok" ? "green" : "yellow", `Result (${status}):`, shorten(shown(text), MAX_RESULT_CHARS)]];
    }
    case "command-waiting":
      return [["dim", "", `Waiting for ${event.waitFor}${event.until ? ` until ${event.until}` : ""}.`]];
    case "frame-pushed":
      return event.kind === "run" ? [["cyan", "Sub-task:", shorten(shown(event.task ?? ""), MAX_ARGUMENT_CHARS)]] : [];
    case "frame-popped":
      return event.problem ? [["yellow", "Sub-task failed:", event.problem.text]] : [];
    case "message-received":
      return [["bold", `${clean(event.from)} says:`, shown(event.text)]];
    case "files-restored":
      return [["bold", "Files restored:", clean(describeRestored(event))]];
    case "words-trusted":
      return [["bold", "Trusted by a person:", describeTrusted(event)]];
    case "agent-started":
      return [["cyan", "Agent:", `started ${event.agent}: ${event.task}`]];
    case "agent-told":
      return [["cyan", "Agent:", `message to ${event.agent}: ${shorten(shown(event.text), MAX_ARGUMENT_CHARS)}`]];
    case "agent-ended":
      return [["cyan", "Agent:", `ended ${event.agent}`]];
    case "agent-reported":
      return event.observation
        ? [["bold", `${clean(event.agent)} says:`, shorten(shown(event.observation.text), MAX_RESULT_CHARS)]]
        : [];
    case "task-received":
      return [["bold", `${clean(event.from)}, the parent agent, says:`, shown(event.text)]];
    case "agent-paused":
      return [["yellow", "Paused:", event.reason]];
    case "agent-resumed":
      return [["dim", "", "Resumed."]];
    case "turn-finished":
      return [["green", "Completed:", event.reason]];
    case "goals-changed":
      return [["bold", "New goals:", event.goals.map((goal, index) => `${index + 1}. ${goal}`).join("\n")]];
    case "turn-started":
      return [["dim", "", `Turn ${event.turn}.`]];
    case "repetition-noticed":
      return [["yellow", "Repeated:", `The same command with the same arguments, ${event.count} times in a row.`]];
    case "call-interrupted":
      return [["dim", "", "The process that ran this command died; continuing from there."]];
    default:
      return planFieldsOf(event);
  }
}

/** The agent's own changes of its plan show in its commands and their results. */
function planFieldsOf(event: RecordedEvent): readonly Field[] {
  switch (event.type) {
    case "task-added":
      return event.by === "person"
        ? [["bold", "A person added to the plan:", `${event.task.goal} (in ${event.parent})`]]
        : [];
    case "task-changed":
      return event.by === "person" ? [["bold", "A person changed the plan:", `${event.id} is ${event.state}`]] : [];
    default:
      return [];
  }
}

const describeTrusted = (event: EventOf<"words-trusted">): string =>
  event.what === "all" ? "all words from outside until here" : event.path;

function thoughtFields(
  { text, finishReason }: EventOf<"model-replied">,
  parts: ShowRunParts,
  mode: OutputMode,
): readonly Field[] {
  const thoughts = parts.thoughtsOf(headOf(text), finishReason, mode);
  if (!thoughts) return [["bold", "Reply:", oneLine(headOf(text), MAX_RAW_REPLY_CHARS)]];
  return NAMES.map((name) => ["bold", LABELS[name], thoughts[name]]);
}

function nextTry({ at, retryAt, changed, fallback }: RecordedEvent & EventOf<"model-failed">): string {
  if (fallback) return ` Continuing with ${clean(fallback.model)}.`;
  return retryAt && !changed ? ` Retrying in ${shortSpan(Date.parse(retryAt) - Date.parse(at) + 999)}.` : "";
}

function stepLine({ step, model, attempt, recallIds }: EventOf<"model-asked">): string {
  const recalls = recallIds.length === 0 ? "" : `, with ${countNoun(recallIds.length, "recall")} of earlier steps`;
  return `Step ${step} · asking ${clean(model)}${recalls}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
}

const shown = (text: Text): string =>
  typeof text === "string" ? text : `${text.head}\n[… ${text.bytes} bytes in all]`;
const shorten = (text: string, limit: number): string =>
  text.length <= limit + FEW_CHARS
    ? text
    : `${text.slice(0, limit).toWellFormed()} [… ${withCommas(text.length - limit)} more characters]`;
const indent = (text: string): string => text.replaceAll("\n", "\n  ");

/**
 * Returns true for an event that needs nothing further. The texts of checks come with the goals; a result whose goals came
 * before the output began is shown with its number.
 */
function createShowChecks(print: (style: "green" | "yellow", line: string) => void): (event: RecordedEvent) => boolean {
  let checks: readonly GoalCheck[] = [];
  return (event) => {
    if (event.type === "agent-created" || event.type === "goals-changed") checks = event.checks ?? [];
    if (event.type !== "goals-checked") return false;
    for (const result of event.results) {
      const check = checks[result.check];
      const word = result.isPassed ? "passed" : "failed";
      const text = check ? describeResult(check.test, result) : `${word}: check ${result.check + 1}. ${result.proof}`;
      print(result.isPassed ? "green" : "yellow", `Check ${text.replaceAll("\n", "\n  ")}`);
    }
    return true;
  };
}

/** Lines for the calls of one command; it can make 1,000. */
const MAX_LINES = 20;
const MAX_CALL_CHARS = 120;
const MAX_PROBLEM_CHARS = 200;

function describe(call: CommandCall): string {
  const saved = describeSaved(call);
  return saved === undefined ? describeCall(call) : `saves ${saved}`;
}

/**
 * Returns true for an event that needs nothing further. A call is shown when it has ended, or in full when a person is asked
 * about it.
 */
function createShowNested(print: (line: string) => void): (event: RecordedEvent) => boolean {
  const calls = new Map<string, CommandCall>();
  /** Calls that have ended, by the command that made them. */
  const ended = new Map<string, number>();

  const showEnd = (callId: string, result: string): void => {
    const call = calls.get(callId);
    calls.delete(callId);
    const parent = callId.slice(0, callId.lastIndexOf("."));
    const count = (ended.get(parent) ?? 0) + 1;
    ended.set(parent, count);
    if (call && count <= MAX_LINES) print(`  ${callId} ${oneLine(describe(call), MAX_CALL_CHARS)}: ${result}`);
  };
  const showRest = (callId: string): void => {
    const left = (ended.get(callId) ?? 0) - MAX_LINES;
    ended.delete(callId);
    if (left > 0) print(`  … and ${countNoun(left, "more call")}`);
  };

  return (event) => {
    if (!("callId" in event)) return false;
    const { callId } = event;
    const isNested = isNestedCall(callId);
    switch (event.type) {
      case "command-requested":
        if (isNested && !CHECK_COMMANDS.has(event.call.name)) calls.set(callId, event.call);
        return isNested;
      // The line about the command that made the call says it.
      case "call-interrupted":
      case "command-approved":
        return isNested;
      case "approval-asked": {
        const call = calls.get(callId);
        if (call) print(`Command: ${describeCall(call).replaceAll("\n", "\n  ")}`);
        return false;
      }
      case "command-denied":
        if (isNested) showEnd(callId, `denied: ${oneLine(event.reason, MAX_PROBLEM_CHARS)}`);
        return isNested;
      case "command-finished": {
        const { status, text } = event.observation;
        showRest(callId);
        if (isNested)
          showEnd(callId, status === "ok" ? status : `${status}: ${oneLine(headOf(text), MAX_PROBLEM_CHARS)}`);
        return isNested;
      }
      default:
        return false;
    }
  };
}

interface ShowLiveParts {
  write(text: string): void;
  redact(text: string): string;
  paintLabel(label: string): string;
  readonly createScanner: typeof createLiveThoughts;
}

/** The rest of a longer thought is shown when it is whole: each piece is cleaned with all that came before. */
const MAX_LIVE_CHARS = 4_000;

interface Shown {
  readonly label: string;
  known: string;
  written: string;
  isCertain: boolean;
}

/**
 * Shows thoughts on a terminal while the reply arrives, word by word. A word is shown when it is whole, so that neither
 * an escape sequence nor a secret can come in pieces: each time, all that is known of a thought is cleaned and redacted
 * anew, and only what that adds to the shown text is written. When the new text does not begin with the shown one, no
 * more of the thought is shown; the whole follows with its event.
 */
function createShowLive({ write, redact, paintLabel, createScanner }: ShowLiveParts) {
  let whole = new Map<string, string>();
  let open: Shown | undefined;
  let scanner = createScanner(take);

  function take(name: ThoughtName, piece: string, isWhole: boolean): void {
    if (open?.label !== LABELS[name]) {
      endLine();
      open = { label: LABELS[name], known: "", written: "", isCertain: true };
    }
    open.known += piece;
    const isSoon = open.known.length <= MAX_LIVE_CHARS && /\s/.test(piece);
    if (open.isCertain && (isWhole || isSoon)) showMore(open, isWhole);
    if (isWhole) endLine();
  }

  function showMore(shown: Shown, isWhole: boolean): void {
    const { label, known } = shown;
    const certain = isWhole ? known : cutToWholeWords(known);
    const text = redact(clean(certain).trim()).replaceAll("\n", "\n  ");
    if (!text.startsWith(shown.written)) {
      shown.isCertain = false;
      return;
    }
    const added = text.slice(shown.written.length);
    if (added !== "") write(shown.written === "" ? `${paintLabel(label)} ${added}` : added);
    shown.written = text;
    if (isWhole) whole.set(label, text);
  }

  function endLine(): void {
    if (open && open.written !== "") write("\n");
    open = undefined;
  }

  return {
    push: (piece: string): void => scanner.push(piece),
    /**
     * Completes the thought whose beginning is shown, ends its line and forgets the reply. `textOf` returns a thought of
     * the finished reply. Returns the thoughts that are shown whole, by label, as they were shown.
     */
    end: (textOf: (label: string) => string | undefined): ReadonlyMap<string, string> => {
      const known = open && textOf(open.label);
      if (open?.isCertain && known !== undefined) showMore(Object.assign(open, { known }), true);
      endLine();
      const shown = whole;
      whole = new Map();
      scanner = createScanner(take);
      return shown;
    },
  };
}

/**
 * An event as the line of NDJSON that programs read, the same in `goald run --json` and `goald events --json`: the
 * event as it is in the log, and for every event of a call also the call itself, so that no reader has to join.
 */
export type EventLine = RecordedEvent & { readonly call?: CommandCall };

/** Remembers the calls of the events that it has seen; `begun`: those that are open where it starts to read a log. */
export function createEventLines(begun: AgentState["open"] = []): (event: RecordedEvent) => EventLine {
  const calls = new Map<string, CommandCall>();
  for (const open of begun) if (open.kind === "command") calls.set(open.callId, open.call);
  return (event) => {
    if (!("callId" in event)) return event;
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    const call = calls.get(event.callId);
    if (event.type === "command-finished" || event.type === "command-denied") calls.delete(event.callId);
    return call ? { ...event, call } : event;
  };
}
