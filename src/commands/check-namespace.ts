/** check-namespace.ts -- checks what a cell left in its namespace, before it becomes an event: a cell's process wrote it. */
import type { NamespaceWrite } from "#core/command.ts";

/** A namespace of more names is a data set, which belongs in a file. */
const MAX_NAMES = 10_000;
const MAX_NAME_CHARS = 1_000;
/** All names, sources and values together. Those over 32 KB are blobs, and an unchanged one is stored once. */
const MAX_CHARS = 64_000_000;

/** Returns what is wrong, as the end of a sentence; undefined for a namespace that the log can hold. */
export function findNamespaceProblem(write: NamespaceWrite): string | undefined {
  const { version, definitions, values, lost, change } = write;
  if (typeof version !== "string") return "a namespace without a version";
  const arePairs = isContent(definitions, values, isText) && (!change || isContent(change.definitions, change.values));
  if (!arePairs) return "a namespace whose names, sources or values are no texts";
  if (!Array.isArray(lost) || !lost.every((one) => isName(one?.name) && isName(one?.reason)))
    return "lost names without a name and a reason";
  const count = definitions.length + Object.keys(values).length + lost.length;
  if (count > MAX_NAMES) return `a namespace of ${count} names, more than ${MAX_NAMES}`;
  const chars = charsIn(definitions, values) + (change ? charsIn(change.definitions, change.values) : 0);
  return chars > MAX_CHARS ? `a namespace of ${chars} characters, more than ${MAX_CHARS}` : undefined;
}

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrGone = (value: unknown): boolean => value === null || isText(value);
const isName = (value: unknown): boolean => isText(value) && value.length <= MAX_NAME_CHARS;

function isContent(definitions: unknown, values: unknown, isSource = isTextOrGone as (value: unknown) => boolean) {
  if (!Array.isArray(definitions) || typeof values !== "object" || values === null) return false;
  const pairs: readonly unknown[] = [...definitions, ...Object.entries(values)];
  return pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && isName(pair[0]) && isSource(pair[1]));
}

const charsIn = (
  definitions: readonly (readonly [string, string | null])[],
  values: Readonly<Record<string, string | null>>,
): number =>
  [...definitions, ...Object.entries(values)].reduce((sum, [name, text]) => sum + name.length + (text?.length ?? 0), 0);
