/**
 * validate.ts -- checks the default export of a command file and fills in its defaults.
 *
 * Reports all problems of a file at once, each with the expected and the actual value. A missing label comes from the
 * name. Missing facts for the policy get the worst value.
 */

import type { Annotations, Effect } from "#core/call.ts";
import type { Command } from "#core/command.ts";
import { COMMAND_GROUPS, type CommandGroup } from "#core/command-profile.ts";
import { GoaldError } from "#core/errors.ts";
import { SERVICES, type ServiceName } from "#core/services.ts";
import { findProblemLine } from "./load-file.ts";

/** A checked command with all defaults filled in. */
export interface RegisteredCommand extends Command {
  readonly group: CommandGroup;
  readonly effect: Effect;
  readonly timeoutMs: number;
  readonly needs: readonly ServiceName[];
}

export const COMMAND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const ARGUMENT = /^[a-z][A-Za-z0-9_]{0,63}$/;
const EFFECTS: readonly Effect[] = ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"];
/** Maximum of setTimeout. */
const MAX_TIMEOUT_MS = 2_147_483_647;
const DEFAULT_TIMEOUT_MS = 60_000;

type CommandFields = Readonly<Record<string, unknown>>;

const WORDS = "name label summary group args annotations effect timeoutMs needs closesTurn".split(" ");
const FUNCTIONS = ["prepare", "run", "probe"];

/**
 * Throws GOALD_COMMAND_INVALID with all problems. `name` is the file name without extension. `readSource` is called only
 * for an invalid file, to find the lines of its problems.
 */
export function checkCommand(name: string, file: string, exported: unknown, readSource = () => ""): RegisteredCommand {
  if (!isFields(exported))
    throw createInvalidError(file, readSource(), [
      describeExpected("a command as default export, a plain object", exported),
    ]);
  const problems = [
    ...checkName(name, exported),
    ...checkWords(exported),
    ...checkArgs(exported.args ?? NO_ARGS),
    ...checkAnnotations(exported),
    ...checkEffect(exported),
    ...checkNeeds(exported),
  ];
  if (problems.length > 0) throw createInvalidError(file, readSource(), problems);
  const command = exported as unknown as CommandExport;
  return deepFreeze({
    ...command,
    label: command.label ?? createLabel(name),
    args: structuredClone(command.args ?? NO_ARGS),
    annotations: assumeWorst(command.annotations ?? {}),
    group: command.group ?? "own",
    effect: command.effect ?? "at-most-once",
    timeoutMs: command.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    needs: [...(command.needs ?? [])],
  });
}

/** A checked export: optional fields may be missing. */
type CommandExport = Omit<Command, "label" | "args" | "annotations"> &
  Partial<Pick<Command, "label" | "args">> & { readonly annotations?: Partial<Annotations> };

const NO_ARGS = { type: "object", properties: {} } as const;

/** `post_note` becomes `Post note`. */
const createLabel = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

function checkName(name: string, { name: own, closesTurn }: CommandFields): string[] {
  if (!COMMAND_NAME.test(name)) return [describeExpected("a file name of small letters, digits and underscores", name)];
  if (own !== name) return [describeExpected(`name: ${formatValue(name)}, the file name`, own)];
  const closes = name === "task_complete";
  if (closes && closesTurn !== true)
    return [describeExpected("closesTurn: true, since no other command ends the work", closesTurn)];
  if (!closes && closesTurn === true) return ["closesTurn is only for task_complete"];
  return [];
}

function checkWords(command: CommandFields): string[] {
  const problems: string[] = [];
  for (const [field, limit] of [
    ["label", 60],
    ["summary", 300],
  ] as const) {
    const text = command[field];
    if (field === "label" && text === undefined) continue;
    if (typeof text !== "string" || text.trim() === "" || text.length > limit || /[\p{Cc}\u2028\u2029]/u.test(text))
      problems.push(describeExpected(`${field}: one line of text, up to ${limit} characters`, text));
  }
  for (const key of Object.keys(command))
    if (!WORDS.includes(key) && !FUNCTIONS.includes(key))
      problems.push(`there is no field ${formatValue(key)}; known are ${[...WORDS, ...FUNCTIONS].join(", ")}`);
  for (const key of FUNCTIONS)
    if (typeof command[key] !== "function" && (key === "run" || command[key] !== undefined))
      problems.push(describeExpected(`${key}: a function`, command[key]));
  return problems;
}

function checkAnnotations({ annotations = {}, effect }: CommandFields): string[] {
  if (!isFields(annotations))
    return [describeExpected("annotations: { readOnly, destructive, idempotent, openWorld }", annotations)];
  const known = ["readOnly", "destructive", "idempotent", "openWorld", "restorable"];
  const problems: string[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    if (!known.includes(key))
      problems.push(`there is no annotation ${formatValue(key)}; known are ${known.join(", ")}`);
    else if (typeof value !== "boolean") problems.push(describeExpected(`annotations.${key}: true or false`, value));
  }
  if (effect === "pure" && annotations.readOnly !== true)
    problems.push(describeExpected("annotations.readOnly: true, as its effect is pure", annotations.readOnly));
  return problems;
}

function checkEffect({ effect, probe, prepare, timeoutMs }: CommandFields): string[] {
  const problems: string[] = [];
  if (effect !== undefined && !EFFECTS.includes(effect as Effect))
    problems.push(describeExpected(`effect: one of ${EFFECTS.join(", ")}`, effect));
  if (effect === "reconcilable" && (typeof probe !== "function" || typeof prepare !== "function"))
    problems.push("a reconcilable command needs prepare, which records the state before, and probe, which compares");
  const isTime =
    Number.isSafeInteger(timeoutMs) && (timeoutMs as number) > 0 && (timeoutMs as number) <= MAX_TIMEOUT_MS;
  if (timeoutMs !== undefined && !isTime)
    problems.push(describeExpected(`timeoutMs: a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`, timeoutMs));
  return problems;
}

function checkNeeds({ needs = [], group = "own" }: CommandFields): string[] {
  if (!COMMAND_GROUPS.some((known) => known === group))
    return [describeExpected(`group: one of ${COMMAND_GROUPS.join(", ")}`, group)];
  if (!Array.isArray(needs)) return [describeExpected("needs: a list of services", needs)];
  return needs
    .filter((name) => !SERVICES.includes(name))
    .map((name) => describeExpected(`needs: known services (${SERVICES.join(", ")})`, name));
}

/** Check of each keyword's value, by type. */
const KEYWORDS: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  string: { enum: isTexts, minLength: isCount, maxLength: isCount, pattern: isPattern },
  integer: { minimum: isNumber, maximum: isNumber },
  number: { minimum: isNumber, maximum: isNumber },
  boolean: {},
  array: { items: isTextItem, minItems: isCount, maxItems: isCount },
};

function checkArgs(args: unknown): string[] {
  if (!isFields(args) || args.type !== "object" || !isFields(args.properties))
    return [describeExpected('args: { type: "object", properties: {…}, required: […] }', args)];
  const problems: string[] = [];
  for (const key of Object.keys(args))
    if (!["type", "properties", "required", "additionalProperties"].includes(key))
      problems.push(`args has an unknown keyword ${formatValue(key)}`);
  if (args.additionalProperties !== undefined && args.additionalProperties !== false)
    problems.push(describeExpected("args.additionalProperties: false, or omitted", args.additionalProperties));
  for (const [name, schema] of Object.entries(args.properties)) problems.push(...checkArgument(name, schema));
  const { required, properties } = args;
  if (required === undefined) return problems;
  if (!Array.isArray(required))
    return [...problems, describeExpected("args.required: a list of argument names", required)];
  for (const name of required)
    if (typeof name !== "string" || !Object.hasOwn(properties, name))
      problems.push(describeExpected("args.required: names defined in properties", name));
  return problems;
}

function checkArgument(name: string, schema: unknown): string[] {
  const at = `args.properties.${name}`;
  if (!ARGUMENT.test(name)) return [describeExpected("argument names of letters, digits and underscores", name)];
  if (!isFields(schema)) return [describeExpected(`${at}: a schema`, schema)];
  const { type, description, hint, ...rest } = schema;
  const keywords = typeof type === "string" && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (!keywords) return [describeExpected(`${at}.type: one of ${Object.keys(KEYWORDS).join(", ")}`, type)];
  const problems: string[] = [];
  if (description !== undefined && (typeof description !== "string" || description.trim() === ""))
    problems.push(describeExpected(`${at}.description: a text`, description));
  if (hint !== undefined && (typeof hint !== "string" || !/^[\p{L}\p{N} _.|/-]{1,60}$/u.test(hint)))
    problems.push(describeExpected(`${at}.hint: a short word`, hint));
  if (type === "array" && rest.items === undefined)
    problems.push(describeExpected(`${at}.items: { type: "string" }`, undefined));
  for (const [key, value] of Object.entries(rest)) {
    const isRight = Object.hasOwn(keywords, key) ? keywords[key] : undefined;
    if (!isRight) problems.push(`${at} of type ${type} has an unknown keyword ${formatValue(key)}`);
    else if (!isRight(value)) problems.push(describeExpected(`${at}.${key}: a value that JSON Schema allows`, value));
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

const assumeWorst = (stated: Partial<Annotations>): Annotations => ({
  ...stated,
  readOnly: stated.readOnly ?? false,
  destructive: stated.destructive ?? stated.readOnly !== true,
  idempotent: stated.idempotent ?? false,
  openWorld: stated.openWorld ?? true,
});

const isFields = (value: unknown): value is CommandFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const describeExpected = (what: string, got: unknown): string => `expected ${what}; got ${formatValue(got)}`;

function formatValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function createInvalidError(file: string, source: string, problems: readonly string[]): GoaldError {
  const located = problems.map((problem) => {
    const line = findProblemLine(problem, source);
    return line === undefined ? problem : `line ${line}: ${problem}`;
  });
  return new GoaldError("GOALD_COMMAND_INVALID", `${file} is not a valid command: ${located.join("; ")}.`, {
    hint: "Fix the file, or remove it from the folder.",
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
