/**
 * sources.ts -- lists an agent's sources: what it read in files and on the web, messages of people and of other agents.
 *
 * A source is a message, a call that returned text from outside, or recalled memories with words from outside. A failure
 * is one only if its message quotes words from outside.
 */
import type { CommandCall, Observation } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { sourcesOf } from "#core/provenance.ts";
import { headOf, isBlobRef, oneLine, type Text } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { OutsideSourceView } from "./parts.ts";

export const sourceMembers = {
  kind: oneOf("goald", "workspace", "person", "web", "agent", "model"),
  what: described(text, "A path, an address, a query; or the text of a message."),
  command: described(nullable(text), "Null for a message and for recalled memories."),
  step: described(count, "The step that read it."),
  at: time,
  outside: described(listOf(OutsideSourceView), "Whose words from outside it holds; empty for none."),
  kept: described(listOf(text), "Paths of the agent's folder in which it is kept."),
  answer: described(text, "First line of the result, for words from outside; empty for a message."),
};
export const Source = open(sourceMembers);
export type Source = Static<typeof Source>;

const MAX_WHAT_CHARS = 200;
const MAX_KEPT = 20;

/** `call`: the open call that the event belongs to; `step`: the agent's step at the event. */
export function sourceIn(event: RecordedEvent, call: CommandCall | undefined, step: number): Source | undefined {
  const { at } = event;
  // The model reads a message in the next step.
  const message = { ...MESSAGE, step: step + 1, at };
  switch (event.type) {
    case "agent-created": {
      const { agent = null, outside = [] } = event.startedBy ?? {};
      const what = `role and goals, from ${agent ?? "the agent that it was forked from"}`;
      return outside.length > 0 ? { ...message, kind: "agent", what, outside } : undefined;
    }
    case "message-received":
      return { ...message, kind: "person", what: lineOf(event.text) };
    case "task-received":
      return { ...message, kind: "agent", what: `${event.from}: ${lineOf(event.text)}`, outside: event.outside };
    case "agent-reported": {
      const { agent, observation } = event;
      if (!observation) return undefined;
      const what = `${agent}: ${lineOf(observation.text)}`;
      return { ...message, kind: observation.source, what, outside: sourcesOf(observation) };
    }
    case "model-asked": {
      const { outside = [] } = event;
      if (outside.length === 0) return undefined;
      const kind = outside.some(({ from }) => from === "web") ? "web" : "agent";
      return { ...message, kind, what: "recalled memories", step: event.step, outside };
    }
    case "words-trusted": {
      const what = event.what === "all" ? "all words from outside until then" : event.path;
      return { ...message, kind: "person", command: "goald trust", what, step };
    }
    case "command-denied":
      if (event.by !== "person" || event.reason === "") return undefined;
      return { ...message, kind: "person", what: lineOf(event.reason), step };
    case "command-finished":
      return call && readingIn(event.observation, call, { step, at });
    default:
      return undefined;
  }
}

const MESSAGE = { command: null, outside: [], kept: [], answer: "" } as const;

function readingIn(observation: Observation, call: CommandCall, when: Pick<Source, "step" | "at">): Source | undefined {
  const { status, source, artifacts } = observation;
  const outside = sourcesOf(observation);
  const isWrite = source === "workspace" && artifacts.some((path) => !path.startsWith("_goald/"));
  const isReading = status === "ok" && FROM_OUTSIDE.has(source) && !isWrite;
  if (!isReading && outside.length === 0) return undefined;
  return {
    kind: source,
    what: (source === "web" ? addressOf(call) : null) ?? subjectOf(call),
    command: call.name,
    ...when,
    outside,
    kept: artifacts.slice(0, MAX_KEPT),
    answer: outside.length > 0 ? lineOf(headOf(observation.text).trimStart().split("\n", 1)[0] ?? "") : "",
  };
}

/** Takes every event in order. Keeps only open calls in memory. */
export function createSourceReader(): (event: RecordedEvent) => Source | undefined {
  const calls = new Map<string, CommandCall>();
  let step = 0;
  return (event) => {
    if ("step" in event) step = event.step;
    if (event.type === "command-requested") {
      calls.set(event.callId, event.call);
      return undefined;
    }
    const call = "callId" in event ? calls.get(event.callId) : undefined;
    if (event.type === "command-finished" || event.type === "command-denied") calls.delete(event.callId);
    return sourceIn(event, call, step);
  };
}

const FROM_OUTSIDE: ReadonlySet<Observation["source"]> = new Set(["workspace", "web", "agent", "person"]);

const lineOf = (words: Text): string => oneLine(clean(headOf(words)), MAX_WHAT_CHARS);

/** The subject of a call in one line: its only text argument, else all arguments. */
function subjectOf({ args }: CommandCall): string {
  const given = Object.entries(args).map(([name, value]) => [name, isBlobRef(value) ? value.head : value] as const);
  const [only] = given;
  if (given.length === 1 && typeof only?.[1] === "string" && only[1] !== "") return oneLine(only[1], MAX_WHAT_CHARS);
  const parts = given.map(
    ([name, value]) => `${name} ${JSON.stringify(typeof value === "string" ? oneLine(value, 80) : value)}`,
  );
  return oneLine(parts.join(", "), MAX_WHAT_CHARS);
}

/** The web address among the arguments. */
function addressOf({ args }: CommandCall): string | null {
  const found = Object.values(args).find((value) => typeof value === "string" && /^https?:\/\/\S+$/i.test(value));
  return typeof found === "string" ? oneLine(found, MAX_WHAT_CHARS) : null;
}

export const Trouble = open({
  kind: oneOf("failed", "denied", "cancelled", "unknown", "bad reply", "no reply", "interrupted", "repeated"),
  step: count,
  at: time,
  what: described(text, "The command and its subject; empty for a reply."),
  reason: text,
});
export type Trouble = Static<typeof Trouble>;

const REASON_CHARS = 300;

/** `call`: the open call that the event belongs to. */
export function troubleIn(event: RecordedEvent, call: CommandCall | undefined): Trouble | undefined {
  const found = findTrouble(event);
  if (!found) return undefined;
  const [kind, step, reason] = found;
  const what = call ? `${call.name} ${subjectOf(call)}` : "";
  return { kind, step, at: event.at, what, reason: oneLine(reason, REASON_CHARS) };
}

function findTrouble(event: RecordedEvent): readonly [Trouble["kind"], step: number, reason: string] | undefined {
  switch (event.type) {
    case "command-finished": {
      const { status, text } = event.observation;
      return status === "ok" ? undefined : [status, event.step, headOf(text)];
    }
    case "command-denied":
      return ["denied", event.step, event.reason || "No reason was given."];
    case "reply-rejected":
      return ["bad reply", event.step, event.problems.join(" ")];
    case "model-failed":
      // A request that is adapted to the server's limits is not a failure.
      return event.changed ? undefined : ["no reply", event.step, event.message];
    case "call-interrupted":
      return ["interrupted", event.step, "The process that ran it died."];
    case "repetition-noticed":
      return ["repeated", event.step, `The same command with the same arguments, ${event.count} times in a row.`];
    default:
      return undefined;
  }
}
