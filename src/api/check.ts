/**
 * check.ts -- validates requests by their schemas.
 *
 * One Ajv for all routes; each schema is compiled at its first use. Only texts of a path or a query are coerced: to whole
 * numbers, booleans and lists.
 */
import type { ErrorObject, ValidateFunction } from "ajv";
import { GoaldError } from "#core/errors.ts";
import type { ObjectSchema, Schema } from "#util/schema.ts";

/** The coerced value, or an error that fastify passes to the error handler. */
export type RequestCheck = (data: unknown) => { readonly value: unknown } | { readonly error: Error };
export type CreateCheck = (route: { readonly schema: unknown; readonly httpPart?: string }) => RequestCheck;

export async function loadChecks(): Promise<CreateCheck> {
  const { Ajv } = await import("ajv");
  // A test checks our own schemas against the standard.
  const trusted = { meta: false, validateSchema: false } as const;
  const ajv = new Ajv({ ...trusted, allErrors: true, allowUnionTypes: true, formats: { "date-time": isTime } });
  return ({ schema, httpPart }) => {
    let validate: ValidateFunction | undefined;
    return (data) => {
      validate ??= ajv.compile(schema as Schema);
      const isText = httpPart === "querystring" || httpPart === "params";
      const value = isText ? readTexts(data, schema as ObjectSchema) : (data ?? {});
      if (validate(value)) return { value };
      return { error: problemIn(validate.errors ?? [], PARTS[httpPart ?? ""] ?? "request") };
    };
  };
}

const PARTS: Readonly<Record<string, string>> = { querystring: "query", params: "address", body: "body" };

/** Times are in UTC, as in events. */
const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z$/.test(text) && !Number.isNaN(Date.parse(text));

/** Converts texts by the type in the schema. Other texts stay unchanged, and the schema rejects them. */
function readTexts(data: unknown, { properties }: ObjectSchema): unknown {
  const entries = Object.entries(data ?? {}).map(([name, value]) => {
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    if (type === "integer" && /^\d{1,15}$/.test(value)) return [name, Number(value)];
    if (type === "boolean" && /^(?:true|false)$/.test(value)) return [name, value === "true"];
    if (type === "array") return [name, [value].flat()];
    return [name, value];
  });
  return Object.fromEntries(entries);
}

const MAX_PROBLEMS = 5;

/** The error names members and never quotes values, which may be secrets. */
function problemIn(errors: readonly ErrorObject[], part: string): GoaldError {
  const problems = errors.slice(0, MAX_PROBLEMS).map((error) => `${placeOf(error, part)} ${describeProblem(error)}`);
  return new GoaldError("GOALD_USAGE", `${[...new Set(problems)].join("; ")}.`, { hint: "See GET /v1/openapi.json." });
}

const placeOf = ({ instancePath }: ErrorObject, part: string): string =>
  `${part}${instancePath.replaceAll("/", ".").replace(/\.(\d+)/g, "[$1]")}`;

function describeProblem({ keyword, params, message }: ErrorObject): string {
  if (keyword === "additionalProperties") return `has an unknown member ${nameOf(params.additionalProperty)}`;
  if (keyword === "required") return `has no ${params.missingProperty}`;
  if (keyword === "enum") return `must be one of ${params.allowedValues.join(", ")}`;
  if (keyword === "pattern") return "must be text without control characters, and not blank";
  if (keyword === "format") return "must be a time in UTC, such as 2026-01-31T12:00:00Z";
  if (keyword === "type") return `must be ${[params.type].flat().map(typeInWords).join(" or ")}`;
  return message ?? "is not as it should be";
}

const WORDS: Readonly<Record<string, string>> = {
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};
const typeInWords = (type: string): string => WORDS[type] ?? `a ${type}`;

const nameOf = (name: unknown): string => JSON.stringify(String(name).slice(0, 40).toWellFormed());
