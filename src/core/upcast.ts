/**
 * upcast.ts -- turns events of older versions into the current one when they are read.
 *
 * The log is never rewritten. Each entry of `STEPS` turns an event of its version
 * into the next one, so that `evolve` knows only the newest shape.
 */

import { GoaldError } from "./errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "./event.ts";
import { isKnownEvent } from "./event-fields.ts";

type Json = Readonly<Record<string, unknown>>;
export type Upcasts = Readonly<Record<number, (event: Json) => Json>>;

/** The key is the version that a step starts from. Version 1 is the first, so there are none yet. */
const STEPS: Upcasts = {};

/**
 * Throws GOALD_STORE_TOO_NEW for an event of a newer goald: its version or its type is unknown. Throws GOALD_STORE_DAMAGED
 * for one without a version or a type.
 */
export function upcast(stored: Json, steps: Upcasts = STEPS, newest: number = EVENT_VERSION): RecordedEvent {
  let event = stored;
  for (;;) {
    const version = event.v;
    if (typeof version !== "number" || !Number.isInteger(version) || version < 1)
      throw new GoaldError(
        "GOALD_STORE_DAMAGED",
        `Expected an event with a version, got ${JSON.stringify(event).slice(0, 120)}.`,
      );
    if (version > newest)
      throw new GoaldError(
        "GOALD_STORE_TOO_NEW",
        `This log holds an event of version ${version}; this goald reads up to ${newest}.`,
        { hint: NEWER },
      );
    if (version === newest) return knownEvent(event);
    const lift = steps[version];
    if (!lift)
      throw new GoaldError("GOALD_STORE_DAMAGED", `No way is known from event version ${version} to ${version + 1}.`);
    event = { ...lift(event), v: version + 1 };
  }
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
