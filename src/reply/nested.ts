/**
 * nested.ts -- JSON that stands inside a string of the reply: the arguments of a tool call, a whole command.
 *
 * Held to the same rule as the reply around it: spelling may be mended, nothing is guessed, and what says two
 * things is not run.
 */
import { conflictingKey } from "./duplicates.ts";
import { parseJson } from "./json.ts";
import { mend } from "./mend.ts";

export type Nested =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "twice"; readonly key: string };

/** Longer text is read as it is, or not at all. */
const MAX_MENDED_CHARS = 50_000;

/** The object that `text` holds and nothing else; null where it holds none that can be read. */
export function parseNested(text: string): Nested | null {
  const source = unquoted(text.trim());
  if (!source.startsWith("{")) return null;
  const strict = parseJson(source);
  const json = strict === undefined ? mended(source) : source;
  const value = strict ?? (json === null ? undefined : parseJson(json));
  if (json === null || value === undefined) return null;
  const key = conflictingKey(json, value);
  return key === null ? { kind: "value", value } : { kind: "twice", key };
}

/** Without one more layer of JSON string. */
function unquoted(text: string): string {
  const inner = text.startsWith('"{') ? parseJson(text) : undefined;
  return typeof inner === "string" ? inner.trim() : text;
}

function mended(source: string): string | null {
  if (source.length > MAX_MENDED_CHARS) return null;
  const { text, end, owed, isClear, isCut, hasConflict, isDoubtful, hasEllipsis } = mend(source, 0, "resolve");
  const isWhole = end === source.length && owed === "" && !isCut;
  return isWhole && isClear && !hasConflict && !isDoubtful && !hasEllipsis ? text : null;
}
