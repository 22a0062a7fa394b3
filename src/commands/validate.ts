/**
 * validate.ts -- checks the default export of a command file and fills in its defaults. Reports all problems of a file
 * at once, each with the expected and the actual value. A missing label comes from the name. Missing facts for the
 * policy get the worst value.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";
import { COMMAND_GROUPS } from "#core/agent-settings.ts";
import { type Annotations, type Effect, MILDEST_FIRST } from "#core/call.ts";
import { type ArgsSchema, type Command, SAVES_FILES, TASK_COMPLETE } from "#core/command.ts";
import { codeOf, GoaldError, toError } from "#core/errors.ts";
import { CHECK_COMMANDS } from "#core/goal-check.ts";
import { SERVICES } from "#core/services.ts";
import { deepFreeze, isRecord } from "#util/json.ts";
import { checkArgs, checkShownSchema, describeExpected, formatValue } from "./args-schema.ts";

/** A checked command with all defaults filled in. */
export type RegisteredCommand = Command & Required<Pick<Command, "group" | "effect" | "timeoutMs" | "needs">>;

export const COMMAND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const INTERNAL: readonly string[] = [SAVES_FILES, ...CHECK_COMMANDS];
/** Maximum of setTimeout. */
const MAX_TIMEOUT_MS = 2_147_483_647;
const DEFAULT_TIMEOUT_MS = 60_000;

type CommandFields = Readonly<Record<string, unknown>>;

const WORDS =
  "name label summary group args returns listed annotations sends writes destroys effect timeoutMs needs closesTurn isInternal".split(
    " ",
  );
const FUNCTIONS = ["prepare", "run", "probe"];

/**
 * Throws GOALD_COMMAND_INVALID with all problems. `name` is the file name without extension. `readSource` is called only
 * for an invalid file, to find the lines of its problems.
 */
export function checkCommand(name: string, file: string, exported: unknown, readSource = () => ""): RegisteredCommand {
  if (!isRecord(exported))
    throw createInvalidError(file, readSource(), [
      describeExpected("a command as default export, a plain object", exported),
    ]);
  const problems = [
    ...checkName(name, exported),
    ...checkWords(exported),
    // A command of goald itself, whose arguments goald writes: no start waits for ajv to check them.
    ...(exported.isInternal ? checkShownSchema(exported.args, "args") : checkArgs(exported.args ?? NO_ARGS)),
    ...checkReturns(exported),
    ...checkListed(exported),
    ...checkAnnotations(exported),
    ...checkSends(exported),
    ...checkWrites(exported),
    ...checkEffect(exported),
    ...checkNeeds(exported),
  ];
  if (problems.length > 0) throw createInvalidError(file, readSource(), problems);
  return completeCommand(name, exported);
}

/** Fills in the defaults of a command that was checked. */
export function completeCommand(name: string, checked: unknown): RegisteredCommand {
  const command = checked as CommandExport;
  const { $schema: _, ...args } = command.args ?? NO_ARGS;
  return deepFreeze({
    ...command,
    label: command.label ?? createLabel(name),
    args: structuredClone({ ...NO_ARGS, ...args }),
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

const NO_ARGS: ArgsSchema = { type: "object", properties: {} };

/** `post_note` becomes `Post note`. */
const createLabel = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

function checkName(name: string, { name: own, closesTurn, isInternal }: CommandFields): string[] {
  if (!COMMAND_NAME.test(name)) return [describeExpected("a file name of small letters, digits and underscores", name)];
  if (own !== name) return [describeExpected(`name: ${formatValue(name)}, the file name`, own)];
  const closes = name === TASK_COMPLETE;
  if (closes && closesTurn !== true)
    return [describeExpected("closesTurn: true, since no other command ends the work", closesTurn)];
  if (!closes && closesTurn === true) return ["closesTurn is only for task_complete"];
  // The policy judges no such command.
  if (isInternal !== undefined && !INTERNAL.includes(name)) return [`isInternal is only for ${INTERNAL.join(", ")}`];
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

const checkReturns = ({ returns }: CommandFields): string[] =>
  returns === undefined ? [] : checkShownSchema(returns, "returns");

function checkListed({ listed, closesTurn }: CommandFields): string[] {
  if (listed !== undefined && typeof listed !== "boolean") return [describeExpected("listed: true or false", listed)];
  return listed === false && closesTurn === true ? ["task_complete must be listed"] : [];
}

function checkAnnotations({ annotations = {}, effect }: CommandFields): string[] {
  if (!isRecord(annotations))
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

function checkSends({ sends = [], args }: CommandFields): string[] {
  if (!Array.isArray(sends)) return [describeExpected("sends: a list of arguments", sends)];
  const properties = isRecord(args) && isRecord(args.properties) ? args.properties : {};
  return sends
    .filter((name) => !Object.hasOwn(properties, String(name)))
    .map((name) => describeExpected("sends: names of arguments", name));
}

function checkWrites({ writes = {}, destroys, args }: CommandFields): string[] {
  const known = isRecord(args) && isRecord(args.properties) ? Object.keys(args.properties) : [];
  const isKnown = (name: unknown): boolean => known.some((arg) => arg === name);
  const pairs = isRecord(writes) ? Object.entries(writes) : [["", writes]];
  const areKnown = pairs.every(([path, text]) => isKnown(path) && (text === null || isKnown(text)));
  return [
    ...(areKnown
      ? []
      : [describeExpected('writes: names of arguments, such as { file: "text" } or { file: null }', writes)]),
    ...(destroys === undefined || isKnown(destroys)
      ? []
      : [describeExpected("destroys: the name of an argument", destroys)]),
  ];
}

function checkEffect({ effect, probe, prepare, timeoutMs }: CommandFields): string[] {
  const problems: string[] = [];
  if (effect !== undefined && !MILDEST_FIRST.includes(effect as Effect))
    problems.push(describeExpected(`effect: one of ${MILDEST_FIRST.join(", ")}`, effect));
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

const assumeWorst = (stated: Partial<Annotations>): Annotations => ({
  ...stated,
  readOnly: stated.readOnly ?? false,
  destructive: stated.destructive ?? stated.readOnly !== true,
  idempotent: stated.idempotent ?? false,
  openWorld: stated.openWorld ?? true,
});

function createInvalidError(file: string, source: string, problems: readonly string[]): GoaldError {
  const located = problems.map((problem) => {
    const line = findProblemLine(problem, source);
    return line === undefined ? problem : `line ${line}: ${problem}`;
  });
  return new GoaldError("GOALD_COMMAND_INVALID", `${file} is not a valid command: ${located.join("; ")}.`, {
    hint: "Fix the file, or remove it from the folder.",
  });
}

/** Names in a folder of the home, `what` it is for; none for a missing one. Throws GOALD_COMMAND_INVALID. */
export async function listEntries(what: "commands" | "methods", folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    const message = `The ${what} folder ${folder} cannot be read: ${toError(error).message}.`;
    throw new GoaldError("GOALD_COMMAND_INVALID", message, { cause: error });
  }
}

/** Modification time at the first load in this process, by path. */
const firstLoaded = new Map<string, number>();

/** Time for awaits at the top level of a file. Shorter than a client's wait for the answer to a reload. */
const LOAD_LIMIT_MS = 5_000;

/**
 * Imports one command file and returns its default export. A changed file is imported again: modules are cached by
 * address, so the address gets the time of the change. The modules that the file imports stay as first loaded. Throws
 * GOALD_COMMAND_INVALID, with the line of the fault where it is known.
 */
export async function loadCommandFile(file: string): Promise<unknown> {
  try {
    const { mtimeMs } = await stat(file);
    const first = firstLoaded.get(file) ?? mtimeMs;
    firstLoaded.set(file, first);
    const url = pathToFileURL(file).href;
    return (await importInTime(mtimeMs === first ? url : `${url}?changed=${mtimeMs}`)).default;
  } catch (thrown) {
    throw await createLoadError(file, toError(thrown));
  }
}

/** The timer keeps the process alive, too: Node ends one that only an await without an end is left of. */
async function importInTime(url: string): Promise<{ readonly default?: unknown }> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const problem = new Error(`it did not finish loading within ${LOAD_LIMIT_MS / 1000} s. Move its await into run().`);
  const timer = setTimeout(reject, LOAD_LIMIT_MS, problem);
  return Promise.race([import(url), timedOut]).finally(() => clearTimeout(timer));
}

async function createLoadError(file: string, error: Error): Promise<GoaldError> {
  const line =
    findLineInStack(file, error) ?? (error.name === "SyntaxError" ? await findSyntaxErrorLine(file) : undefined);
  const where = line === undefined ? file : `${file}:${line}`;
  return new GoaldError("GOALD_COMMAND_INVALID", `${where} could not be loaded: ${error.message}`, {
    hint: codeOf(error)?.endsWith("MODULE_NOT_FOUND")
      ? "A package must be in the node_modules of the home, and a file has its whole name, such as ./_words.ts."
      : "A command file exports a plain object as default; types need `import type`.",
    cause: error,
  });
}

function findLineInStack(file: string, { stack = "" }: Error): number | undefined {
  const at = stack.indexOf(file);
  const [, line] = /^(?:\?[^:\s]*)?:(\d+)/.exec(stack.slice(at + file.length)) ?? [];
  return at < 0 || line === undefined ? undefined : Number(line);
}

/** The syntax error of an import has no line in its stack; the error of the TypeScript parser has one. */
async function findSyntaxErrorLine(file: string): Promise<number | undefined> {
  try {
    stripTypeScriptTypes(await readFile(file, "utf8"), { sourceUrl: file });
    return undefined;
  } catch (thrown) {
    return findLineInStack(file, toError(thrown));
  }
}

/** Returns the line of the field that a problem starts with (`expected effect: …`); undefined when the file lacks it. */
function findProblemLine(problem: string, source: string): number | undefined {
  const [, path = ""] = /^(?:expected |there is no (?:field|annotation) )?"?([\w.]+)/.exec(problem) ?? [];
  const parts = path.split(".");
  // Keywords of an argument's schema occur many times, the name of the argument once.
  const name = parts[1] === "properties" ? parts[2] : parts.at(-1);
  if (name === undefined || name === "") return undefined;
  const at = source.search(createFieldPattern(name));
  if (at < 0) return undefined;
  return source.slice(0, at).split("\n").length + (source[at] === "\n" ? 1 : 0);
}

/** Matches the field as a key or a method. */
const createFieldPattern = (name: string): RegExp =>
  new RegExp(`(?:^|[\\n{,])[ \\t]*(?:async\\s+)?["']?${name}["']?\\s*[:(]`);
