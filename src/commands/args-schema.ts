/**
 * args-schema.ts -- checks the JSON Schema of a command's arguments. Any JSON Schema 2020-12 of an object is allowed,
 * within a size and a depth, and without references to other documents. ajv checks it against the meta-schema only if
 * an argument is more than a text, a number, a flag, or a list of texts or of objects with such members: no shipped
 * command needs ajv at start.
 */
import { decodePointer, findReferenced, isSchema } from "#core/command.ts";
import { orUndefined } from "#core/errors.ts";
import { createAjv } from "#util/schema.ts";

const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 16;
const MAX_PROBLEMS = 10;
/** Without blanks, quotes or control characters: names stand in the prompt. */
const ARGUMENT = /^[\p{L}_$][\p{L}\p{N}_$.-]{0,63}$/u;

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const words = (text: string): readonly string[] => text.split(" ");

const SCHEMAS = words("items additionalProperties not if then else contains propertyNames");
const OPEN_SCHEMAS = words("unevaluatedItems unevaluatedProperties");
const SCHEMA_LISTS = words("anyOf oneOf allOf prefixItems");
const SCHEMA_MAPS = words("properties patternProperties $defs definitions dependentSchemas");
const VALUES = words(
  "type enum const title description default examples deprecated readOnly writeOnly $comment $ref format pattern " +
    "minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems " +
    "minContains maxContains required minProperties maxProperties dependentRequired contentEncoding contentMediaType",
);
const KNOWN = new Set([...SCHEMAS, ...OPEN_SCHEMAS, ...SCHEMA_LISTS, ...SCHEMA_MAPS, ...VALUES]);

/** Keywords of the arguments that need no meta-schema, by type, and the check of each value. */
const PLAIN: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  string: { enum: isTexts, minLength: isCount, maxLength: isCount, pattern: isPattern },
  integer: { minimum: isNumber, maximum: isNumber },
  number: { minimum: isNumber, maximum: isNumber },
  boolean: {},
  array: { items: isPlainItem, minItems: isCount, maxItems: isCount },
};

/** Returns all problems, each naming its place from `args` on. */
export function checkArgs(args: unknown): string[] {
  if (!isSchema(args) || args.type !== "object" || (args.properties !== undefined && !isSchema(args.properties)))
    return [describeExpected('args: { type: "object", properties: {…}, required: […] }', args)];
  const unfit = findUnfit(args, "args");
  if (unfit !== undefined) return [unfit];
  const { $schema: _, ...schema } = args;
  const problems = [...checkNames(schema.properties ?? {}), ...checkSchema(schema, "args", schema, 1)];
  if (problems.length > 0) return problems.slice(0, MAX_PROBLEMS);
  return hasOnlyPlainArguments(schema) ? checkRequired(schema) : checkWithAjv(schema);
}

/** The same for a schema that is only shown: no value is checked against it, so it needs no ajv. */
export function checkShownSchema(schema: unknown, at: string): string[] {
  if (!isSchema(schema)) return [describeExpected(`${at}: a schema`, schema)];
  const unfit = findUnfit(schema, at);
  if (unfit !== undefined) return [unfit];
  return [...checkSchema(schema, at, schema, 1), ...checkShape(schema, at)].slice(0, MAX_PROBLEMS);
}

/** The kinds of the values that a type is written from. Call it after `checkSchema`. */
function checkShape(schema: unknown, at: string): string[] {
  if (!isSchema(schema)) return [];
  const { type, required } = schema;
  const lists = SCHEMA_LISTS.filter((key) => schema[key] !== undefined && !Array.isArray(schema[key]));
  const maps = SCHEMA_MAPS.filter((key) => schema[key] !== undefined && !isSchema(schema[key]));
  return [
    ...(type === undefined || [type].flat().every((one) => TYPES.has(one))
      ? []
      : [describeExpected(`${at}.type: one of ${[...TYPES].join(", ")}, or a list of them`, type)]),
    ...(required === undefined || isTexts(required) || isEmpty(required)
      ? []
      : [describeExpected(`${at}.required: a list of names`, required)]),
    ...lists.map((key) => describeExpected(`${at}.${key}: a list of schemas`, schema[key])),
    ...maps.map((key) => describeExpected(`${at}.${key}: schemas by name`, schema[key])),
    ...listInnerSchemas(schema).flatMap(([path, inner]) => checkShape(inner, `${at}.${path}`)),
  ];
}

const TYPES: ReadonlySet<unknown> = new Set(words("string integer number boolean array object null"));
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const checkNames = (properties: object): string[] =>
  Object.keys(properties)
    .filter((name) => !ARGUMENT.test(name))
    .map((name) => describeExpected("argument names of letters, digits and underscores", name));

function checkRequired({ required, properties = {} }: Fields): string[] {
  if (required === undefined) return [];
  if (!Array.isArray(required)) return [describeExpected("args.required: a list of argument names", required)];
  return required
    .filter((name) => typeof name !== "string" || !Object.hasOwn(properties as object, name))
    .map((name) => describeExpected("args.required: names defined in properties", name));
}

/** Checks keywords, references, patterns and depth of a schema and all schemas inside. */
function checkSchema(schema: unknown, at: string, root: Fields, depth: number): string[] {
  if (typeof schema === "boolean" && !/\.properties\.[^.]+$/.test(at)) return [];
  if (!isSchema(schema)) return [describeExpected(`${at}: a schema`, schema)];
  if (depth > MAX_DEPTH) return [`expected ${at}: at most ${MAX_DEPTH} schemas inside each other`];
  const problems = Object.keys(schema)
    .filter((key) => !KNOWN.has(key))
    .map((key) => `${at} has an unknown keyword ${formatValue(key)}`);
  const { $ref: reference, pattern, description, enum: choices } = schema;
  if (reference !== undefined && !(typeof reference === "string" && findReferenced(reference, root)))
    problems.push(describeExpected(`${at}.$ref: a schema in args, such as #/$defs/name`, reference));
  if (pattern !== undefined && !isPattern(pattern))
    problems.push(describeExpected(`${at}.pattern: a regular expression`, pattern));
  if (description !== undefined && (typeof description !== "string" || description.trim() === ""))
    problems.push(describeExpected(`${at}.description: a text`, description));
  if (choices !== undefined && (!Array.isArray(choices) || choices.length === 0))
    problems.push(describeExpected(`${at}.enum: a list of values`, choices));
  return [
    ...problems,
    ...listInnerSchemas(schema).flatMap(([path, inner]) => checkSchema(inner, `${at}.${path}`, root, depth + 1)),
  ];
}

/** The schemas directly inside a schema, with their paths. Values of a wrong kind are left to ajv. */
function listInnerSchemas(schema: Fields): readonly (readonly [string, unknown])[] {
  const direct = [...SCHEMAS, ...OPEN_SCHEMAS].filter((key) => schema[key] !== undefined);
  const lists = SCHEMA_LISTS.filter((key) => Array.isArray(schema[key]));
  const maps = SCHEMA_MAPS.filter((key) => isSchema(schema[key]));
  return [
    ...direct.map((key) => [key, schema[key]] as const),
    ...lists.flatMap((key) => (schema[key] as unknown[]).map((inner, index) => [`${key}.${index}`, inner] as const)),
    ...maps.flatMap((key) =>
      Object.entries(schema[key] as Fields).map(([name, inner]) => [`${key}.${name}`, inner] as const),
    ),
  ];
}

function hasOnlyPlainArguments(schema: Fields): boolean {
  const { type: _type, properties = {}, required: _required, additionalProperties = false, ...others } = schema;
  if (additionalProperties !== false || Object.keys(others).length > 0) return false;
  return Object.values(properties as Fields).every((property) => {
    const { type, description: _description, ...rest } = property as Fields;
    const checks = typeof type === "string" && Object.hasOwn(PLAIN, type) ? PLAIN[type] : undefined;
    return checks && Object.entries(rest).every(([key, value]) => Object.hasOwn(checks, key) && checks[key]?.(value));
  });
}

function checkWithAjv(schema: Fields): string[] {
  const ajv = createAjv({ strict: false, validateFormats: false, logger: false });
  if (ajv.validateSchema(schema) === true) return [...checkRequired(schema), ...checkCompiles(ajv, schema)];
  const places = (ajv.errors ?? []).map(({ instancePath }) => instancePath.split("/").slice(1).map(decodePointer));
  const deepest = places.filter((place) => place.length === Math.max(...places.map(({ length }) => length)));
  const said = deepest.map((place) => {
    const value = place.reduce<unknown>((inner, key) => (inner as Fields | undefined)?.[key], schema);
    return describeExpected(`${["args", ...place].join(".")}: a value that JSON Schema allows`, value);
  });
  return [...new Set(said)].slice(0, MAX_PROBLEMS);
}

function checkCompiles(ajv: { compile(schema: object): unknown }, schema: Fields): string[] {
  try {
    ajv.compile(schema);
    return [];
  } catch (error) {
    return [`expected args: a schema that can be used; ${Error.isError(error) ? error.message : String(error)}`];
  }
}

/** Why the log or a prompt cannot hold this schema; undefined when they can. */
function findUnfit(schema: Fields, at: string): string | undefined {
  const strange = findStrangeValue(schema, at);
  if (strange !== undefined) return strange;
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  return bytes > MAX_BYTES ? `expected ${at}: at most ${MAX_BYTES} bytes of JSON; got ${bytes}` : undefined;
}

/** Finds a value that JSON cannot hold, or that holds itself. */
function findStrangeValue(value: unknown, at: string, above: readonly unknown[] = []): string | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean" || isNumber(value)) return undefined;
  if (typeof value !== "object" || above.includes(value) || above.length > 4 * MAX_DEPTH)
    return describeExpected(`${at}: plain JSON that is not nested too deeply`, typeof value === "object" ? "…" : value);
  for (const [key, inner] of Object.entries(value)) {
    const found = inner === undefined ? undefined : findStrangeValue(inner, `${at}.${key}`, [...above, value]);
    if (found) return found;
  }
  return undefined;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === "string");
}
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
function isNumber(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}
function isPattern(value: unknown): boolean {
  return typeof value === "string" && orUndefined(() => new RegExp(value, "u")) !== undefined;
}
function isPlainItem(value: unknown): boolean {
  if (!isSchema(value)) return false;
  if (value.type === "object") return hasOnlyPlainArguments(value) && checkRequired(value).length === 0;
  return value.type === "string" && Object.keys(value).every((key) => key === "type" || key === "minLength");
}

export const describeExpected = (what: string, got: unknown): string => `expected ${what}; got ${formatValue(got)}`;

export function formatValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
