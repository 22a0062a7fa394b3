/**
 * check-result.ts -- checks the result of a sub-task against the JSON Schema that the code asked for.
 *
 * The schema comes from code of the model, so it may be wrong itself: `hasEndlessReference` and the checks of command schemas
 * keep out what would make the validator throw or never end.
 */

import { type ArgsSchema, findReferenced, followReference, isSchema, type JsonSchema, typesOf } from "#core/command.ts";
import { rememberBy } from "#util/caches.ts";
import { createAjv } from "#util/schema.ts";
import { AJV_OPTIONS } from "./check-call.ts";
import { describeSchemaError, quoteText } from "./problems.ts";

type Returns = Readonly<Record<string, unknown>>;

/** The arguments of the command that returns the result. Definitions stay at the root, where references look for them. */
export function argumentsForResult(returns: Returns): ArgsSchema {
  const { $defs, definitions, $schema: _, ...result } = returns;
  const defined = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  return { type: "object", properties: { result }, required: ["result"], ...defined };
}

/** Returns problems in words, the last of them with a valid example where one is known; none when the value is valid. */
export function checkResult(returns: Returns, value: unknown): readonly string[] {
  const problems = findProblems(returns, value);
  if (problems.length === 0) return [];
  const example = writeExample(returns, returns, 0);
  const shown = JSON.stringify(example);
  if (shown.length > MAX_EXAMPLE_CHARS || findProblems(returns, example).length > 0) return problems;
  return [...problems, `Give only the value as the result, such as ${shown}.`];
}

function findProblems(returns: Returns, value: unknown): readonly string[] {
  if (value === undefined) return ["There is no result."];
  const validate = compile(returns);
  if (validate({ result: value })) return [];
  return [...new Set((validate.errors ?? []).map((error) => describeSchemaError(error, namePart)))].slice(
    0,
    MAX_PROBLEMS,
  );
}

const MAX_EXAMPLE_DEPTH = 4;
const MAX_EXAMPLE_CHARS = 300;
const EXAMPLES: Readonly<Record<string, unknown>> = { integer: 14284000, number: 2.5, boolean: true, string: "a text" };

/** A value of the type, as far as its types and required properties tell. Null where they do not, or below `MAX_EXAMPLE_DEPTH`. */
function writeExample(written: JsonSchema, root: JsonSchema, depth: number): unknown {
  if (depth > MAX_EXAMPLE_DEPTH) return null;
  const schema = followReference(written, root);
  const inner = (one: unknown): unknown => (isSchema(one) ? writeExample(one, root, depth + 1) : null);
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (choice) return inner(choice);
  const [type = ""] = typesOf(schema);
  if (type === "array")
    return Array.isArray(schema.prefixItems)
      ? schema.prefixItems.map(inner)
      : [inner(schema.items ?? { type: "string" })];
  if (type !== "object") return EXAMPLES[type] ?? null;
  const { properties = {}, additionalProperties } = schema;
  const members = isSchema(additionalProperties) ? { name: additionalProperties, ...properties } : properties;
  return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, inner(one)]));
}

const MAX_PROBLEMS = 5;
const compile = rememberBy((returns: Returns) => createAjv(AJV_OPTIONS).compile(argumentsForResult(returns)));

/** Each path begins with the argument, which is "result". */
const namePart = (path: string): string =>
  path.includes(".") ? `In the result, ${quoteText(path.slice(path.indexOf(".") + 1))}` : "The result";

/** Keywords whose schemas apply to the same value: one schema, a list, a record. */
const SAME_VALUE = ["not", "if", "then", "else"];
const SAME_VALUE_GROUPS = ["allOf", "anyOf", "oneOf", "dependentSchemas"];
const MAX_FOLLOWED = 2_000;

/** True when references lead back to a schema without a step into the value, or to too many schemas: a check would never end. */
export function hasEndlessReference(root: JsonSchema): boolean {
  return listObjects(root).some((start) => {
    const left: unknown[] = [start];
    let followed = 0;
    while (left.length > 0) {
      const schema = left.pop();
      if (!isSchema(schema)) continue;
      if (++followed > MAX_FOLLOWED) return true;
      left.push(...SAME_VALUE.map((key) => schema[key]));
      left.push(...SAME_VALUE_GROUPS.flatMap((key) => Object.values(schema[key] ?? {})));
      if (typeof schema.$ref === "string") left.push(findReferenced(schema.$ref, root));
    }
    return false;
  });
}

/** Also those that are not schemas. */
function listObjects(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(listObjects)];
}
