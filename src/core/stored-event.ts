/** stored-event.ts -- checks that this goald can read a stored event. */

import { GoaldError } from "./errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "./event.ts";
import { isKnownEvent } from "./event-fields.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Throws GOALD_STORE_TOO_NEW for an event of a newer goald: its version or its type is unknown. Throws GOALD_STORE_DAMAGED
 * for one without a version or a type.
 */
export function checkStoredEvent(stored: Json): RecordedEvent {
  const version = stored.v;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1)
    throw new GoaldError(
      "GOALD_STORE_DAMAGED",
      `Expected an event with a version, got ${JSON.stringify(stored).slice(0, 120)}.`,
    );
  if (version > EVENT_VERSION)
    throw new GoaldError(
      "GOALD_STORE_TOO_NEW",
      `This log holds an event of version ${version}; this goald reads up to ${EVENT_VERSION}.`,
      { hint: NEWER },
    );
  return knownEvent(stored);
}

const NEWER = "Run the goald that wrote it, or a newer one.";

function knownEvent(event: Json): RecordedEvent {
  const { type, seq } = event;
  if (isKnownEvent(type)) return event as unknown as RecordedEvent;
  if (typeof type !== "string")
    throw new GoaldError(
      "GOALD_STORE_DAMAGED",
      `Expected an event with a type, got ${JSON.stringify(event).slice(0, 120)}.`,
    );
  throw new GoaldError(
    "GOALD_STORE_TOO_NEW",
    `This log holds an event of the type ${JSON.stringify(type.slice(0, 60))} (event ${String(seq)}), which this goald does not know.`,
    { hint: NEWER },
  );
}
