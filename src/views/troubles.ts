/** troubles.ts -- finds failures in an agent's work. Pure. */
import type { RecordedEvent } from "#core/event.ts";
import { headOf, oneLine } from "#core/text.ts";
import { count, described, oneOf, open, type Static, text, time } from "#util/schema.ts";
import type { OpenCall } from "./sources.ts";

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
export function troubleIn(event: RecordedEvent, call: OpenCall | undefined): Trouble | undefined {
  const found = findTrouble(event);
  if (!found) return undefined;
  const [kind, step, reason] = found;
  const what = call ? `${call.name} ${call.subject}` : "";
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
