/** stored-event.ts -- checks that this goald can read a stored event. */
import { GoaldError } from "./errors.ts";
import { EVENT_VERSION, type EventBody, type EventOf, type RecordedEvent } from "./event.ts";
import type { InboxMessage, StagedWrite } from "./ports/store.ts";
import type { BlobRef } from "./text.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Throws GOALD_STORE_TOO_NEW for an event of a newer goald: its version or its type is unknown. Throws GOALD_STORE_DAMAGED
 * for one without a version or a type.
 */
export function checkStoredEvent(stored: Json): RecordedEvent {
  const { v: version, type, seq } = stored;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) throw damaged("version", stored);
  if (version > EVENT_VERSION) throw tooNew(`version ${version}; this goald reads up to ${EVENT_VERSION}.`);
  if (typeof type !== "string") throw damaged("type", stored);
  if (Object.hasOwn(EVENT_FIELDS, type)) return stored as unknown as RecordedEvent;
  const shown = JSON.stringify(type.slice(0, 60));
  throw tooNew(`the type ${shown} (event ${String(seq)}), which this goald does not know.`);
}

const damaged = (missing: string, stored: Json): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected an event with a ${missing}, got ${JSON.stringify(stored).slice(0, 120)}.`,
  );

const tooNew = (what: string): GoaldError =>
  new GoaldError("GOALD_STORE_TOO_NEW", `This log holds an event of ${what}`, {
    hint: "Run the goald that wrote it, or a newer one.",
  });

/**
 *   fixed  goald sets it itself, and its meaning must not change: stored as it is
 *   text   a `Text`: may already be a reference to a blob
 *   json   arguments of a command: names are scrubbed like strings
 *   whole  the same, and a long value becomes one blob
 *   exact  plain JSON that is stored byte for byte and never scrubbed
 */
export type Mark = "fixed" | "text" | "json" | "whole" | "exact" | FieldMarks;
export interface FieldMarks {
  readonly [field: string]: Mark | undefined;
}

type MarkFor<V> = unknown extends V
  ? "exact" | "json" | "whole"
  : BlobRef extends V
    ? "text"
    : string extends keyof V
      ? "json"
      : V extends string
        ? "fixed"
        : V extends object
          ? MarksFor<V>
          : never;
/** Fields that may hold a reference or any JSON. */
type OpenField<T> = { [K in keyof T]-?: BlobRef extends NonNullable<T[K]> ? K : never }[keyof T];
type MarksFor<T> = { readonly [K in OpenField<T>]: MarkFor<T[K]> } & {
  readonly [K in Exclude<keyof T, OpenField<T>>]?: MarkFor<NonNullable<T[K]>>;
};

const OF_CALL = { callId: "fixed" } as const;
const OBSERVATION = { status: "fixed", source: "fixed", text: "text", value: "whole" } as const;

/** An event of a type with several shapes has the marks of one of them. */
type MarksForEach<T> = T extends unknown ? MarksFor<T> : never;

/**
 * The event types that this goald knows, and the fields whose strings the journal stores in a special way. The compiler
 * requires a row for every type and a mark for every `Text` at its top level. The strings of a field without a mark are
 * scrubbed, and a long one becomes a blob.
 */
export const EVENT_FIELDS: { readonly [T in EventBody["type"]]: MarksForEach<EventOf<T>> } = {
  "agent-created": { approve: "fixed" },
  "settings-changed": { approve: "fixed" },
  "goals-changed": {},
  "model-asked": { ...OF_CALL, mode: "fixed", requestHash: "fixed" },
  "model-replied": { ...OF_CALL, text: "text" },
  "model-failed": { ...OF_CALL, code: "fixed", retryAt: "fixed", fallback: { until: "fixed" } },
  "reply-rejected": {},
  "command-requested": { ...OF_CALL, call: { args: "json" } },
  "command-approved": { ...OF_CALL, by: "fixed" },
  "command-denied": { ...OF_CALL, by: "fixed" },
  "approval-asked": { ...OF_CALL, until: "fixed", script: { sha256: "fixed", code: "text" } },
  "command-started": { ...OF_CALL, effect: "fixed", prepared: "exact" },
  "call-interrupted": OF_CALL,
  "call-cut-off": OF_CALL,
  "call-isolated": OF_CALL,
  "call-cleared": OF_CALL,
  "repetition-noticed": OF_CALL,
  "command-waiting": { ...OF_CALL, waitFor: "fixed", until: "fixed" },
  "command-finished": { ...OF_CALL, observation: OBSERVATION },
  "frame-pushed": { ...OF_CALL, kind: "fixed", hash: "fixed", task: "text", returns: "json", form: "fixed" },
  "frame-popped": { ...OF_CALL, hash: "fixed", problem: { code: "fixed" } },
  "namespace-saved": {
    ...OF_CALL,
    version: "fixed",
    values: "json",
    change: { values: "json" },
  },
  "methods-found": OF_CALL,
  "approvals-granted": {},
  "words-trusted": { what: "fixed" },
  "message-received": { text: "text" },
  "files-restored": {},
  "agent-paused": { code: "fixed" },
  "agent-resumed": {},
  "task-added": { callId: "fixed", parent: "fixed", by: "fixed" },
  "task-changed": { callId: "fixed", id: "fixed", state: "fixed", by: "fixed" },
  "goals-checked": OF_CALL,
  "turn-started": {},
  "turn-finished": { outcome: "fixed" },
  "turn-remembered": {},
  "agent-started": { ...OF_CALL, child: { approve: "fixed" } },
  "agent-told": { ...OF_CALL, text: "text" },
  "agent-ended": {},
  "agent-reported": { status: "fixed", observation: OBSERVATION },
  "task-received": { text: "text" },
};

const ANSWER: MarksFor<Extract<InboxMessage, { type: "answer" }>> = {
  type: "fixed",
  callId: "fixed",
  observation: OBSERVATION,
};

/** The same for writes that commands stage. */
export const STAGED_FIELDS: { readonly [K in StagedWrite["kind"]]: FieldMarks } = {
  memory: { kind: "fixed", memoryKind: "fixed", supersedes: "fixed", factKey: "fixed" },
  send: { kind: "fixed", message: ANSWER },
  timer: { kind: "fixed", at: "fixed", message: ANSWER },
  spawn: { kind: "fixed", spec: { approve: "fixed" } },
};
