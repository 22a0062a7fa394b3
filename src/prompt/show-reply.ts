/**
 * show-reply.ts -- shows a reply of short-term memory in the form of the present request.
 *
 * The log keeps a reply as the model wrote it, and the form of an agent can change. A reply of another form is written anew, so
 * that the model sees one pattern: its calls of commands as code or as actions, or its code as a command.
 */

import { RUN_CODE, TASK_COMPLETE } from "#core/command-names.ts";
import type { Message } from "#core/state.ts";
import { readWrittenAction } from "#reply/find-call.ts";
import { splitAction } from "#reply/split-action.ts";
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";
import { showAction } from "./action-history.ts";
import { type FormWords, JSON_WORDS } from "./form-words.ts";

/** How messages are shown. */
export interface MessageStyle {
  readonly form: FormWords;
  numberOf(message: Message): number;
}
export const JSON_STYLE: MessageStyle = { form: JSON_WORDS, numberOf: () => 1 };

/** `text`: the text of the message, without control characters. */
export function showReply(message: Message, text: string, { form, numberOf }: MessageStyle): string {
  switch (form.form) {
    case "json":
    case "tools":
      return message.form === undefined ? text : asCommand(message, text);
    case "plan":
      return asActions(message, text);
    case "code":
      return message.form === "code" ? splitAction(text, "code").shown : asProse(toCode(readReply(message, text)));
    case "react":
      return asDialog(toCode(readReply(message, text)), numberOf(message));
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
  const [command] = calls.length > 0 || message.form === "plan" ? calls : [endedBy(thought)];
  if (!command) return text;
  return JSON.stringify(calls.length === 0 ? { command } : { thoughts: { text: thought }, command });
}

/** Several native tool calls are several actions, one a line. */
function asActions(message: Message, text: string): string {
  const { thought, calls } = readReply(message, text);
  if (calls.length > 0) return calls.map((call) => showAction(call, thought)).join("\n");
  const isProse = message.form === "react" || message.form === "code";
  return isProse ? showAction(endedBy(thought)) : text;
}

/** Prose without code ended the work. */
const endedBy = (reason: string): WrittenCall => ({ name: TASK_COMPLETE, args: { reason } });

interface Shown {
  readonly thought: string;
  readonly code: string | null;
}

function toCode({ thought, calls }: Said): Shown {
  const [{ name, args } = {}] = calls;
  const { code } = recordOf(args);
  if (name === RUN_CODE && typeof code === "string") return { thought, code };
  return { thought, code: calls.length === 0 ? null : calls.map(writeCall).join("\n") };
}

const asProse = ({ thought, code }: Shown): string =>
  [thought, code === null ? "" : fenceCode(code)].filter((part) => part !== "").join("\n\n");

const PREFIX = "Based on previous observations,";

function asDialog({ thought, code }: Shown, number: number): string {
  const isPrefixed = number === 1 || thought.toLowerCase().startsWith(PREFIX.toLowerCase());
  const words = isPrefixed ? thought : `${PREFIX} ${thought}`;
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
  const { thoughts, command, commands } = recordOf(parseJson(text));
  const calls = (Array.isArray(commands) ? commands : [command]).filter(isRecord);
  if (calls.length === 0) return { thought: text, calls };
  const { speak, text: told } = recordOf(thoughts);
  const thought = [told, speak].find((words) => typeof words === "string" && words !== "");
  return { thought: typeof thought === "string" ? thought : "", calls };
}

function writeCall({ name, args }: WrittenCall): string {
  const given = Object.entries(recordOf(args)).map(([key, value]) => `${key}=${writePython(value)}`);
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

const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
