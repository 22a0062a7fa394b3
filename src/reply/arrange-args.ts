/**
 * arrange-args.ts -- brings written arguments to the names and types of their schema, without loss. A number becomes a
 * string if its digits are kept, a list of one string a string, integer digits an integer, a string a list or an
 * object. `true` never becomes 1. An unknown argument is never dropped: without `"mode": "append"` a command would
 * overwrite a file. Members of nested objects are treated alike.
 */
import { type ArgsSchema, followReference, isSchema, type JsonSchema, THOUGHT, typesOf } from "#core/command.ts";
import { rememberBy } from "#util/caches.ts";
import { isRecord } from "#util/json.ts";
import { editDistance } from "#util/nearest-name.ts";
import { isArgsKey } from "./find-call.ts";
import { findConflictingKey, isSameJson, parseShallowJson } from "./json.ts";
import { parseNested } from "./json-objects.ts";

type ArrangedArguments =
  /** `thought`: the argument that goald adds to every tool; absent when it was not written. */
  | { readonly kind: "args"; readonly args: Readonly<Record<string, unknown>>; readonly thought?: string | undefined }
  | { readonly kind: "not-an-object" }
  | { readonly kind: "twice"; readonly name: string }
  | { readonly kind: "placeholder"; readonly name: string; readonly value: string };

/** `source`: the part of the reply that contains the call. */
export function arrangeArguments(
  written: unknown,
  schema: ArgsSchema,
  aliases: Aliases,
  source: string,
): ArrangedArguments {
  const names = Object.keys(schema.properties);
  const nested = typeof written === "string" ? parseNested(written) : null;
  if (nested?.kind === "twice") return { kind: "twice", name: nested.key };
  const record = readArgsRecord(nested ? nested.value : written, schema, names);
  if (record === null) return { kind: "not-an-object" };
  const args: Record<string, unknown> = Object.create(null);
  let thought: string | undefined;
  const converting: Converting = { root: schema, source, kept: new Map() };
  for (const [key, value] of Object.entries(record)) {
    const bare = key.trim().replace(QUOTES, "");
    const name = findArgumentName(bare, names, aliases);
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (bare === THOUGHT && !property && typeof value === "string") {
      thought = value;
      continue;
    }
    const converted = property ? convertValue(value, property, converting) : value;
    if (value === null && property && !schema.required?.includes(name)) continue;
    if (name in args && !isSameJson(args[name], converted)) return { kind: "twice", name };
    args[name] = converted;
  }
  for (const [name, value] of Object.entries(args)) {
    const placeholder = collectTexts(value).find((text) => isPlaceholder(text, schema));
    if (placeholder !== undefined) return { kind: "placeholder", name, value: placeholder };
  }
  return { kind: "args", args, thought };
}

/** Accepts a record, a record below a second key for arguments, or the text of the only argument or the only required one. */
function readArgsRecord(
  value: unknown,
  schema: ArgsSchema,
  names: readonly string[],
): Readonly<Record<string, unknown>> | null {
  if (value === undefined || value === null || value === "" || value === "null") return {};
  if (Array.isArray(value) && value.length === 0) return {};
  // Text that starts like an object or a list is a damaged one, not the argument itself.
  if (typeof value === "string" && /^\s*(?:"|```\w{0,20}\s{0,20})?[{[]/.test(value)) return null;
  const { required = [] } = schema;
  const [only = "", ...more] = required.length === 1 ? required : names;
  if (typeof value === "string" && more.length === 0 && schema.properties[only]?.type === "string")
    return { [only]: value };
  if (!isRecord(value)) return null;
  const [key = "", ...others] = Object.keys(value);
  const isNested = others.length === 0 && isArgsKey(key, true) && !names.includes(key);
  return isNested && isRecord(value[key]) ? value[key] : value;
}

interface Converting {
  readonly root: JsonSchema;
  readonly source: string;
  /** What `isKept` found, by number. */
  readonly kept: Map<number, boolean>;
}

function convertValue(value: unknown, written: JsonSchema, converting: Converting): unknown {
  const schema = followReference(written, converting.root);
  const [type, ...others] = typesOf(schema).filter((each) => each !== "null");
  if (typeof value === "string" && type !== "string" && others.length === 0)
    return convertText(value, type, schema, converting);
  if (Array.isArray(value)) {
    if (type === "string" && value.length === 1 && typeof value[0] === "string") return value[0];
    const { items } = schema;
    return isSchema(items) ? value.map((item) => convertValue(item, items, converting)) : value;
  }
  if (isRecord(value)) return convertMembers(value, schema, converting);
  if (typeof value !== "number" || others.length > 0) return value;
  if (type === "string") return isKept(value, converting) ? String(value) : value;
  return type === "integer" && Math.abs(value) > Number.MAX_SAFE_INTEGER ? String(value) : value;
}

function convertText(text: string, type: string | undefined, schema: JsonSchema, converting: Converting): unknown {
  if (type === "boolean" && /^(?:true|false)$/i.test(text)) return /true/i.test(text);
  if (type === "integer" || type === "number") return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text;
  if (type === "array") {
    if (!text.trimStart().startsWith("[")) return [text];
    const parsed = parseShallowJson(text);
    return Array.isArray(parsed) ? convertValue(parsed, schema, converting) : text;
  }
  if (type !== "object") return text;
  const parsed = parseShallowJson(text);
  const isSound = isRecord(parsed) && findConflictingKey(text) === null;
  return isSound ? convertMembers(parsed, schema, converting) : text;
}

/** A strict reply schema requires every member, so null means an omitted one. */
function convertMembers(
  record: Readonly<Record<string, unknown>>,
  { properties = {}, required = [] }: JsonSchema,
  converting: Converting,
): object {
  const members = Object.entries(record).flatMap(([name, value]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (value === null && property && !required.includes(name)) return [];
    return [[name, property ? convertValue(value, property, converting) : value]];
  });
  return Object.fromEntries(members);
}

/** Whether the reply has the number in the digits of `String(number)`: `1.10` fails, so do 20 digits. */
function isKept(value: number, { source, kept }: Converting): boolean {
  const digits = String(value).replace(/[.+]/g, "\\$&");
  const found = kept.get(value) ?? new RegExp(`(?<![\\d.eE+-])${digits}(?![\\d.eE])`).test(source);
  kept.set(value, found);
  return found;
}

/** Recognises `<file>` and dots, and what the command list shows for an argument. */
function isPlaceholder(text: string, schema: ArgsSchema): boolean {
  const bare = text.trim();
  if (text.length <= 40 && /^(?:\.\.\.|…|<[a-z_ -]{2,38}>)$/i.test(bare)) return true;
  return bare.startsWith("<") && listPlaceholders(schema).has(bare);
}

/** Every description of the schema in angle brackets. */
const listPlaceholders = rememberBy((schema: ArgsSchema): ReadonlySet<string> => {
  const shown = new Set<string>();
  JSON.stringify(schema, (key, value) => {
    if (key === "description" && typeof value === "string") shown.add(`<${value}>`);
    return value;
  });
  return shown;
});

/** All strings in a value, at any depth. */
export const collectTexts = (value: unknown): readonly string[] =>
  collectValues(value).filter((each) => typeof each === "string");

/** Returns the values inside that hold no others. */
export function collectValues(value: unknown): readonly unknown[] {
  const inside = typeof value === "object" && value !== null ? Object.values(value) : [];
  return inside.length === 0 ? [value] : inside.flatMap(collectValues);
}

/** Other names that models use for commands and arguments, from config/aliases.json. */
export interface Aliases {
  /** Command name by alias. */
  readonly commands: Readonly<Record<string, string>>;
  /** Aliases by argument name. */
  readonly args: Readonly<Record<string, readonly string[]>>;
}

const MAX_NAME_CHARS = 80;
const QUOTES = /^["'`]+|["'`]+$/g;

/**
 * Returns the name in `names` that `written` means, or null. Names are compared by their words: `WriteToFile`,
 * `write-to-file` and `"write_to_file"()` are equal. Similar names are never run: a problem sentence lists them for the
 * model.
 */
export function findCommandName(written: string, names: ReadonlySet<string>, aliases: Aliases): string | null {
  if (written.length > MAX_NAME_CHARS) return null;
  const bare = written.trim();
  if (names.has(bare)) return bare;
  const name = normalizeName(bare);
  if (name === null) return null;
  if (names.has(name)) return name;
  const meant = Object.hasOwn(aliases.commands, name) ? (aliases.commands[name] as string) : null;
  return meant !== null && names.has(meant) ? meant : null;
}

/** Returns the name in `names` that `written` means, else `written`. */
function findArgumentName(written: string, names: readonly string[], aliases: Aliases): string {
  if (names.includes(written) || written.length > MAX_NAME_CHARS) return written;
  const name = normalizeName(written);
  if (name === null) return written;
  if (names.includes(name)) return name;
  return (
    names.find((candidate) => Object.hasOwn(aliases.args, candidate) && aliases.args[candidate]?.includes(name)) ??
    written
  );
}

/** Returns lower-case words joined by `_`; null for text that is not one name, such as a shell line. */
function normalizeName(written: string): string | null {
  const bare = written
    .trim()
    .replace(QUOTES, "")
    .replace(/\(\)$/, "")
    .replaceAll("\\_", "_")
    .replace(/^(?:functions?|default_api|tools?)[.:]|:\d{1,3}$|<\|.*$/g, "")
    .trim();
  if (!/^[a-z_][\w\- ()]*$/i.test(bare)) return null;
  return bare
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[\s\-()_]+/g, "_")
    .replace(/_$/, "");
}

/** Ranks names that share words with `written` or differ by few letters, best first. */
export function rankNearestNames(written: string, names: Iterable<string>, count: number): readonly string[] {
  const short = written.slice(0, MAX_NAME_CHARS);
  const target = normalizeName(short) ?? short.toLowerCase();
  const targetWords = new Set(target.split("_").filter((word) => word.length > 2));
  const ranked = [...names].map((name) => {
    const shared = name.split("_").filter((word) => targetWords.has(word)).length;
    return { name, distance: editDistance(target, name) - 3 * shared };
  });
  return ranked
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
}
