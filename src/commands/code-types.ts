/**
 * code-types.ts -- writes a JSON Schema as a type of Python, for the signatures of functions.
 *
 * A type helps the model to write a call. The arguments of the call are checked against the schema itself, so what a
 * type cannot say is left out.
 */
import { followReference, type JsonSchema, type JsonType, typesOf } from "#core/command.ts";

const MAX_LEVELS = 4;
const MAX_CHOICES = 12;
/** A longer type is written with fewer levels. */
const MAX_TYPE_CHARS = 300;

const PYTHON_WORDS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "True"],
  [false, "False"],
  [null, "None"],
]);

const NAMES: Readonly<Record<JsonType, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
  array: "list",
  object: "dict",
};
const UNKNOWN = "Any";

const writeChoice = (value: unknown): string => PYTHON_WORDS.get(value) ?? JSON.stringify(value);

export function renderType(schema: JsonSchema, root: JsonSchema): string {
  for (let levels = MAX_LEVELS; levels > 1; levels--) {
    const type = typeOf(schema, root, levels);
    if (type.length <= MAX_TYPE_CHARS) return type;
  }
  return typeOf(schema, root, 1);
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

function typeOf(schema: JsonSchema, root: JsonSchema, levels: number): string {
  const followed = followReference(schema, root);
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives && levels > 1) return unite(alternatives.map((each) => typeOf(each, root, levels - 1)));
  const choices = choicesOf(followed);
  if (choices && choices.length <= MAX_CHOICES && choices.every(isPlain))
    return `Literal[${choices.map(writeChoice).join(", ")}]`;
  const types = typesOf(followed);
  const named = types.length > 0 || !choices ? types : [...new Set(choices.map(jsonTypeOf))];
  return unite(named.map((type) => namedType(type, followed, root, levels)));
}

function namedType(
  type: JsonType,
  { items, properties = {}, additionalProperties }: JsonSchema,
  root: JsonSchema,
  levels: number,
): string {
  const inner = (schema: JsonSchema): string => typeOf(schema, root, levels - 1);
  if (levels <= 1) return NAMES[type];
  if (type === "array" && typeof items === "object") return `list[${inner(items)}]`;
  if (type !== "object") return NAMES[type];
  const isMap = Object.keys(properties).length === 0 && typeof additionalProperties === "object";
  return isMap ? `dict[str, ${inner(additionalProperties)}]` : NAMES.object;
}

/** Null comes last. */
function unite(types: readonly string[]): string {
  const parts = [...new Set(types)];
  if (parts.length === 0 || parts.includes(UNKNOWN)) return UNKNOWN;
  return [...parts.filter((part) => part !== NAMES.null), ...parts.filter((part) => part === NAMES.null)].join(" | ");
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;

function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "object";
}
