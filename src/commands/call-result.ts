/**
 * call-result.ts -- checks the results and staged writes of commands, since commands of a person may break our types.
 */
import type { Observation } from "#core/call.ts";
import {
  type Command,
  type CommandWrite,
  depthOf,
  fail,
  isCellCommand,
  MAX_JSON_DEPTH,
  type NamespaceWrite,
  succeed,
  type Waiting,
} from "#core/command.ts";
import { GoaldError, orUndefined } from "#core/errors.ts";
import { MAX_PROOF_CHARS } from "#core/goal-check.ts";
import { MAX_TASK_CHARS, type NewTask, TASK_STATES } from "#core/plan.ts";

const STATUSES: ReadonlySet<unknown> = new Set(["ok", "failed", "denied", "cancelled", "unknown"]);
const SOURCES: ReadonlySet<unknown> = new Set(["goald", "workspace", "person", "web", "agent", "model"]);
const MAX_CODE_CHARS = 100;
const WAITS: ReadonlySet<unknown> = new Set(["time", "approval", "person", "agent"]);

/**
 * Accepts an observation, a wait, or a text as success. Any other value becomes a failed observation. What a command that reaches
 * outside returns without a source counts as text from the web.
 */
export function parseResult(
  { name, annotations }: Pick<Command, "name" | "annotations">,
  returned: unknown,
): Observation | Waiting {
  const assumed = annotations.openWorld ? "web" : "goald";
  if (typeof returned === "string") return succeed(returned, { source: assumed });
  const value = (typeof returned === "object" && returned !== null ? returned : {}) as Record<string, unknown>;
  if (value.status === "waiting") return parseWaiting(name, value);
  const { status, text, code, source = assumed, artifacts = [] } = value;
  // Other fields are dropped: they may be too large for the log.
  const observation = { status, text, source, artifacts, ...(code === undefined ? {} : { code }) };
  if (isObservation(observation))
    return {
      ...withValue(observation, name, value.value),
      ...(value.asksToEnd === true && isCellCommand(name) ? { asksToEnd: true } : {}),
    };
  const got = formatClipped(returned);
  return fail(
    "command-error",
    `${name} did not return an observation: expected a text, or { status: "ok" or "failed", text }, got ${got}. It may have had its effect.`,
  );
}

/** Largest JSON of a value for code. */
const MAX_VALUE_CHARS = 8_000_000;

/** With the value as plain JSON; when it cannot be kept, with a sentence that says so: code then gets the text. */
function withValue(observation: Observation, name: string, value: unknown): Observation {
  if (value === undefined) return observation;
  const copy = plainCopy(value, MAX_VALUE_CHARS);
  if (copy !== undefined) return { ...observation, value: copy };
  const told = `[${name} returned a value that is not JSON of at most ${MAX_VALUE_CHARS} characters. It is left out.]`;
  return { ...observation, text: `${observation.text}\n${told}` };
}

function isObservation(value: unknown): value is Observation {
  const { status, text, code, source, artifacts } = (value ?? {}) as Record<string, unknown>;
  return (
    STATUSES.has(status) &&
    typeof text === "string" &&
    (code === undefined || (typeof code === "string" && code.length <= MAX_CODE_CHARS)) &&
    SOURCES.has(source) &&
    Array.isArray(artifacts) &&
    artifacts.every((path) => typeof path === "string")
  );
}

/** Converts `until` to the format of the log: ISO 8601, UTC, milliseconds. */
function parseWaiting(name: string, { waitFor, until }: Record<string, unknown>): Observation | Waiting {
  const time = until === null ? null : Date.parse(String(until));
  if (!WAITS.has(waitFor) || Number.isNaN(time))
    return fail(
      "command-error",
      `${name} asked to wait for ${formatClipped(waitFor)} until ${formatClipped(until)}: expected time, approval, person or agent, and an ISO time or null.`,
    );
  return {
    status: "waiting",
    waitFor: waitFor as Waiting["waitFor"],
    until: time === null ? null : new Date(time).toISOString(),
  };
}

/** Throws GOALD_COMMAND_INVALID for a write that the store cannot hold. */
export function checkWrite(name: string, write: CommandWrite): void {
  const refuse = (problem: string): never => {
    throw new GoaldError("GOALD_COMMAND_INVALID", `${name} staged an invalid write: ${problem}.`);
  };
  switch (write.kind) {
    case "namespace": {
      if (!isCellCommand(name)) refuse("a namespace, which only a cell has");
      const problem = findNamespaceProblem(write);
      if (problem !== undefined) refuse(problem);
      return;
    }
    case "methods-found":
      if (!Array.isArray(write.names) || write.names.length > MAX_METHODS || !write.names.every(isText))
        refuse(`method names that are not up to ${MAX_METHODS} texts`);
      return;
    case "task-added":
      if (!isId(write.parent) || !isTask(write.task)) refuse("a task without a parent and a goal");
      return;
    case "task-changed":
      if (!isId(write.id) || !TASK_STATES.includes(write.state)) refuse("a task's change without an id and a state");
      return;
    case "goals-checked":
      if (!Array.isArray(write.results) || !write.results.every(isResult)) refuse("results of checks that are none");
      return;
    case "memory":
      if (typeof write.text !== "string") refuse("a memory without text");
      if (!(write.importance >= 0 && write.importance <= 1))
        refuse(`an importance of ${write.importance}, not from 0 to 1`);
      if (!STAGED_KINDS.has(write.memoryKind)) refuse(`a memory of the kind ${formatClipped(write.memoryKind)}`);
      if (!isIdOrAbsent(write.supersedes) || !isIdOrAbsent(write.factKey))
        refuse("a memory whose supersedes or factKey is not a short text");
      return;
    case "send":
    case "timer":
      // A command must not send words of a person, approvals or settings.
      if (write.message?.type !== "answer")
        refuse(`a message of type ${formatClipped(write.message?.type)}, not an answer`);
      if (!isObservation(write.message.observation) || plainCopy(write.message) === undefined)
        refuse("an answer that is not an observation");
      if (write.kind === "timer" && write.at !== null && Number.isNaN(Date.parse(write.at)))
        refuse(`a timer at ${formatClipped(write.at)}`);
      return;
    case "start":
      if (![write.name, write.task, write.prompt].every(isText))
        refuse(`an agent without a name, task and prompt of up to ${MAX_WORDS_CHARS} characters`);
      return;
    case "tell":
      if (!isText(write.agent) || !isText(write.text)) refuse("words without a text or the agent's key");
      return;
    case "end":
      if (!isText(write.agent)) refuse("the end of an agent without its key");
      return;
    default:
      refuse(`a write of kind ${formatClipped((write as { kind?: unknown } | undefined)?.kind)}`);
  }
}

/**
 * Returns a copy as plain JSON: what the log gives back after a crash is the same. Undefined becomes null. Throws
 * GOALD_COMMAND_INVALID for a value that the log cannot hold. `what`: the value's name in the error, such as "The value
 * prepared by act".
 */
export function copyJson<T>(what: string, value: T): T {
  const copy = plainCopy(value ?? null);
  if (copy !== undefined) return copy as T;
  throw new GoaldError(
    "GOALD_COMMAND_INVALID",
    `${what} is not plain JSON that is nested at most ${MAX_JSON_DEPTH} levels deep.`,
  );
}

/** A copy as plain JSON; undefined for what events cannot hold, such as a function, a circle or too many levels. */
function plainCopy(value: unknown, maxChars = Number.POSITIVE_INFINITY): unknown {
  const json: string | undefined = orUndefined(() => JSON.stringify(value));
  if (json === undefined || json.length > maxChars) return undefined;
  const copy: unknown = JSON.parse(json);
  return depthOf(copy) <= MAX_JSON_DEPTH ? copy : undefined;
}

/** Limits text for another agent to the size of one event. */
const isText = (value: unknown): value is string => typeof value === "string" && value.length <= MAX_WORDS_CHARS;
const MAX_WORDS_CHARS = 10_000;
/** Kinds of memories that are not made by rule from an event. */
const STAGED_KINDS: ReadonlySet<unknown> = new Set(["fact", "note", "reflection", "forgetting"]);
const isIdOrAbsent = (value: unknown): boolean =>
  value === undefined || (typeof value === "string" && value.length <= MAX_ID_CHARS);
const MAX_ID_CHARS = 300;
/** Methods that one search finds. */
const MAX_METHODS = 100;

const formatClipped = (value: unknown): string => String(JSON.stringify(value)).slice(0, 80);

/** A namespace of more names is a data set, which belongs in a file. */
const MAX_NAMES = 10_000;
const MAX_NAME_CHARS = 1_000;
/** All names, sources and values together. Those over 32 KB are blobs, and an unchanged one is stored once. */
const MAX_CHARS = 64_000_000;

/**
 * Checks what a cell left in its namespace, before it becomes an event: a cell's process wrote it. Returns what is
 * wrong, as the end of a sentence; undefined for a namespace that the log can hold.
 */
function findNamespaceProblem(write: NamespaceWrite): string | undefined {
  const { version, definitions, values, lost, change } = write;
  if (typeof version !== "string") return "a namespace without a version";
  const arePairs =
    isContent(definitions, values, isString) && (!change || isContent(change.definitions, change.values));
  if (!arePairs) return "a namespace whose names, sources or values are no texts";
  if (!Array.isArray(lost) || !lost.every((one) => isName(one?.name) && isName(one?.reason)))
    return "lost names without a name and a reason";
  const count = definitions.length + Object.keys(values).length + lost.length;
  if (count > MAX_NAMES) return `a namespace of ${count} names, more than ${MAX_NAMES}`;
  const chars = charsIn(definitions, values) + (change ? charsIn(change.definitions, change.values) : 0);
  return chars > MAX_CHARS ? `a namespace of ${chars} characters, more than ${MAX_CHARS}` : undefined;
}

const isString = (value: unknown): value is string => typeof value === "string";
const isTextOrGone = (value: unknown): boolean => value === null || isString(value);
const isName = (value: unknown): boolean => isString(value) && value.length <= MAX_NAME_CHARS;

function isContent(definitions: unknown, values: unknown, isSource = isTextOrGone as (value: unknown) => boolean) {
  if (!Array.isArray(definitions) || typeof values !== "object" || values === null) return false;
  const pairs: readonly unknown[] = [...definitions, ...Object.entries(values)];
  return pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && isName(pair[0]) && isSource(pair[1]));
}

const charsIn = (
  definitions: readonly (readonly [string, string | null])[],
  values: Readonly<Record<string, string | null>>,
): number =>
  [...definitions, ...Object.entries(values)].reduce((sum, [name, text]) => sum + name.length + (text?.length ?? 0), 0);

const MAX_TASK_ID_CHARS = 100;

const isId = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_TASK_ID_CHARS;

function isTask(value: unknown): value is NewTask {
  const { goal, subtasks = [] } = (value ?? {}) as Record<string, unknown>;
  return isGoal(goal) && Array.isArray(subtasks) && subtasks.every(isTask);
}

/** A longer text would become a blob, which the plan cannot show. */
const isGoal = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_TASK_CHARS;

function isResult(value: unknown): boolean {
  const { check, isPassed, proof } = (value ?? {}) as Record<string, unknown>;
  return (
    Number.isInteger(check) &&
    typeof isPassed === "boolean" &&
    typeof proof === "string" &&
    proof.length <= MAX_PROOF_CHARS
  );
}
