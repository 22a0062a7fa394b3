/** troubles.ts -- failures in an agent's work: counts of all, and the newest in detail. Pure. */
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { headOf, oneLine } from "#core/text.ts";
import { count, described, oneOf, open, type Static, text, time } from "#util/schema.ts";
import { subjectOf } from "./sources.ts";

export const Trouble = open({
  kind: oneOf("failed", "denied", "cancelled", "unknown", "bad reply", "no reply", "interrupted", "repeated"),
  step: count,
  at: time,
  what: described(text, "The command and its subject; empty for a reply."),
  reason: text,
});
export type Trouble = Static<typeof Trouble>;

export interface TroubleList {
  readonly counts: Readonly<Partial<Record<Trouble["kind"], number>>>;
  /** Oldest first. */
  readonly newest: readonly Trouble[];
}

const MAX_NEWEST = 12;
const REASON_CHARS = 300;

/** Takes every event in order. Keeps only open calls in memory. */
export function createTroubleList(): TroubleList & { add(event: RecordedEvent): void } {
  const calls = new Map<string, CommandCall>();
  const counts: Partial<Record<Trouble["kind"], number>> = {};
  const newest: Trouble[] = [];

  function add(event: RecordedEvent): void {
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    const found = troubleIn(event);
    if (found) {
      const [kind, step, reason] = found;
      const call = "callId" in event ? calls.get(event.callId) : undefined;
      const what = call ? `${call.name} ${subjectOf(call)}` : "";
      counts[kind] = (counts[kind] ?? 0) + 1;
      newest.push({ kind, step, at: event.at, what, reason: oneLine(reason, REASON_CHARS) });
      if (newest.length > MAX_NEWEST) newest.shift();
    }
    if (event.type === "command-finished" || event.type === "command-denied") calls.delete(event.callId);
  }

  return { add, counts, newest };
}

function troubleIn(event: RecordedEvent): readonly [Trouble["kind"], step: number, reason: string] | undefined {
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
