/**
 * check-value.ts -- checks values against JSON Schemas: documents of people, results of sub-tasks, and what code
 * returns.
 */
import type { ValidateFunction } from "ajv";
import { type ArgsSchema, followReference, isEndless, isSchema, type JsonSchema, typesOf } from "#core/command.ts";
import { toError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { createAjv } from "#util/schema.ts";
import { AJV_OPTIONS, createBoundedPattern } from "./check-call.ts";
import { findConflictingKey, isSameJson, parseShallowJson, pythonToJson } from "./json.ts";
import { findLeadingReasoningEnd, findObjects, type ParsedObject, parseClearly, unwrapReply } from "./json-objects.ts";
import { describeSchemaError, MAX_PROBLEMS, quoteText } from "./problems.ts";
import { MAX_REPLY_CHARS } from "./read.ts";

/** Time that all patterns of one check may take. */
const MAX_PATTERN_MS = 1_000;

/**
 * Returns the first problem, as a sentence; none when the document is valid. `isOfSchema`: the schema cannot be used.
 * The JSON Schema of a person may be wrong, and a pattern in it may need hours for a short text: each match is bounded,
 * and all of them together.
 */
export function checkDocument(schema: JsonSchema, value: unknown) {
  const validate = compileDocument(schema);
  if (typeof validate === "string") return { problem: validate, isOfSchema: true };
  try {
    if (validate(value)) return {};
  } catch (error) {
    // The patterns took too long, or the document nests deeper than the stack.
    return { problem: `it could not be checked to its end (${oneLine(toError(error).message, 100)}).` };
  }
  const [first] = validate.errors ?? [];
  return { problem: first ? describeSchemaError(first, nameDocumentPart) : "it is not valid." };
}

/** Returns why it cannot be compiled, as a sentence. A schema of another draft is read as one of 2020-12. */
function compileDocument({ $schema: _draft, $async: _async, ...schema }: JsonSchema): ValidateFunction | string {
  const regExp = Object.assign(limitPatterns(), { code: "limitPatterns()" });
  try {
    if (isEndless(schema)) return "it refers to itself without an end.";
    return createAjv({ ...AJV_OPTIONS, code: { regExp } }).compile(schema);
  } catch (error) {
    return `${oneLine(toError(error).message, 200)}.`;
  }
}

function limitPatterns(): typeof createBoundedPattern {
  let leftMs = MAX_PATTERN_MS;
  return (pattern, flags) => {
    const bounded = createBoundedPattern(pattern, flags);
    return {
      toString: () => bounded.toString(),
      test: (text) => {
        if (leftMs <= 0) throw new Error(`its patterns took more than ${MAX_PATTERN_MS / 1000} s`);
        const startedAt = performance.now();
        try {
          return bounded.test(text);
        } finally {
          leftMs -= performance.now() - startedAt;
        }
      },
    };
  };
}

const nameDocumentPart = (path: string): string => (path === "" ? "the whole value" : quoteText(path));

type ParsedValue =
  | { readonly kind: "value"; readonly value: unknown }
  /** Sentences for the model. `isJson`: the answer is JSON that the schema does not allow. */
  | { readonly kind: "problem"; readonly problems: readonly string[]; readonly isJson?: true };

/**
 * Reads a model's answer as one JSON value of a given schema, or as problems in words. For answers that run nothing.
 * Like `createReplyReader` it skips reasoning, mends spelling and guesses nothing. `schema`: JSON Schema of an object,
 * compiled once per schema object.
 */
export function readValue(text: string, finishReason: string, schema: object): ParsedValue {
  if (finishReason === "length") return describeProblem("The answer was cut off at its end: give a shorter one.");
  const reply = unwrapReply(text, MAX_REPLY_CHARS);
  if (reply.length > MAX_REPLY_CHARS) return describeProblem("The answer is too long.");
  const { objects, fault } = findObjects(reply, findLeadingReasoningEnd(reply));
  if (fault !== null) return describeProblem("The answer nests too deep, or has too many objects.");
  const parsed = objects
    .map(({ start, end }) => parseClearly(reply.slice(start, end)))
    .filter((one): one is ParsedObject => "kind" in one && one.isWhole);
  const validate = compileSchema(schema);
  const fitting = parsed.filter(({ value, json }) => findConflictingKey(json) === null && validate(value));
  const [first, ...others] = fitting;
  if (first && others.every(({ value }) => isSameJson(value, first.value)))
    return { kind: "value", value: first.value };
  if (first) return describeProblem("Several different answers were given: give one.");
  const [wrong] = parsed;
  if (!wrong)
    return describeProblem(
      "No JSON object could be read: answer with exactly one, in double quotes, and nothing else.",
    );
  validate(wrong.value);
  // The validator stops at the first error.
  const problems = (validate.errors ?? []).map((error) => describeSchemaError(error, nameObjectPart));
  return { kind: "problem", problems, isJson: true };
}

const nameObjectPart = (path: string): string => (path === "" ? "The object" : quoteText(path));
const describeProblem = (problem: string): ParsedValue => ({ kind: "problem", problems: [problem] });

const compileSchema = rememberBy((schema: object) =>
  createAjv({ strict: true, allErrors: false, ownProperties: true, unicodeRegExp: true }).compile(schema),
);

/** Digits in groups of three, as people write them. */
const GROUPED = /^[+-]?\d{1,3}(?:([, \u00a0\u202f])\d{3})(?:\1\d{3})*(?:\.\d+)?$/;
const BULLET = /^\s{0,20}(?:[-*\u2022]|\d{1,4}[.)])\s+(.*)$/;
/** A longer answer must be JSON as a whole. */
const MAX_LENIENT_CHARS = 100_000;
/** Brackets at which a value may begin that ends the answer. */
const MAX_BEGINNINGS = 20;
const MAX_SENTENCE_CHARS = 500;

/**
 * Reads an answer of a sub-task, which has several readings, from the exact to the lenient. The first one that is valid
 * against the type counts, so a lenient reading never changes an answer that an exact one explains. An answer that no
 * reading makes valid comes back as JSON if it is JSON, else as it is, and so fails the check of its type.
 */
export function readReturn(text: string, returns: JsonSchema): unknown {
  const answer = text.trim();
  const types = typesOf(returns);
  const isText = types.length > 0 && types.every((type) => type === "string" || type === "null");
  for (const value of isText ? readText(answer) : listReadings(answer))
    if (checkResult(returns, value).length === 0) return value;
  return isText ? answer : (readLiteral(answer) ?? answer);
}

/** A text stays as it is, quotes and all. Only a word for nothing may mean null. */
const readText = (answer: string): readonly unknown[] => [...(/^(?:null|None)$/.test(answer) ? [null] : []), answer];

function* listReadings(answer: string): Generator<unknown> {
  if (answer.length > MAX_LENIENT_CHARS) return yield parseShallowJson(answer) ?? answer;
  const inner = readFence(answer) ?? answer.replace(/^(\*\*|`)(.+)\1$/s, "$2");
  for (const value of [readLiteral(answer), readLiteral(inner)]) if (value !== undefined) yield value;
  yield answer;
  const bullets = readBullets(inner);
  if (bullets) yield* [bullets.map((item) => readLiteral(item) ?? item), bullets];
  const value =
    readLiteral(/:\s+(\S[^\n]*?)\.?$/.exec(inner.slice(-MAX_SENTENCE_CHARS))?.[1] ?? "") ?? readLastValue(inner);
  if (value !== undefined) yield value;
}

function readFence(text: string): string | undefined {
  const opening = /^(`{3,}|~{3,})[^\n`]*\n/m.exec(text);
  if (!opening) return undefined;
  const [line, marks = ""] = opening;
  const start = opening.index + line.length;
  const end = text.lastIndexOf(marks);
  return end < start ? undefined : text.slice(start, end).trim();
}

/** Reads JSON, a Python literal or a number whose digits are in groups. */
function readLiteral(text: string): unknown {
  if (GROUPED.test(text)) return Number(text.replace(/[^\d.+-]/g, ""));
  return parseShallowJson(text) ?? parseShallowJson(pythonToJson(text) ?? "");
}

/** The items of a text that is a list in Markdown, below a line that ends in a colon or not. */
function readBullets(text: string): readonly string[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const items = (lines[0]?.trimEnd().endsWith(":") ? lines.slice(1) : lines).map((line) =>
    BULLET.exec(line)?.[1]?.trim(),
  );
  return items.length > 0 && items.every((item) => item !== undefined) ? items : undefined;
}

/** The list or object with which a text ends. */
function readLastValue(text: string): unknown {
  const ending = text.replace(/\.$/, "");
  if (!/[\]}]$/.test(ending)) return undefined;
  for (const { index } of ending.matchAll(/(?<=^|[\s:])[[{]/g).take(MAX_BEGINNINGS)) {
    const value = readLiteral(ending.slice(index));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The arguments of the command that returns the result. Definitions stay at the root, where references look for them. */
export function argumentsForResult(returns: JsonSchema): ArgsSchema {
  const { $defs, definitions, $schema: _, ...result } = returns;
  const defined = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  return { type: "object", properties: { result }, required: ["result"], ...defined };
}

/**
 * Checks the result of a sub-task against the JSON Schema that the code asked for. Returns problems in words, the last
 * of them with a valid example where one is known; none when the value is valid. The schema comes from code of the
 * model, so it may be wrong itself: `isEndless` and the checks of command schemas keep out what would make
 * the validator throw or never end.
 */
export function checkResult(returns: JsonSchema, value: unknown): readonly string[] {
  const problems = findProblems(returns, value);
  if (problems.length === 0) return [];
  const example = writeExample(returns, returns, 0);
  const shown = JSON.stringify(example);
  if (shown.length > MAX_EXAMPLE_CHARS || findProblems(returns, example).length > 0) return problems;
  return [...problems, `Give only the value as the result, such as ${shown}.`];
}

function findProblems(returns: JsonSchema, value: unknown): readonly string[] {
  if (value === undefined) return ["There is no result."];
  const validate = compile(returns);
  if (validate({ result: value })) return [];
  const problems = (validate.errors ?? []).map((error) => describeSchemaError(error, namePart));
  return [...new Set(problems)].slice(0, MAX_PROBLEMS);
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

const compile = rememberBy((returns: JsonSchema) => createAjv(AJV_OPTIONS).compile(argumentsForResult(returns)));

/** Each path begins with the argument, which is "result". */
const namePart = (path: string): string =>
  path.includes(".") ? `In the result, ${quoteText(path.slice(path.indexOf(".") + 1))}` : "The result";
