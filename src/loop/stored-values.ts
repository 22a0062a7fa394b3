/**
 * stored-values.ts -- turns the values of an event into what the log keeps (`restoreValue` turns them back). A string
 * over the limit becomes a reference to a blob. An object of a command that only looks like a reference becomes a blob
 * of its JSON, so that no object in the log is mistaken for one.
 */
import type { Prepared } from "#commands/execute.ts";
import { fail } from "#core/command.ts";
import { EVENT_FIELDS, type FieldMarks, type Mark } from "#core/stored-event.ts";
import { type BlobRef, isBlobRef, SPILL_BYTES, wellFormed } from "#core/text.ts";

export interface Storing {
  /** Removes known secrets. */
  scrub(text: string): string;
  /** Stores a long text. Absent: long texts stay as they are. */
  spill?(text: string): BlobRef;
}

/** `mark`: how the value is stored (`EVENT_FIELDS`). */
export function storeValue(value: unknown, mark: Mark | undefined, storing: Storing): unknown {
  if (mark === "whole") return storeWhole(value, storing);
  if (typeof value === "string") return storeText(value, mark, storing);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => storeValue(item, markOf("", mark), storing));
  if (!isBlobRef(value)) return storeMembers(value, mark, storing);
  if (mark === "text") return value;
  const { scrub, spill } = storing;
  const whole = storeMembers(value, mark, { scrub });
  return spill ? { ...spill(JSON.stringify(whole)), json: true } : whole;
}

/** A value of many short parts can be long too: then it becomes one blob. */
function storeWhole(value: unknown, storing: Storing): unknown {
  if (typeof value !== "object" || value === null || !storing.spill) return storeValue(value, "json", storing);
  const json = JSON.stringify(storeValue(value, "json", { scrub: storing.scrub }));
  return isLong(json) ? { ...storing.spill(json), json: true } : storeValue(value, "json", storing);
}

function storeText(text: string, mark: Mark | undefined, { scrub, spill }: Storing): unknown {
  if (mark === "fixed") return text;
  const stored = mark === "exact" ? text : scrub(wellFormed(text));
  if (!spill || !isLong(stored)) return stored;
  // UTF-8 has no lone surrogates, but JSON escapes them.
  return stored.isWellFormed() ? spill(stored) : { ...spill(JSON.stringify(stored)), json: true };
}

/** A string of n UTF-16 units has between n and 3n bytes. */
const isLong = (text: string): boolean => text.length * 3 > SPILL_BYTES && Buffer.byteLength(text) > SPILL_BYTES;

function storeMembers(value: object, mark: Mark | undefined, storing: Storing): object {
  // Changing a clone in place is several times faster than building a new object.
  const copy: Record<string, unknown> = { ...value };
  for (const [name, item] of Object.entries(value)) {
    const stored = storeValue(item, markOf(name, mark), storing);
    const storedName = mark === "json" ? storing.scrub(name) : name;
    if (stored === item && storedName === name) continue;
    if (storedName !== name) delete copy[name];
    if (storedName === "__proto__") Object.defineProperty(copy, storedName, { value: stored, enumerable: true });
    else copy[storedName] = stored;
  }
  return copy;
}

function markOf(name: string, mark: Mark | undefined): Mark | undefined {
  if (typeof mark !== "object") return mark === "exact" || mark === "json" ? mark : undefined;
  return Object.hasOwn(mark, name) ? (mark as FieldMarks)[name] : undefined;
}

/** True when a string or a name in the value holds a known secret. */
function holdsSecret(value: unknown, scrub: Storing["scrub"]): boolean {
  if (typeof value === "string") return scrub(value) !== value;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => holdsSecret(name, scrub) || holdsSecret(item, scrub));
}

/** Marks of whole events: the fields of the stamp are fixed too. */
export const EVENT_MARKS: Readonly<Record<string, FieldMarks>> = Object.fromEntries(
  Object.entries(EVENT_FIELDS).map(([type, marks]): [string, FieldMarks] => [
    type,
    { ...(marks as FieldMarks), type: "fixed", at: "fixed" },
  ]),
);

/** A prepared value comes back as it is, so it cannot be scrubbed: what holds a secret is not stored and not run. */
export function refuseSecrets(looked: Prepared, name: string, scrub: Storing["scrub"]): Prepared {
  if ("refused" in looked || !holdsSecret(looked.prepared, scrub)) return looked;
  const text =
    `${name} was not run: what it read to prepare itself holds a secret of the settings (a key or a password), which is never stored. ` +
    "Leave that out, or use another command.";
  return { refused: fail("secret-prepared", text) };
}
