/**
 * sources.ts -- what an agent's work rests on: the files and pages that it read, the words of people and of other agents.
 *
 * A source is a call that came back with text from outside and changed nothing, or a message. Read from the events alone.
 */

import type { CommandCall, Observation } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { headOf, isBlobRef, oneLine } from "#core/text.ts";
import { keepNewest } from "#util/newest.ts";

export interface Source {
  readonly kind: Observation["source"];
  /** What was read: a path, an address, a search; or the words themselves. */
  readonly what: string;
  /** Null for words that came by themselves. */
  readonly command: string | null;
  /** In which it was read. */
  readonly step: number;
  readonly at: string;
}

const MAX_WHAT_CHARS = 200;

/** Events in order; remembers only the calls that are open. */
export function createSourceReader(): (event: RecordedEvent) => Source | undefined {
  const calls = new Map<string, CommandCall>();
  let step = 0;
  return (event) => {
    if ("step" in event) step = event.step;
    const { at } = event;
    switch (event.type) {
      case "command-requested":
        calls.set(event.callId, event.call);
        return undefined;
      case "message-received":
        // The model reads it with its next prompt.
        return { kind: "person", what: oneLine(headOf(event.text), MAX_WHAT_CHARS), command: null, step: step + 1, at };
      case "task-received":
        return { kind: "agent", what: oneLine(headOf(event.text), MAX_WHAT_CHARS), command: null, step: step + 1, at };
      case "agent-reported": {
        const { agent, observation } = event;
        const what = `${agent}: ${oneLine(headOf(observation?.text ?? ""), MAX_WHAT_CHARS)}`;
        return observation && { kind: observation.source, what, command: null, step: step + 1, at };
      }
      case "command-denied":
        calls.delete(event.callId);
        if (event.by !== "person" || event.reason === "") return undefined;
        return { kind: "person", what: oneLine(event.reason, MAX_WHAT_CHARS), command: null, step, at };
      case "command-finished": {
        const call = calls.get(event.callId);
        calls.delete(event.callId);
        const { status, source, artifacts } = event.observation;
        const isReading = status === "ok" && artifacts.length === 0 && FROM_OUTSIDE.has(source);
        return isReading && call ? { kind: source, what: subjectOf(call), command: call.name, step, at } : undefined;
      }
      default:
        return undefined;
    }
  };
}

/** Sources by what they are: the same thing read again counts once more. The newest `limit` of them are kept. */
export function createSourceList(limit: number): {
  add(event: RecordedEvent): void;
  /** The one read last comes last. */
  list(): readonly (Source & { readonly times: number })[];
  count(): number;
} {
  const readSource = createSourceReader();
  const kept = new Map<string, Source & { readonly times: number }>();
  let count = 0;
  return {
    add: (event) => {
      const source = readSource(event);
      if (!source) return;
      count += 1;
      const key = `${source.command} ${source.what}`;
      const times = (kept.get(key)?.times ?? 0) + 1;
      keepNewest(kept, key, { ...source, times }, limit);
    },
    list: () => [...kept.values()],
    count: () => count,
  };
}

const FROM_OUTSIDE: ReadonlySet<Observation["source"]> = new Set(["workspace", "web", "agent", "person"]);

/** What a call was about, in a few words: the value of its only text, else all of its arguments. */
export function subjectOf({ args }: CommandCall): string {
  const given = Object.entries(args).map(([name, value]) => [name, isBlobRef(value) ? value.head : value] as const);
  const [only] = given;
  if (given.length === 1 && typeof only?.[1] === "string" && only[1] !== "") return oneLine(only[1], MAX_WHAT_CHARS);
  const parts = given.map(
    ([name, value]) => `${name} ${JSON.stringify(typeof value === "string" ? oneLine(value, 80) : value)}`,
  );
  return oneLine(parts.join(", "), MAX_WHAT_CHARS);
}
