/**
 * check-settings.ts -- whether complete settings are what the table asks for.
 *
 * The table's schemas are a small part of JSON Schema, checked here in less than a millisecond: a
 * general validator takes a quarter of the time of a short verb to be loaded and compiled. A test holds it to
 * ajv's verdicts and messages for every row. What is wrong comes back as setting names, so that
 * the loader can say which file or variable it was.
 */
import { SETTINGS, type ValueSchema } from "./settings-table.ts";

export interface Problem {
  /** Dotted; the root's own problems have the name "". */
  readonly name: string;
  readonly message: string;
}

/** What is wrong with complete settings; empty when nothing is. */
export const problemsIn = (settings: unknown): readonly Problem[] => [...problemsBelow("", TREE, settings)];

/** Names and what stands below them: a group of more names, or a setting's schema. */
type Tree = ReadonlyMap<string, Tree | ValueSchema>;

const TREE = treeOf(SETTINGS.map(({ name, schema }) => [name.split("."), schema]));

function treeOf(rows: readonly (readonly [path: readonly string[], schema: ValueSchema])[]): Tree {
  const groups = Map.groupBy(rows, ([[first = ""]]) => first);
  const tree = new Map<string, Tree | ValueSchema>();
  for (const [first, members] of groups) {
    const [only] = members;
    if (only?.[0].length === 1) tree.set(first, only[1]);
    else tree.set(first, treeOf(members.map(([path, schema]) => [path.slice(1), schema])));
  }
  return tree;
}

function* problemsBelow(name: string, tree: Tree, value: unknown): Generator<Problem> {
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
    else for (const message of problemsWith(inner, expected as ValueSchema)) yield { name: innerName, message };
  }
}

// ---------------------------------------------------------------- one value

function* problemsWith(value: unknown, schema: ValueSchema): Generator<string> {
  if (!hasType(value, schema)) yield `must be ${schema.type}`;
  if (typeof value === "string") yield* problemsWithText(value, schema);
  if (typeof value === "number") yield* problemsWithNumber(value, schema);
  if (schema.enum && !schema.enum.includes(value as string)) yield "must be equal to one of the allowed values";
}

function hasType(value: unknown, { type, nullable }: ValueSchema): boolean {
  if (value === null) return nullable === true;
  if (type === "integer") return Number.isInteger(value);
  return type === "number" ? Number.isFinite(value) : typeof value === type;
}

function* problemsWithText(text: string, { minLength, maxLength, pattern }: ValueSchema): Generator<string> {
  if (maxLength !== undefined && charactersOf(text) > maxLength)
    yield `must NOT have more than ${maxLength} characters`;
  if (minLength !== undefined && charactersOf(text) < minLength)
    yield `must NOT have fewer than ${minLength} characters`;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) yield `must match pattern "${pattern}"`;
}

/** As JSON Schema counts: a character outside the basic plane is one. */
const charactersOf = (text: string): number => [...text].length;

function* problemsWithNumber(value: number, { minimum, maximum }: ValueSchema): Generator<string> {
  if (!Number.isFinite(value)) return;
  if (maximum !== undefined && value > maximum) yield `must be <= ${maximum}`;
  if (minimum !== undefined && value < minimum) yield `must be >= ${minimum}`;
}
