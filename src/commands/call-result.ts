/**
 * call-result.ts -- checks the results and staged writes of commands, since commands of a person may break our types.
 */

import type { Annotations, Observation } from "#core/call.ts";
import { type CommandWrite, depthOf, fail, MAX_JSON_DEPTH, succeed, type Waiting } from "#core/command.ts";
import { isCellCommand } from "#core/command-names.ts";
import { GoaldError } from "#core/errors.ts";
import { findNamespaceProblem } from "./check-namespace.ts";
import { findPlanProblem } from "./check-plan-write.ts";

interface ReturningCommand {
  readonly name: string;
  readonly annotations: Pick<Annotations, "openWorld">;
}

const STATUSES: ReadonlySet<unknown> = new Set(["ok", "failed", "denied", "cancelled", "unknown"]);
const SOURCES: ReadonlySet<unknown> = new Set(["goald", "workspace", "person", "web", "agent", "model"]);
const MAX_CODE_CHARS = 100;
const WAITS: ReadonlySet<unknown> = new Set(["time", "approval", "person", "agent"]);

/**
 * Accepts an observation, a wait, or a text as success. Any other value becomes a failed observation. What a command that reaches
 * outside returns without a source counts as text from the web.
 */
export function parseResult({ name, annotations }: ReturningCommand, returned: unknown): Observation | Waiting {
  const assumed = annotations.openWorld ? "web" : "goald";
  if (typeof returned === "string") return succeed(returned, { source: assumed });
  const value = (typeof returned === "object" && returned !== null ? returned : {}) as Record<string, unknown>;
  if (value.status === "waiting") return parseWaiting(name, value);
  const { status, text, code, source = assumed, artifacts = [] } = value;
  // Other fields are dropped: they may be too large for the log.
  const observation = { status, text, source, artifacts, ...(code === undefined ? {} : { code }) };
  if (isObservation(observation))
    return {
      ...observation,
      ...keptValue(value.value),
      ...(value.asksToEnd === true && isCellCommand(name) ? { asksToEnd: true } : {}),
    };
  const got = formatClipped(returned);
  return fail(
    "command-error",
    `${name} did not return an observation: expected { status, text, … }, got ${got}. It may have had its effect.`,
  );
}

/** Largest JSON of a value for code. */
const MAX_VALUE_CHARS = 8_000_000;

/** The value as plain JSON. Absent when it cannot be kept: code then gets the text. */
function keptValue(value: unknown): { readonly value?: unknown } {
  if (value === undefined || !isJson(value)) return {};
  const json = JSON.stringify(value);
  if (json === undefined || json.length > MAX_VALUE_CHARS) return {};
  const copy: unknown = JSON.parse(json);
  return depthOf(copy) <= MAX_JSON_DEPTH ? { value: copy } : {};
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
    case "task-changed":
    case "goals-checked": {
      const problem = findPlanProblem(write);
      if (problem !== undefined) refuse(problem);
      return;
    }
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
      if (!isObservation(write.message.observation) || !isJson(write.message))
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
 * Returns a copy as plain JSON: what the log gives back after a crash is the same. Throws GOALD_COMMAND_INVALID for a value
 * that the log cannot hold. `what`: the value's name in the error, such as "The value prepared by act".
 */
export function copyJson<T>(what: string, value: T): T {
  if (isJson(value)) {
    const copy = JSON.parse(JSON.stringify(value) ?? "null") as T;
    if (depthOf(copy) <= MAX_JSON_DEPTH) return copy;
  }
  throw new GoaldError(
    "GOALD_COMMAND_INVALID",
    `${what} is not plain JSON that is nested at most ${MAX_JSON_DEPTH} levels deep.`,
  );
}

/** True for values that JSON.stringify accepts, as events require. */
function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
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
