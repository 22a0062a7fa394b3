/**
 * describe.ts -- the commands in words: for the prompt, and for people. The prompt's lines have AutoGPT's form:
 * required arguments, optional arguments, then the summary.
 */
import { dirname } from "node:path";
import type { Effect } from "#core/call.ts";
import { type ArgsSchema, followReference, type JsonSchema, typesOf } from "#core/command.ts";
import { isRisky } from "#core/policy.ts";
import { oneLine } from "#core/text.ts";
import type { PythonFunction, PythonModule } from "./python-modules.ts";
import type { RegisteredCommand, Registry } from "./registry.ts";

/** JSON element of `goald commands --json`. */
export interface CommandLine
  extends Pick<RegisteredCommand, "name" | "label" | "summary" | "group" | "effect" | "needs" | "timeoutMs"> {
  readonly state: "ready" | "not-set-up";
  /** False: prompts do not list it, and method search finds it. */
  readonly listed: boolean;
  /** Each missing step is a sentence; empty when the command is ready. */
  readonly toDo: readonly string[];
  readonly args: readonly {
    readonly name: string;
    /** Such as `string` or `string or null`; `any` when the schema names none. */
    readonly type: string;
    readonly required: boolean;
    readonly description: string | null;
  }[];
  /** In the terms of the policy mode `risky`. */
  readonly risk: string;
  readonly origin: "shipped" | "home";
  readonly file: string;
}

/** Commands in `shippedFolder` have the origin "shipped", even when a checkout is the home. */
export function listCommands(registry: Registry, shippedFolder: string): readonly CommandLine[] {
  const ready = registry.all.map((command) => ({ command, toDo: [] }));
  const shown = [...ready, ...registry.unavailable].filter(({ command }) => command.isInternal !== true);
  return shown.map(({ command, toDo }) => {
    const { name, label, summary, group, listed, args, effect, needs, timeoutMs } = command;
    const file = registry.fileOf(name) ?? "";
    return {
      name,
      label,
      summary,
      group,
      state: toDo.length === 0 ? "ready" : "not-set-up",
      listed: listed !== false,
      toDo,
      args: Object.entries(args.properties).map(([argument, schema]) => ({
        name: argument,
        type: typesOf(followReference(schema, args)).join(" or ") || "any",
        required: (args.required ?? []).includes(argument),
        description: followReference(schema, args).description ?? null,
      })),
      effect,
      risk: describeRisk(command),
      needs,
      timeoutMs,
      origin: dirname(file) === shippedFolder ? "shipped" : "home",
      file,
    };
  });
}

/** JSON element of `methods` in `goald commands --json`. */
export interface MethodLine extends Omit<PythonFunction, "line"> {
  readonly file: string;
}

export const listMethods = (modules: readonly PythonModule[]): readonly MethodLine[] =>
  modules.flatMap(({ path, functions }) =>
    functions.map(({ name, signature, doc }) => ({ name, signature, doc, file: path })),
  );

/** Renders one command as text for people. */
export function describeCommand(line: CommandLine): string {
  const args = line.args.map(
    ({ name, type, required, description }) =>
      `  ${name}: ${type}${required ? "" : ", optional"}${description === null ? "" : `. ${description}`}`,
  );
  return [
    `${line.name} (${line.label}): ${line.summary}`,
    ...(line.listed ? [] : ["Not listed in prompts: method_search finds it."]),
    ...(line.toDo.length > 0 ? [`Not set up, so hidden from models. ${line.toDo.join(" ")}`] : []),
    args.length > 0 ? `Arguments:\n${args.join("\n")}` : "It takes no arguments.",
    `After a crash: ${CRASH_SENTENCES[line.effect]}`,
    `Group: ${line.group}. Risk: ${line.risk}. Timeout: ${Math.round(line.timeoutMs / 1000)} s.`,
    `From: ${line.file}`,
  ].join("\n");
}

const CRASH_SENTENCES: Readonly<Record<Effect, string>> = {
  pure: "runs again, since it changes nothing.",
  idempotent: "runs again, since a second run has the same result.",
  transactional: "runs again, since its effect is committed together with its result.",
  reconcilable: "checks whether its effect happened, and runs again only if it did not.",
  "at-most-once": "never runs again; the agent sees that the outcome is unknown.",
};

/** Renders one line per command: `9. Read file: "read_file", args: "file": "<path>", optional "first_line": <from 1>`. */
export const describeForPrompt = (all: readonly RegisteredCommand[]): string =>
  all.map((command, index) => `${index + 1}. ${command.label}: ${describeFoundCommand(command)}`).join("\n");

/** Renders a command that the list does not have, without a number and a label. */
export function describeFoundCommand({ name, args, summary }: RegisteredCommand): string {
  const list = describeMembers(args);
  return `"${name}", args:${list === "" ? "" : ` ${list}`} -- ${summary}`;
}

/** For the tables of commands. describeCommand has the same in sentences. */
export const AFTER_CRASH: Readonly<Record<Effect, string>> = {
  pure: "safe to repeat",
  idempotent: "safe to repeat",
  transactional: "safe to repeat",
  reconcilable: "checks first",
  "at-most-once": "never repeated",
};

function describeRisk({ annotations }: RegisteredCommand): string {
  if (isRisky(annotations)) return "asks first";
  if (annotations.readOnly) return annotations.openWorld ? "reads outside" : "none";
  return annotations.destructive ? "restorable" : "only adds";
}

const MAX_DESCRIPTION_CHARS = 200;
const MAX_LEVELS = 4;
/** Per command, unless its outermost level alone is longer. */
const MAX_CHARS = 2_000;
const MAX_ALTERNATIVES = 3;

/**
 * Renders the arguments of a command for the prompt, as a model must write them: `"file": "<path>", optional
 * "first_line": <from 1>`. A description in angle brackets stands for each value: text in quotes, numbers without,
 * lists and objects in brackets. A schema that would take too much room is rendered again with fewer levels.
 */
const describeMembers = (args: ArgsSchema): string =>
  renderWithin(MAX_CHARS, (levels) => listMembers(args, args, levels));

/** Returns the text of the most levels that has at most so many characters, else that of one level. */
export function renderWithin(maxChars: number, render: (levels: number) => string): string {
  for (let levels = MAX_LEVELS; levels > 1; levels--) {
    const text = render(levels);
    if (text.length <= maxChars) return text;
  }
  return render(1);
}

function listMembers({ properties = {}, required = [] }: JsonSchema, root: JsonSchema, levels: number): string {
  const render = (isNeeded: boolean): string =>
    Object.entries(properties)
      .filter(([name]) => required.includes(name) === isNeeded)
      .map(([name, schema]) => `"${name}": ${describeValue(name, schema, root, levels)}`)
      .join(", ");
  const optional = render(false);
  return [render(true), optional === "" ? "" : `optional ${optional}`].filter((part) => part !== "").join(", ");
}

function describeValue(name: string, schema: JsonSchema, root: JsonSchema, levels: number): string {
  const followed = followReference(schema, root);
  const alternatives = (followed.anyOf ?? followed.oneOf ?? []).filter((each) => typesOf(each).join() !== "null");
  if (alternatives.length > 0 && levels > 1)
    return alternatives
      .slice(0, MAX_ALTERNATIVES)
      .map((each) => describeValue(name, { description: followed.description ?? name, ...each }, root, levels - 1))
      .join(" or ");
  const choices = followed.const === undefined ? followed.enum : [followed.const];
  if (choices) return describeChoices(followed.description, choices);
  const [type] = typesOf(followed);
  const { items, properties, description = name } = followed;
  if (type === "array" && levels > 1)
    return `[${describeValue(name, { description, ...(typeof items === "object" ? items : {}) }, root, levels - 1)}]`;
  if (type === "object" && properties && Object.keys(properties).length > 0 && levels > 1)
    return `{${listMembers(followed, root, levels - 1)}}`;
  const words = `<${oneLine(description, MAX_DESCRIPTION_CHARS)}>`;
  return type === "string" ? `"${words}"` : type === "array" ? `[${words}]` : type === "object" ? `{${words}}` : words;
}

/** Texts in quotes as one, such as `"<one of: x|y>"`. */
function describeChoices(description: string | undefined, choices: readonly unknown[]): string {
  const isText = choices.every((choice) => typeof choice === "string");
  const list = oneLine(choices.map((choice) => (isText ? String(choice) : JSON.stringify(choice))).join("|"), 400);
  const words = `<${description === undefined ? "" : `${oneLine(description, MAX_DESCRIPTION_CHARS)}: `}${list}>`;
  return isText ? `"${words}"` : words;
}
