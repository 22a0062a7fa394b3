/**
 * messages.ts -- renders one message of short-term memory for the model. A reply is sent as `assistant`. Any other
 * message is sent as `user`, or as `tool` when it answers a native call: a line of our words that names the source,
 * then the text in a delimiter. Control characters are removed from text of any source.
 */
import { writeCalls } from "#core/call.ts";
import { DO_NOTHING, isCellCommand, PASSIVE_COMMANDS, RUN_CODE, TASK_COMPLETE, THOUGHT } from "#core/command.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { Frame, Message } from "#core/state.ts";
import { clip, headOf, isBlobRef, oneLine } from "#core/text.ts";
import { readWrittenAction } from "#reply/find-call.ts";
import { splitAction } from "#reply/split-action.ts";
import { rememberBy } from "#util/caches.ts";
import { asRecord, isRecord, parseJson } from "#util/json.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText, describeMessageSource, formatName } from "./delimit.ts";
import { estimateMessage, type SizedMessage, shrinkText } from "./tokens.ts";
import { type FormTemplates, fillTemplate, JSON_WORDS, type Words } from "./words.ts";

export interface RenderedMessage extends SizedMessage {
  readonly message: Message;
  readonly isClipped: boolean;
}

/** Renders a whole message, once per message object, words and style: state keeps its objects between steps. */
export function renderMessage(message: Message, words: Words, style: MessageStyle = JSON_STYLE): RenderedMessage {
  const { form } = style.form;
  const number = form === "react" || form === "tools" ? style.numberOf(message) : 0;
  return renderWhole(message, words, style.form, number);
}

const renderWhole = rememberBy(
  (message: Message, words: Words, form: MessageStyle["form"], number: number): RenderedMessage =>
    renderWithin(message, words, { form, numberOf: () => number }, Number.POSITIVE_INFINITY),
);

/** Clips a message in the middle to at most `maxTokens`, or to its bare frame when that is larger. */
export function renderClipped(
  whole: RenderedMessage,
  words: Words,
  maxTokens: number,
  style: MessageStyle = JSON_STYLE,
): RenderedMessage {
  if (whole.tokens <= maxTokens) return whole;
  const { message } = whole;
  const length = headOf(message.text).length;
  return shrinkText(length, whole.tokens, maxTokens, (limit) => renderWithin(message, words, style, limit));
}

/** Renders the smallest form of a message: its frame and the gap mark. */
export const renderMinimal = (message: Message, words: Words, style: MessageStyle = JSON_STYLE): RenderedMessage =>
  renderClipped(renderMessage(message, words, style), words, 0, style);

/** Room for the gap mark: a fully clipped text must not look like an empty one. */
const GAP_CHARS = 48;

function renderWithin(message: Message, words: Words, style: MessageStyle, maxChars: number): RenderedMessage {
  const cleaned = clean(headOf(message.text)).toWellFormed();
  const called = message.kind === "reply" && style.form.form === "tools" ? showCalls(message, cleaned, maxChars) : null;
  if (called) return called;
  const whole = message.kind === "reply" ? showReply(message, cleaned, words, style) : cleaned;
  const clipped = clip(whole, Math.max(maxChars, GAP_CHARS));
  // The gap mark can be longer than the clipped text.
  const isClipped = clipped.length < whole.length;
  const shown = isClipped ? clipped : whole;
  const written = toPromptMessage(message, completeText(message, shown, words), words, style);
  const isTool = style.form.form === "tools" && isAnswer(message);
  const prompt = isTool
    ? { ...written, role: "tool" as const, callId: idOf(message, style.numberOf(message)) }
    : written;
  return { message, prompt, tokens: estimateMessage(prompt.content), isClipped };
}

function completeText({ text }: Message, shown: string, words: Words): string {
  if (isBlobRef(text))
    return `${shown}\n${fillTemplate(words["messages/spilled-text"], { bytes: String(text.bytes) })}`;
  return shown.trim() === "" ? fillTemplate(words["messages/empty-text"]) : shown;
}

function toPromptMessage(message: Message, text: string, words: Words, style: MessageStyle): PromptMessage {
  if (message.kind === "reply") return { role: "assistant", content: text };
  const isShownAsJson = message.kind === "result" || message.kind === "problem";
  if (isShownAsJson && style.form.form === "plan") return showObservation(message, text, words, style.form);
  const from = formatName(message.from);
  const kind = message.kind === "task" || message.kind === "feedback" ? "words" : "data";
  const values = {
    step: String(message.step),
    status: message.status ?? "ok",
    from,
    command: from,
    source: describeMessageSource(message),
    number: String(style.numberOf(message)),
    [kind]: delimitText(kind, text),
  };
  const isDenial = message.kind === "feedback" && message.status === "denied";
  const own = isDenial ? "messages/denial" : (`messages/${message.kind}` as const);
  const template = message.kind === "result" ? resultWords(message, style) : own;
  return { role: "user", content: fillTemplate(words[template], values) };
}

/** In the form `react` every result is an observation; in the form `code` only that of code is shown as one. */
function resultWords({ from }: Message, { form }: MessageStyle) {
  if (!("result" in form)) return "messages/result";
  return form.form === "react" || isCellCommand(from) ? form.result : "messages/result";
}

export interface MessageStyle {
  readonly form: FormTemplates;
  /** In the form `react` the number of its step, in the form `tools` its place among the answers of its step, from 0. */
  numberOf(message: Message): number;
}
const JSON_STYLE: MessageStyle = { form: JSON_WORDS, numberOf: () => 1 };

/**
 * Shows a reply of short-term memory in the form of the present request. The log keeps a reply as the model wrote it,
 * and the form of an agent can change. A reply of another form is written anew, so that the model sees one pattern: its
 * calls of commands as code or as actions, or its code as a command. `text`: the text of the message, without control
 * characters.
 */
function showReply(message: Message, text: string, words: Words, { form, numberOf }: MessageStyle): string {
  switch (form.form) {
    case "json":
    case "tools":
      return message.form === undefined ? text : asCommand(message, text);
    case "plan":
      return asActions(message, text);
    case "code":
      return message.form === "code" ? splitAction(text, "code").shown : asProse(toCode(readReply(message, text)));
    case "react":
      return asDialog(toCode(readReply(message, text)), numberOf(message), words["react/opening"].text);
  }
}

interface WrittenCall {
  readonly name?: unknown;
  readonly args?: unknown;
}

/** The content of a reply, without a call when it is prose that ends the work or cannot be read. */
interface Said {
  readonly thought: string;
  readonly calls: readonly WrittenCall[];
}

function readReply({ form }: Message, text: string): Said {
  if (form === undefined) return readCommand(text);
  if (form === "plan") {
    const action = readWrittenAction(text);
    return action ? { thought: "", calls: [action] } : { thought: text, calls: [] };
  }
  const { thought, code } = splitAction(text, form);
  return { thought, calls: code === null ? [] : [{ name: RUN_CODE, args: { code } }] };
}

/** A reply that is not JSON and cannot be read is shown as it is. */
function asCommand(message: Message, text: string): string {
  const { thought, calls } = readReply(message, text);
  const [command] = calls;
  if (command) return JSON.stringify({ thoughts: { text: thought }, command });
  return isProse(message) ? JSON.stringify({ command: endedBy(thought) }) : text;
}

/** Prose without code ended the work. */
const endedBy = (reason: string): WrittenCall => ({ name: TASK_COMPLETE, args: { reason } });
const isProse = ({ form }: Message): boolean => form === "react" || form === "code";

/** The reply of any form as calls. */
function readCalls(message: Message, text: string): Said {
  const said = readReply(message, text);
  return said.calls.length === 0 && isProse(message) ? { thought: "", calls: [endedBy(said.thought)] } : said;
}

/** Several native tool calls are several actions, one a line. */
function asActions(message: Message, text: string): string {
  const { thought, calls } = readCalls(message, text);
  return calls.length > 0 ? calls.map((call) => showAction(call, thought)).join("\n") : text;
}

type Shown = ReturnType<typeof toCode>;

function toCode({ thought, calls }: Said) {
  const [{ name, args } = {}] = calls;
  const { code } = asRecord(args);
  if (name === RUN_CODE && typeof code === "string") return { thought, code };
  return { thought, code: calls.length === 0 ? null : calls.map(writeCall).join("\n") };
}

const asProse = ({ thought, code }: Shown): string =>
  [thought, code === null ? "" : fenceCode(code)].filter((part) => part !== "").join("\n\n");

function asDialog({ thought, code }: Shown, number: number, opening: string): string {
  const isPrefixed = number === 1 || thought.toLowerCase().startsWith(opening.toLowerCase());
  const words = isPrefixed ? thought : `${opening} ${thought}`;
  return [`THOUGHT ${number}:\n${words}`, ...(code === null ? [] : [`ACTION ${number}:\n${fenceCode(code)}`])]
    .join("\n\n")
    .trim();
}

function fenceCode(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/^[ \t]*(`{3,})/gm)].map(([, marks = ""]) => marks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}python\n${code}\n${fence}`;
}

/** A reply in JSON. One that cannot be read is shown as a thought. */
function readCommand(text: string): Said {
  const { thoughts, command, commands } = asRecord(parseJson(text));
  const calls = (Array.isArray(commands) ? commands : [command]).filter(isRecord);
  if (calls.length === 0) return { thought: text, calls };
  const { speak, text: told } = asRecord(thoughts);
  const thought = [told, speak].find((words) => typeof words === "string" && words !== "");
  return { thought: typeof thought === "string" ? thought : "", calls };
}

function writeCall({ name, args }: WrittenCall): string {
  const given = Object.entries(asRecord(args)).map(([key, value]) => `${key}=${writePython(value)}`);
  return `${String(name)}(${given.join(", ")})`;
}

function writePython(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(writePython).join(", ")}]`;
  if (isRecord(value))
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}: ${writePython(inner)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

/** Servers take no other names. */
const TOOL_NAME = /^[\w-]{1,64}$/;

/**
 * Shows a reply in the form `tools` as native calls; null for one without a call that can be shown. Texts in the
 * arguments are clipped to `maxChars` together.
 */
function showCalls(message: Message, text: string, maxChars: number): RenderedMessage | null {
  const { thought, calls } = readCalls(message, text);
  const given = calls.map(({ name, args }) => ({ name: String(name), args: asRecord(args) }));
  const [first] = given;
  if (!first || !given.every(({ name }) => TOOL_NAME.test(name))) return null;
  const hasThought = thought === "" || Object.hasOwn(first.args, THOUGHT);
  if (!hasThought) first.args = { [THOUGHT]: thought, ...first.args };
  const whole = given.map(({ args }) => JSON.stringify(args));
  const share = maxChars / whole.join("").length;
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === "string" ? clip(value, Math.max(GAP_CHARS, Math.floor(value.length * share))) : value;
  const shown = share < 1 ? given.map(({ args }) => JSON.stringify(args, shorten)) : whole;
  const written = given.map(({ name }, at) => ({ id: idOf(message, at), name, args: shown[at] as string }));
  const prompt = { role: "assistant", content: hasThought ? thought : "", calls: written } as const;
  const tokens = estimateMessage(writeCalls(written) + prompt.content);
  return { message, prompt, tokens, isClipped: shown.some((args, at) => args !== whole[at]) };
}

/** The same for a call and its answer at each step. */
const idOf = ({ step }: Message, place: number): string => `c${String(step).padStart(7, "0")}${place}`;

/** Answers the calls of its step. A person's no does where nothing else does. */
const isAnswer = ({ kind, status }: Message): boolean =>
  kind === "result" || kind === "problem" || (kind === "feedback" && status === "denied");

/** Returns the place of an answer among those of its step, from 0. */
function placeAnswers(window: readonly Message[]): MessageStyle["numberOf"] {
  return (message) => {
    const answers = window.filter((each) => each.step === message.step && isAnswer(each));
    return answers.toSorted((a, b) => Number(a.kind === "feedback") - Number(b.kind === "feedback")).indexOf(message);
  };
}

/**
 * Moves each answer behind its call: servers refuse a call without a result, a result without its call, and anything
 * between the two. A reply with a call that has no answer among the messages is shown in JSON, and an answer without
 * its call as a message of the user.
 */
export function pairCalls(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const answers = new Map(messages.flatMap((each) => (each.callId === undefined ? [] : [[each.callId, each]])));
  const isPaired = ({ calls = [] }: PromptMessage): boolean => calls.every(({ id }) => answers.has(id));
  const paired = new Set(messages.filter(isPaired).flatMap(({ calls = [] }) => calls.map(({ id }) => id)));
  return messages.flatMap((each): readonly PromptMessage[] => {
    const { calls, callId, content } = each;
    if (callId !== undefined) return paired.has(callId) ? [] : [{ role: "user", content }];
    if (!calls) return [each];
    if (!isPaired(each)) return [{ role: "assistant", content: writeCalls(calls) }];
    return [each, ...calls.flatMap(({ id }) => answers.get(id) ?? [])];
  });
}

const MAX_MESSAGE_CHARS = 80;

/**
 * Returns in the form `plan` the messages without null actions and null observations; else all messages. What a passive
 * command did is in its action and in the plan. A failure is always shown.
 */
export function withoutNull(window: readonly Message[], { form }: FormTemplates): readonly Message[] {
  if (form !== "plan") return window;
  const isNull = ({ kind, from, status }: Message): boolean =>
    kind === "result" && status === "ok" && PASSIVE_COMMANDS.has(from);
  const idle = new Set(window.filter((each) => isNull(each) && each.from === DO_NOTHING).map(({ step }) => step));
  return window.filter((each) => !isNull(each) && !(each.kind === "reply" && idle.has(each.step)));
}

/**
 * Shows an action of the form `plan`. Actions and observations are JSON, in the shape of OpenDevin's planner:
 *   assistant {"action": "read_file", "args": {"file": "a.md"}, "message": "Read file: a.md"}
 *   user {"observation": "read_file", "content": "<data-…>…</data-…>", "extras": {…}, "message": "…"}
 * `thought`: what the model said beside the action; empty for nothing.
 */
const showAction = ({ name, args }: WrittenCall, thought = ""): string =>
  JSON.stringify({ action: name, args: args ?? {}, message: describeAction(String(name), args, thought) });

/** The action in a few words, such as `Read file: a.md`. */
function describeAction(name: string, args: unknown, thought: string): string {
  const [first = ""] = Object.values(Object(args)).filter((value) => typeof value === "string");
  const words = name.replaceAll("_", " ");
  const said = thought === "" ? first : thought;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${said === "" ? "" : `: ${oneLine(said, MAX_MESSAGE_CHARS)}`}`;
}

/**
 * Shows the result of an action, or the reason why a reply could not be used. The content is a string of JSON and in a
 * delimiter, so text from outside ends neither. `text`: the text of the message, fit for the prompt.
 */
function showObservation(
  message: Message,
  text: string,
  words: Words,
  form: Extract<FormTemplates, { form: "plan" }>,
): PromptMessage {
  const { kind, from } = message;
  const step = String(message.step);
  const isError = kind === "problem";
  const status = message.status ?? (isError ? "failed" : "ok");
  const action = isError ? "error" : formatName(from);
  const told = isError
    ? fillTemplate(words[form.error], { step })
    : fillTemplate(words[form.observation], { step, status, action, source: describeMessageSource(message) });
  const observation = {
    observation: action,
    content: delimitText("data", text),
    extras: { step: message.step, status },
    message: told,
  };
  return { role: "user", content: JSON.stringify(observation) };
}

export const styleOf = (form: FormTemplates, frame: Frame): MessageStyle => ({
  form,
  numberOf: form.form === "tools" ? placeAnswers(frame.window) : numberMessages(frame).of,
});

/**
 * Numbers the replies of a frame from 1, for THOUGHT, ACTION and OBSERVATION. Each model call leaves one reply, and the
 * calls of the frame are counted: the numbers go on when the window moves.
 */
export function numberMessages({ asked, phase, window }: Frame) {
  const isAsking = phase.kind === "asking" || phase.kind === "retrying";
  const next = asked + (isAsking ? 0 : 1);
  const steps = [...new Set(window.filter(({ kind }) => kind === "reply").map(({ step }) => step))];
  return {
    /** Number of the reply that the request asks for. */
    next,
    /** Number of a reply, and of what belongs to its step. */
    of: ({ step }: Message): number =>
      Math.max(1, next - steps.length + steps.filter((each) => each <= step).length - 1),
  };
}
