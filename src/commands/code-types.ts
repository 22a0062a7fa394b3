/**
 * code-types.ts -- writes a JSON Schema as a type of Python or TypeScript, for the signatures of functions.
 *
 * A type helps the model to write a call. The arguments of the call are checked against the schema itself, so what a
 * type cannot say is left out.
 */
import type { JsonSchema, JsonType } from "#core/command.ts";
import { followReference, typesOf } from "#core/json-schema.ts";
import type { CellLanguage } from "#core/ports/sandbox.ts";

const MAX_LEVELS = 4;
const MAX_CHOICES = 12;
/** A longer type is written with fewer levels. */
const MAX_TYPE_CHARS = 300;

interface Notation {
  readonly names: Readonly<Record<JsonType, string>>;
  readonly unknown: string;
  choice(value: unknown): string;
  choices(list: readonly string[]): string;
  list(item: string): string;
  map(value: string): string;
  /** Undefined: the notation has no type with named members. */
  members?(list: readonly { readonly name: string; readonly type: string; readonly isRequired: boolean }[]): string;
}

const PYTHON_WORDS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "True"],
  [false, "False"],
  [null, "None"],
]);

const python: Notation = {
  names: {
    string: "str",
    integer: "int",
    number: "float",
    boolean: "bool",
    null: "None",
    array: "list",
    object: "dict",
  },
  unknown: "Any",
  choice: (value) => PYTHON_WORDS.get(value) ?? JSON.stringify(value),
  choices: (list) => `Literal[${list.join(", ")}]`,
  list: (item) => `list[${item}]`,
  map: (value) => `dict[str, ${value}]`,
};

const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;

const typescript: Notation = {
  names: {
    string: "string",
    integer: "number",
    number: "number",
    boolean: "boolean",
    null: "null",
    array: "unknown[]",
    object: "Record<string, unknown>",
  },
  unknown: "unknown",
  choice: (value) => JSON.stringify(value),
  choices: (list) => list.join(" | "),
  list: (item) => (item.includes(" | ") ? `(${item})[]` : `${item}[]`),
  map: (value) => `Record<string, ${value}>`,
  members: (list) =>
    `{ ${list
      .map(({ name, type, isRequired }) => {
        const key = IDENTIFIER.test(name) ? name : JSON.stringify(name);
        return `${key}${isRequired ? "" : "?"}: ${type}`;
      })
      .join("; ")} }`,
};

const NOTATIONS: Readonly<Record<CellLanguage, Notation>> = { python, javascript: typescript };

export function renderType(schema: JsonSchema, root: JsonSchema, language: CellLanguage): string {
  const notation = NOTATIONS[language];
  for (let levels = MAX_LEVELS; levels > 1; levels--) {
    const type = typeOf(schema, root, notation, levels);
    if (type.length <= MAX_TYPE_CHARS) return type;
  }
  return typeOf(schema, root, notation, 1);
}

/** Whether null is a value of the type. */
export function allowsNull(schema: JsonSchema, root: JsonSchema): boolean {
  const followed = followReference(schema, root);
  const types = typesOf(followed);
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives) return alternatives.some((each) => allowsNull(each, root));
  const choices = choicesOf(followed);
  if (choices) return choices.includes(null);
  return types.length === 0 || types.includes("null");
}

const choicesOf = ({ const: only, enum: choices }: JsonSchema): readonly unknown[] | undefined =>
  only === undefined ? choices : [only];

function typeOf(schema: JsonSchema, root: JsonSchema, notation: Notation, levels: number): string {
  const followed = followReference(schema, root);
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives && levels > 1)
    return unite(
      alternatives.map((each) => typeOf(each, root, notation, levels - 1)),
      notation,
    );
  const choices = choicesOf(followed);
  if (choices && choices.length <= MAX_CHOICES && choices.every(isPlain))
    return notation.choices(choices.map(notation.choice));
  const types = typesOf(followed);
  const named = types.length > 0 || !choices ? types : [...new Set(choices.map(jsonTypeOf))];
  return unite(
    named.map((type) => namedType(type, followed, root, notation, levels)),
    notation,
  );
}

function namedType(
  type: JsonType,
  { items, properties = {}, required = [], additionalProperties }: JsonSchema,
  root: JsonSchema,
  notation: Notation,
  levels: number,
): string {
  const inner = (schema: JsonSchema): string => typeOf(schema, root, notation, levels - 1);
  if (levels <= 1) return notation.names[type];
  if (type === "array" && typeof items === "object") return notation.list(inner(items));
  if (type !== "object") return notation.names[type];
  const names = Object.keys(properties);
  if (names.length > 0)
    return (
      notation.members?.(
        names.map((name) => ({
          name,
          type: inner(properties[name] as JsonSchema),
          isRequired: required.includes(name),
        })),
      ) ?? notation.names.object
    );
  return typeof additionalProperties === "object" ? notation.map(inner(additionalProperties)) : notation.names.object;
}

/** Null comes last. */
function unite(types: readonly string[], { names, unknown }: Notation): string {
  const parts = [...new Set(types)];
  if (parts.length === 0 || parts.includes(unknown)) return unknown;
  return [...parts.filter((part) => part !== names.null), ...parts.filter((part) => part === names.null)].join(" | ");
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;

function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "object";
}
