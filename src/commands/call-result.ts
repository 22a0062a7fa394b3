/**
 * call-result.ts -- what a command returned or staged, checked: a person's own command is not bound by our types.
 */

import type { Observation } from "#core/call.ts";
import { type CommandWrite, fail, succeed, type Waiting } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { isBlobRef } from "#core/text.ts";

const STATUSES: ReadonlySet<unknown> = new Set(["ok", "failed", "denied", "cancelled", "unknown"]);
const SOURCES: ReadonlySet<unknown> = new Set(["goald", "workspace", "person", "web", "agent", "model"]);
const WAITS: ReadonlySet<unknown> = new Set(["time", "approval", "person", "agent"]);

/**
 * An observation or a wait as the loop can use it; a text alone is a success. Whatever else came is a failure
 * that says what was expected.
 */
export function readResult(name: string, returned: unknown): Observation | Waiting {
  if (typeof returned === "string") return succeed(returned);
  const value = (typeof returned === "object" && returned !== null ? returned : {}) as Record<string, unknown>;
  if (value.status === "waiting") return readWaiting(name, value);
  const { status, text, code, source = "goald", artifacts = [] } = value;
  // Nothing else of it: what a command adds may be of any size, and more than a log can hold.
  const observation = { status, text, source, artifacts, ...(code === undefined ? {} : { code }) };
  if (isObservation(observation)) return observation;
  const got = clipped(returned);
  return fail(
    "command-error",
    `${name} returned no observation: expected { status, text, … }, got ${got}. It may have had its effect.`,
  );
}

function isObservation(value: unknown): value is Observation {
  const { status, text, code, source, artifacts } = (value ?? {}) as Record<string, unknown>;
  return (
    STATUSES.has(status) &&
    (typeof text === "string" || isBlobRef(text)) &&
    (code === undefined || typeof code === "string") &&
    SOURCES.has(source) &&
    Array.isArray(artifacts) &&
    artifacts.every((path) => typeof path === "string")
  );
}

/** `until` in the one form that the log has: ISO 8601, UTC, milliseconds. */
function readWaiting(name: string, { waitFor, until }: Record<string, unknown>): Observation | Waiting {
  const time = until === null ? null : Date.parse(String(until));
  if (!WAITS.has(waitFor) || Number.isNaN(time))
    return fail(
      "command-error",
      `${name} wants to wait for ${clipped(waitFor)} until ${clipped(until)}: expected time, approval, person or agent, and an ISO time or null.`,
    );
  return {
    status: "waiting",
    waitFor: waitFor as Waiting["waitFor"],
    until: time === null ? null : new Date(time).toISOString(),
  };
}

/** Throws GOALD_COMMAND_INVALID for a write that the store could not keep. */
export function checkWrite(name: string, write: CommandWrite): void {
  const refuse = (problem: string): never => {
    throw new GoaldError("GOALD_COMMAND_INVALID", `${name} staged what cannot be kept: ${problem}.`);
  };
  switch (write.kind) {
    case "memory":
      if (typeof write.text !== "string") refuse("a memory without text");
      if (!(write.importance >= 0 && write.importance <= 1))
        refuse(`an importance of ${write.importance}, not from 0 to 1`);
      return;
    case "send":
    case "timer":
      // An agent's command must not speak as a person, approve, or change settings.
      if (write.message?.type !== "answer") refuse(`a message of type ${clipped(write.message?.type)}, not an answer`);
      if (!isObservation(write.message.observation) || !isJson(write.message))
        refuse("an answer that is no observation");
      if (write.kind === "timer" && write.at !== null && Number.isNaN(Date.parse(write.at)))
        refuse(`a timer at ${clipped(write.at)}`);
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
      refuse(`a write of kind ${clipped((write as { kind?: unknown } | undefined)?.kind)}`);
  }
}

/** Whether an event can hold it. */
export function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Words for another agent: short enough to lie in one event. */
const isText = (value: unknown): value is string => typeof value === "string" && value.length <= MAX_WORDS_CHARS;
const MAX_WORDS_CHARS = 10_000;

const clipped = (value: unknown): string => String(JSON.stringify(value)).slice(0, 80);
