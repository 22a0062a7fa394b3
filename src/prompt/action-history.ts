/**
 * action-history.ts -- the history of the form `plan`: actions and observations as JSON, in the shape of OpenDevin's planner.
 *
 *   assistant  {"action": "read_file", "args": {"file": "a.md"}, "message": "Read file: a.md"}
 *   user       {"observation": "read_file", "content": "<data-…>…</data-…>", "extras": {…}, "message": "…"}
 *
 * The content is a string of JSON and in a delimiter, so text from outside ends neither. Null actions and null observations
 * are not shown.
 */
import { DO_NOTHING, PASSIVE_COMMANDS } from "#core/command-names.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { Message } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { delimitText } from "./delimit.ts";
import { describeMessageSource } from "./describe-source.ts";
import type { FormWords } from "./form-words.ts";
import { formatName } from "./format-name.ts";
import { fillTemplate, type Words } from "./template.ts";

const MAX_MESSAGE_CHARS = 80;

/**
 * In the form `plan` without null actions and null observations; else all messages. What a passive command did is in its action
 * and in the plan. A failure is always shown.
 */
export function withoutNull(window: readonly Message[], { form }: FormWords): readonly Message[] {
  if (form !== "plan") return window;
  const isNull = ({ kind, from, status }: Message): boolean =>
    kind === "result" && status === "ok" && PASSIVE_COMMANDS.has(from);
  const idle = new Set(window.filter((each) => isNull(each) && each.from === DO_NOTHING).map(({ step }) => step));
  return window.filter((each) => !isNull(each) && !(each.kind === "reply" && idle.has(each.step)));
}

interface ShownAction {
  readonly name?: unknown;
  readonly args?: unknown;
}

/** `thought`: what the model said beside the action; empty for nothing. */
export const showAction = ({ name, args }: ShownAction, thought = ""): string =>
  JSON.stringify({ action: name, args: args ?? {}, message: describeAction(String(name), args, thought) });

/** The action in a few words, such as `Read file: a.md`. */
function describeAction(name: string, args: unknown, thought: string): string {
  const [first = ""] = Object.values(Object(args)).filter((value) => typeof value === "string");
  const words = name.replaceAll("_", " ");
  const said = thought === "" ? first : thought;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${said === "" ? "" : `: ${oneLine(said, MAX_MESSAGE_CHARS)}`}`;
}

/** The result of an action, or the reason why a reply could not be used. `text`: the text of the message, fit for the prompt. */
export function showObservation(
  message: Message,
  text: string,
  words: Words,
  form: Extract<FormWords, { form: "plan" }>,
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
