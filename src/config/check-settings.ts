/**
 * check-settings.ts -- assembles the settings that were found and checks them against the table.
 *
 * The schemas use a small part of JSON Schema, checked here in less than a millisecond. Loading and compiling ajv would
 * take a quarter of the time of a short verb. A test compares this check with ajv's verdict and messages for every row.
 */
import { clip } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { FoundSetting } from "./find-settings.ts";
import type { ValueSchema } from "./setting-row.ts";
import { SETTINGS, type SettingName } from "./settings.ts";

export interface SettingProblem {
  /** The setting with the wrong value; undefined for a variable that is not a setting any more. */
  readonly name?: SettingName;
  readonly sentence: string;
}

export interface CheckedSettings {
  /** Complete and frozen; a `Settings` when there are no problems. */
  readonly settings: object;
  readonly problems: readonly SettingProblem[];
}

export function checkSettings(found: ReadonlyMap<SettingName, FoundSetting>): CheckedSettings {
  const settings: Record<string, unknown> = {};
  for (const [name, { value }] of found) setAt(settings, name.split("."), value);
  const wrong = new Set(findSchemaProblems(settings).map((problem) => problem.name));
  for (const [name, { value }] of found)
    if (/\.baseUrl$|^web\.allow$/.test(name) && typeof value === "string" && !value.split(/[,\s]+/).every(isAddress))
      wrong.add(name);
  const problems = [...found].filter(([name]) => wrong.has(name)).map(([name, one]) => describeProblem(name, one));
  return { settings: deepFreeze(settings), problems };
}

const isAddress = (text: string): boolean => URL.canParse(text);

function describeProblem(name: SettingName, { row, written, origin }: FoundSetting): SettingProblem {
  const source = origin.layer === "flag" ? "command line" : origin.file || origin.layer;
  const got = row.secret ? "a value that is not shown" : quoteValue(written);
  return { name, sentence: `${origin.name} (${source}) must be ${row.expected}, got ${got}.` };
}

/** A value as written, in JSON, made safe to show by `shortenForDisplay`. */
export const quoteValue = (written: unknown): string => shortenForDisplay(JSON.stringify(written) ?? "nothing");
/** Text without control characters and without credentials in addresses, at most 120 characters. */
export const shortenForDisplay = (text: string): string => clean(clip(withoutCredentials(text), 120));

/** Addresses may carry a password before the @ or a key behind the question mark. */
const withoutCredentials = (text: string): string => text.replace(/\/\/[^/@"]*@/g, "//…@").replace(/\?[^"]*/g, "?…");

function setAt(object: Record<string, unknown>, [part, ...rest]: readonly string[], value: unknown): void {
  if (part === undefined) return;
  if (rest.length === 0) object[part] = value;
  else {
    object[part] ??= {};
    setAt(object[part] as Record<string, unknown>, rest, value);
  }
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}

// ---------------------------------------------------------------- against the schemas

export interface SchemaProblem {
  /** Dotted; "" for a problem of the whole object. */
  readonly name: string;
  /** In ajv's words. */
  readonly message: string;
}

/** Checks complete settings; returns an empty list when they are right. */
export const findSchemaProblems = (settings: unknown): readonly SchemaProblem[] => [
  ...problemsBelow("", SCHEMAS, settings),
];

/** Names, each with a setting's schema or with a group of more names. */
type SchemaTree = ReadonlyMap<string, SchemaTree | ValueSchema>;

const SCHEMAS = treeOf(SETTINGS.map(({ name, schema }) => [name.split("."), schema]));

function treeOf(rows: readonly (readonly [path: readonly string[], schema: ValueSchema])[]): SchemaTree {
  const groups = Map.groupBy(rows, ([[first = ""]]) => first);
  const tree = new Map<string, SchemaTree | ValueSchema>();
  for (const [first, members] of groups) {
    const [only] = members;
    if (only?.[0].length === 1) tree.set(first, only[1]);
    else tree.set(first, treeOf(members.map(([path, schema]) => [path.slice(1), schema])));
  }
  return tree;
}

function* problemsBelow(name: string, tree: SchemaTree, value: unknown): Generator<SchemaProblem> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    yield { name, message: "must be object" };
    return;
  }
  for (const part of Object.keys(value))
    if (!tree.has(part)) yield { name, message: `must NOT have additional properties (${part})` };
  for (const [part, expected] of tree) {
    const inner: unknown = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
    const innerName = name === "" ? part : `${name}.${part}`;
    if (inner === undefined) yield { name, message: `must have required property '${part}'` };
    else if (expected instanceof Map) yield* problemsBelow(innerName, expected, inner);
    else for (const message of checkValue(inner, expected as ValueSchema)) yield { name: innerName, message };
  }
}

function* checkValue(value: unknown, schema: ValueSchema): Generator<string> {
  if (!hasType(value, schema)) yield `must be ${schema.type}`;
  if (typeof value === "string") yield* checkText(value, schema);
  if (typeof value === "number") yield* checkNumber(value, schema);
  if (schema.enum && !schema.enum.includes(value as string)) yield "must be equal to one of the allowed values";
}

function hasType(value: unknown, { type, nullable }: ValueSchema): boolean {
  if (value === null) return nullable === true;
  if (type === "integer") return Number.isInteger(value);
  return type === "number" ? Number.isFinite(value) : typeof value === type;
}

function* checkText(text: string, { minLength, maxLength, pattern }: ValueSchema): Generator<string> {
  if (maxLength !== undefined && countCharacters(text) > maxLength)
    yield `must NOT have more than ${maxLength} characters`;
  if (minLength !== undefined && countCharacters(text) < minLength)
    yield `must NOT have fewer than ${minLength} characters`;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) yield `must match pattern "${pattern}"`;
}

/** JSON Schema counts a character outside the basic plane as one. */
const countCharacters = (text: string): number => [...text].length;

function* checkNumber(value: number, { minimum, maximum }: ValueSchema): Generator<string> {
  if (!Number.isFinite(value)) return;
  if (maximum !== undefined && value > maximum) yield `must be <= ${maximum}`;
  if (minimum !== undefined && value < minimum) yield `must be >= ${minimum}`;
}
