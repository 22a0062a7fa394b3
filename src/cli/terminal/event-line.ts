/**
 * event-line.ts -- one event as programs read it: a line of NDJSON.
 *
 * The same shape in `goald run --json` and `goald events --json`: the event as it lies in the
 * log, and for every event of a call also the call itself, so that no reader has to join.
 */

import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentState } from "#core/state.ts";

export type EventLine = RecordedEvent & { readonly call?: CommandCall };

/** Remembers the calls of the events that it has seen; `begun`: those that are open where it starts to read a log. */
export function createEventLines(begun: AgentState["open"] = []): (event: RecordedEvent) => EventLine {
  const calls = new Map<string, CommandCall>();
  for (const open of begun) if (open.kind === "command") calls.set(open.callId, open.call);
  return (event) => {
    if (!("callId" in event)) return event;
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    const call = calls.get(event.callId);
    if (event.type === "command-finished" || event.type === "command-denied") calls.delete(event.callId);
    return call ? { ...event, call } : event;
  };
}
