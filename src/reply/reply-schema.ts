/**
 * reply-schema.ts -- builds the JSON schema of a reply, in the subset of strict servers where that is possible. The
 * schema has the shape that the prompt shows, so that a grammar never forces a model away from its instructions. Each
 * branch begins with `name`, which allows one value: strict servers tell branches apart by their first key. It has
 * names and types only: what a command and its arguments mean is in the prompt, and servers charge for both.
 */
import { type Command, followReference, type JsonSchema, type JsonType, THOUGHT, typesOf } from "#core/command.ts";
import type { ReplySchema, Tool } from "#core/ports/model.ts";

type SchemaCommand = Pick<Command, "name" | "summary" | "args">;

const text = { type: "string" } as const;

/** One command that strict servers cannot take makes the whole schema an unstrict one. */
export function buildReplySchema(commands: readonly SchemaCommand[]): ReplySchema {
  const thoughts = { text, reasoning: text, plan: text, criticism: text, speak: text };
  const loose: Record<string, unknown> = {};
  const branches = commands.map(({ name, args }) => {
    const strict = toStrictSchema(args);
    if (!strict) loose[name] = moveReferences(args, `#/$defs/${name}`);
    const schema = strict === null ? { $ref: `#/$defs/${name}` } : withoutDescriptions(strict);
    return closeObject({ name: { type: "string", enum: [name] }, args: schema });
  });
  const schema = closeObject({ thoughts: closeObject(thoughts), command: { anyOf: branches } });
  const isStrict = Object.keys(loose).length === 0;
  return { schema: isStrict ? schema : { ...schema, $defs: loose }, isStrict };
}

/** A property may be called `description`: only texts are removed. */
const withoutDescriptions = (schema: JsonSchema): JsonSchema =>
  JSON.parse(
    JSON.stringify(schema, (key, value) => (key === "description" && typeof value === "string" ? undefined : value)),
  );

/** Local references count from the root of the whole schema. */
function moveReferences(value: unknown, root: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => moveReferences(item, root));
  const entries = Object.entries(value).map(([key, item]) =>
    key === "$ref" && typeof item === "string" ? [key, root + item.slice(1)] : [key, moveReferences(item, root)],
  );
  return Object.fromEntries(entries);
}

const closeObject = (properties: Readonly<Record<string, JsonSchema>>, description: object = {}): JsonSchema => ({
  type: "object",
  ...description,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const THOUGHT_SCHEMA: JsonSchema = {
  type: "string",
  description: "what you do and why, in one sentence",
};

/** Writes commands as native tools, each with a thought as its first parameter. */
export const buildTools = (commands: readonly SchemaCommand[]): readonly Tool[] =>
  commands.map(({ name, summary, args }) => {
    const { properties, required = [] } = args;
    const hasOwn = Object.hasOwn(properties, THOUGHT);
    const added = hasOwn
      ? args
      : { ...args, properties: { [THOUGHT]: THOUGHT_SCHEMA, ...properties }, required: [THOUGHT, ...required] };
    const strict = toStrictSchema(added);
    return { name, description: summary, parameters: strict ?? added, isStrict: strict !== null };
  });

/** OpenAI accepts ten levels; a command's arguments begin at the third. */
const MAX_LEVELS = 7;

/**
 * Rewrites a JSON Schema in the subset that strict servers accept. Every object is closed, every key is required, and
 * what was optional may be null. Only types, choices, items, properties, alternatives and descriptions stay, since each
 * further keyword makes more servers refuse the schema; ajv checks the reply against the whole schema anyway. Returns
 * null for a schema that the subset cannot express, such as an open object.
 */
function toStrictSchema(schema: JsonSchema, root: JsonSchema = schema, level = 0): JsonSchema | null {
  if (level > MAX_LEVELS) return null;
  const followed = followReference(schema, root);
  const description = followed.description === undefined ? {} : { description: followed.description };
  const alternatives = followed.anyOf ?? followed.oneOf;
  if (alternatives) {
    const strict = alternatives.map((each) => toStrictSchema(each, root, level + 1));
    return strict.every((each) => each !== null) ? { ...description, anyOf: strict } : null;
  }
  const choices = followed.const === undefined ? followed.enum : [followed.const];
  if (choices) return toChoices(choices, description);
  const types = typesOf(followed);
  const [type] = types;
  if (type === undefined || followed.allOf) return null;
  if (types.length > 1) return types.some(isContainer) ? null : { type: types, ...description };
  if (type === "array") {
    if (typeof followed.items !== "object" || followed.prefixItems) return null;
    const items = toStrictSchema(followed.items, root, level + 1);
    return items && { type, ...description, items };
  }
  return type === "object" ? toClosedObject(followed, root, level, description) : { type, ...description };
}

const isContainer = (type: string): boolean => type === "array" || type === "object";

function toChoices(choices: readonly unknown[], description: object): JsonSchema | null {
  const types = new Set(choices.map((choice) => (choice === null ? "null" : (typeof choice as JsonType))));
  if (types.has("object")) return null;
  const [type = "null", ...others] = types;
  return { type: others.length === 0 ? type : [type, ...others], ...description, enum: choices };
}

function toClosedObject(
  { properties = {}, required = [], additionalProperties, patternProperties }: JsonSchema,
  root: JsonSchema,
  level: number,
  description: object,
): JsonSchema | null {
  // An object without `additionalProperties` is open, but only one without properties needs unknown keys.
  const isFreeForm = level > 0 && additionalProperties === undefined && Object.keys(properties).length === 0;
  if (isFreeForm || (additionalProperties ?? false) !== false || patternProperties) return null;
  const members: Record<string, JsonSchema> = {};
  for (const [name, property] of Object.entries(properties)) {
    const strict = toStrictSchema(property, root, level + 1);
    if (!strict) return null;
    members[name] = required.includes(name) ? strict : makeNullable(strict);
  }
  return closeObject(members, description);
}

function makeNullable(schema: JsonSchema): JsonSchema {
  if (schema.anyOf) return { ...schema, anyOf: [...schema.anyOf, { type: "null" }] };
  const types = [schema.type ?? []].flat();
  if (types.includes("null")) return schema;
  return { ...schema, type: [...types, "null"], ...(schema.enum ? { enum: [...schema.enum, null] } : {}) };
}
