/**
 * sources.ts -- lists an agent's sources: the files and pages that it read, messages of people and of other agents.
 *
 * A source is a message, or a successful call that returned text from outside and changed no file.
 */

import type { CommandCall, Observation } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { headOf, isBlobRef, oneLine } from "#core/text.ts";
import { count, described, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";

export const sourceMembers = {
  kind: oneOf("goald", "workspace", "person", "web", "agent", "model"),
  what: described(text, "A path, an address, a query; or the text of a message."),
  command: described(nullable(text), "Null for a message."),
  step: described(count, "The step that read it."),
  at: time,
};
export const Source = open(sourceMembers);
export type Source = Static<typeof Source>;

const MAX_WHAT_CHARS = 200;

/** A call that has not ended. */
export interface OpenCall {
  readonly callId: string;
  readonly name: string;
  /** `subjectOf` the call. */
  readonly subject: string;
}

/** `call`: the open call that the event belongs to; `step`: the agent's step at the event. */
export function sourceIn(event: RecordedEvent, call: OpenCall | undefined, step: number): Source | undefined {
  const { at } = event;
  switch (event.type) {
    case "message-received":
      // The model reads it in the next step.
      return { kind: "person", what: oneLine(headOf(event.text), MAX_WHAT_CHARS), command: null, step: step + 1, at };
    case "task-received":
      return { kind: "agent", what: oneLine(headOf(event.text), MAX_WHAT_CHARS), command: null, step: step + 1, at };
    case "agent-reported": {
      const { agent, observation } = event;
      const what = `${agent}: ${oneLine(headOf(observation?.text ?? ""), MAX_WHAT_CHARS)}`;
      return observation && { kind: observation.source, what, command: null, step: step + 1, at };
    }
    case "command-denied":
      if (event.by !== "person" || event.reason === "") return undefined;
      return { kind: "person", what: oneLine(event.reason, MAX_WHAT_CHARS), command: null, step, at };
    case "command-finished": {
      const { status, source, artifacts } = event.observation;
      const isReading = status === "ok" && artifacts.length === 0 && FROM_OUTSIDE.has(source);
      return isReading && call ? { kind: source, what: call.subject, command: call.name, step, at } : undefined;
    }
    default:
      return undefined;
  }
}

/** Takes every event in order. Keeps only open calls in memory. */
export function createSourceReader(): (event: RecordedEvent) => Source | undefined {
  const calls = new Map<string, OpenCall>();
  let step = 0;
  return (event) => {
    if ("step" in event) step = event.step;
    if (event.type === "command-requested") {
      const { callId, call } = event;
      calls.set(callId, { callId, name: call.name, subject: subjectOf(call) });
      return undefined;
    }
    const call = "callId" in event ? calls.get(event.callId) : undefined;
    if (event.type === "command-finished" || event.type === "command-denied") calls.delete(event.callId);
    return sourceIn(event, call, step);
  };
}

const FROM_OUTSIDE: ReadonlySet<Observation["source"]> = new Set(["workspace", "web", "agent", "person"]);

/** The subject of a call in one line: its only text argument, else all arguments. */
export function subjectOf({ args }: CommandCall): string {
  const given = Object.entries(args).map(([name, value]) => [name, isBlobRef(value) ? value.head : value] as const);
  const [only] = given;
  if (given.length === 1 && typeof only?.[1] === "string" && only[1] !== "") return oneLine(only[1], MAX_WHAT_CHARS);
  const parts = given.map(
    ([name, value]) => `${name} ${JSON.stringify(typeof value === "string" ? oneLine(value, 80) : value)}`,
  );
  return oneLine(parts.join(", "), MAX_WHAT_CHARS);
}
