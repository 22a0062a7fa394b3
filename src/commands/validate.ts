/**
 * validate.ts -- from a file's default export to a command that can be relied on.
 *
 * All that is wrong with a file is said at once, each as what was expected and what came. What a person's own
 * command leaves out has a default: no arguments, the name as its label; facts for the policy that are not stated are
 * taken for the worst.
 */

import type { Annotations, Effect } from "#core/call.ts";
import type { Command } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { SERVICES, type ServiceName } from "#core/services.ts";
import { lineOfProblem } from "./load-file.ts";

/** A checked command: nothing in it is left to a default. */
export interface RegisteredCommand extends Command {
  readonly effect: Effect;
  readonly timeoutMs: number;
  readonly needs: readonly ServiceName[];
}

export const COMMAND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const ARGUMENT = /^[a-z][A-Za-z0-9_]{0,63}$/;
const EFFECTS: readonly Effect[] = ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"];
/** setTimeout takes no more. */
const MAX_TIMEOUT_MS = 2_147_483_647;
const DEFAULT_TIMEOUT_MS = 60_000;

type Fields = Readonly<Record<string, unknown>>;

/** Which fields a command may have, and which of them are functions. */
const WORDS = ["name", "label", "summary", "args", "annotations", "effect", "timeoutMs", "needs", "closesTurn"];
const FUNCTIONS = ["prepare", "run", "probe"];

/**
 * Throws GOALD_COMMAND_INVALID with everything that is wrong. `name` is the file's name without its ending. `readSource`
 * is asked only when something is, for the lines of the problems.
 */
export function readCommand(name: string, file: string, exported: unknown, readSource = () => ""): RegisteredCommand {
  if (!isFields(exported))
    throw invalid(file, readSource(), [expected("a command as default export, a plain object", exported)]);
  const problems = [
    ...nameProblems(name, exported),
    ...wordProblems(exported),
    ...argsProblems(exported.args ?? NO_ARGS),
    ...annotationProblems(exported),
    ...effectProblems(exported),
    ...needProblems(exported),
  ];
  if (problems.length > 0) throw invalid(file, readSource(), problems);
  const command = exported as unknown as Given;
  return deepFreeze({
    ...command,
    label: command.label ?? labelOf(name),
    args: structuredClone(command.args ?? NO_ARGS),
    annotations: worstByDefault(command.annotations ?? {}),
    effect: command.effect ?? "at-most-once",
    timeoutMs: command.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    needs: [...(command.needs ?? [])],
  });
}

/** A checked export: what may be left out may be missing. */
type Given = Omit<Command, "label" | "args" | "annotations"> &
  Partial<Pick<Command, "label" | "args">> & { readonly annotations?: Partial<Annotations> };

const NO_ARGS = { type: "object", properties: {} } as const;

/** `post_note` is `Post note`. */
const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

function nameProblems(name: string, { name: own, closesTurn }: Fields): string[] {
  if (!COMMAND_NAME.test(name)) return [expected("a file name of small letters, digits and underscores", name)];
  if (own !== name) return [expected(`name: ${show(name)}, as the file is called`, own)];
  const closes = name === "task_complete";
  if (closes && closesTurn !== true)
    return [expected("closesTurn: true, since nothing else ends the work", closesTurn)];
  if (!closes && closesTurn === true) return ["closesTurn is for task_complete alone"];
  return [];
}

function wordProblems(command: Fields): string[] {
  const problems: string[] = [];
  for (const [field, limit] of [
    ["label", 60],
    ["summary", 300],
  ] as const) {
    const text = command[field];
    if (field === "label" && text === undefined) continue;
    if (typeof text !== "string" || text.trim() === "" || text.length > limit || /[\p{Cc}\u2028\u2029]/u.test(text))
      problems.push(expected(`${field}: one line of text, up to ${limit} characters`, text));
  }
  for (const key of Object.keys(command))
    if (!WORDS.includes(key) && !FUNCTIONS.includes(key))
      problems.push(`there is no field ${show(key)}; known are ${[...WORDS, ...FUNCTIONS].join(", ")}`);
  for (const key of FUNCTIONS)
    if (typeof command[key] !== "function" && (key === "run" || command[key] !== undefined))
      problems.push(expected(`${key}: a function`, command[key]));
  return problems;
}

function annotationProblems({ annotations = {}, effect }: Fields): string[] {
  if (!isFields(annotations))
    return [expected("annotations: { readOnly, destructive, idempotent, openWorld }", annotations)];
  const known = ["readOnly", "destructive", "idempotent", "openWorld", "restorable"];
  const problems: string[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    if (!known.includes(key)) problems.push(`there is no annotation ${show(key)}; known are ${known.join(", ")}`);
    else if (typeof value !== "boolean") problems.push(expected(`annotations.${key}: true or false`, value));
  }
  if (effect === "pure" && annotations.readOnly !== true)
    problems.push(expected("annotations.readOnly: true, as its effect is pure", annotations.readOnly));
  return problems;
}

function effectProblems({ effect, probe, prepare, timeoutMs }: Fields): string[] {
  const problems: string[] = [];
  if (effect !== undefined && !EFFECTS.includes(effect as Effect))
    problems.push(expected(`effect: one of ${EFFECTS.join(", ")}`, effect));
  if (effect === "reconcilable" && (typeof probe !== "function" || typeof prepare !== "function"))
    problems.push("a reconcilable command needs prepare, which records how things were, and probe, which compares");
  const isTime =
    Number.isSafeInteger(timeoutMs) && (timeoutMs as number) > 0 && (timeoutMs as number) <= MAX_TIMEOUT_MS;
  if (timeoutMs !== undefined && !isTime)
    problems.push(expected(`timeoutMs: a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`, timeoutMs));
  return problems;
}

function needProblems({ needs = [] }: Fields): string[] {
  if (!Array.isArray(needs)) return [expected("needs: a list of services", needs)];
  return needs
    .filter((name) => !SERVICES.includes(name))
    .map((name) => expected(`needs: services that there are (${SERVICES.join(", ")})`, name));
}

// ---------------------------------------------------------------- the arguments' schema

/** Keywords of each type, each with what its value must be. */
const KEYWORDS: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  string: { enum: isTexts, minLength: isCount, maxLength: isCount, pattern: isPattern },
  integer: { minimum: isNumber, maximum: isNumber },
  number: { minimum: isNumber, maximum: isNumber },
  boolean: {},
  array: { items: isTextItem, minItems: isCount, maxItems: isCount },
};

function argsProblems(args: unknown): string[] {
  if (!isFields(args) || args.type !== "object" || !isFields(args.properties))
    return [expected('args: { type: "object", properties: {…}, required: […] }', args)];
  const problems: string[] = [];
  for (const key of Object.keys(args))
    if (!["type", "properties", "required", "additionalProperties"].includes(key))
      problems.push(`args has an unknown keyword ${show(key)}`);
  if (args.additionalProperties !== undefined && args.additionalProperties !== false)
    problems.push(expected("args.additionalProperties: false, or nothing", args.additionalProperties));
  for (const [name, schema] of Object.entries(args.properties)) problems.push(...argumentProblems(name, schema));
  const { required, properties } = args;
  if (required === undefined) return problems;
  if (!Array.isArray(required)) return [...problems, expected("args.required: a list of argument names", required)];
  for (const name of required)
    if (typeof name !== "string" || !Object.hasOwn(properties, name))
      problems.push(expected("args.required: names of arguments that properties defines", name));
  return problems;
}

function argumentProblems(name: string, schema: unknown): string[] {
  const at = `args.properties.${name}`;
  if (!ARGUMENT.test(name)) return [expected("argument names of letters, digits and underscores", name)];
  if (!isFields(schema)) return [expected(`${at}: a schema`, schema)];
  const { type, description, hint, ...rest } = schema;
  const keywords = typeof type === "string" && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (!keywords) return [expected(`${at}.type: one of ${Object.keys(KEYWORDS).join(", ")}`, type)];
  const problems: string[] = [];
  if (description !== undefined && (typeof description !== "string" || description.trim() === ""))
    problems.push(expected(`${at}.description: some words`, description));
  if (hint !== undefined && (typeof hint !== "string" || !/^[\p{L}\p{N} _.|/-]{1,60}$/u.test(hint)))
    problems.push(expected(`${at}.hint: a short word`, hint));
  if (type === "array" && rest.items === undefined)
    problems.push(expected(`${at}.items: { type: "string" }`, undefined));
  for (const [key, value] of Object.entries(rest)) {
    const isRight = Object.hasOwn(keywords, key) ? keywords[key] : undefined;
    if (!isRight) problems.push(`${at} of type ${type} has an unknown keyword ${show(key)}`);
    else if (!isRight(value)) problems.push(expected(`${at}.${key}: a value that JSON Schema allows there`, value));
  }
  return problems;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === "string");
}
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
function isNumber(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}
function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") !== undefined;
  } catch {
    return false;
  }
}
function isTextItem(value: unknown): boolean {
  return isFields(value) && value.type === "string" && (value.minLength === undefined || isCount(value.minLength));
}

// ---------------------------------------------------------------- small things

const worstByDefault = (stated: Partial<Annotations>): Annotations => ({
  ...stated,
  readOnly: stated.readOnly ?? false,
  destructive: stated.destructive ?? stated.readOnly !== true,
  idempotent: stated.idempotent ?? false,
  openWorld: stated.openWorld ?? true,
});

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const expected = (what: string, got: unknown): string => `expected ${what}; got ${show(got)}`;

function show(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function invalid(file: string, source: string, problems: readonly string[]): GoaldError {
  const located = problems.map((problem) => {
    const line = lineOfProblem(problem, source);
    return line === undefined ? problem : `line ${line}: ${problem}`;
  });
  return new GoaldError("GOALD_COMMAND_INVALID", `${file} is no command: ${located.join("; ")}.`, {
    hint: "Mend the file, or take it out of the folder.",
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
