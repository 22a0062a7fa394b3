/**
 * read-value.ts -- reads a model's answer as one JSON value of a given schema, or as problems in words.
 *
 * For answers that run nothing. Like `createReplyReader` it skips reasoning, mends spelling and guesses nothing.
 */

import { rememberBy } from "#util/caches.ts";
import { createAjv } from "#util/schema.ts";
import { dropReasoning, findLeadingReasoningEnd, splitReply, unwrapReply } from "./find-objects.ts";
import { findConflictingKey, isSameJson } from "./json.ts";
import { type ParsedObject, parseClearly } from "./mend-object.ts";
import { describeSchemaError, quoteText } from "./problems.ts";

type ParsedValue =
  | { readonly kind: "value"; readonly value: unknown }
  /** Sentences for the model. */
  | { readonly kind: "problem"; readonly problems: readonly string[] };

const MAX_CHARS = 2_000_000;

/** `schema`: JSON Schema of an object, compiled once per schema object. */
export function readValue(text: string, finishReason: string, schema: object): ParsedValue {
  if (finishReason === "length") return describeProblem("The answer was cut off at its end: give a shorter one.");
  const reply = unwrapReply(text, MAX_CHARS);
  if (reply.length > MAX_CHARS) return describeProblem("The answer is too long.");
  const { pieces, fault } = splitReply(reply, findLeadingReasoningEnd(reply));
  if (fault) return describeProblem("The answer nests too deep, or has too many objects.");
  const parsed = dropReasoning(reply, pieces)
    .objects.map(({ start, end }) => parseClearly(reply.slice(start, end)))
    .filter((one): one is ParsedObject => "kind" in one && one.ending === "whole");
  const validate = compileSchema(schema);
  const fitting = parsed.filter(({ value, json }) => findConflictingKey(json, value) === null && validate(value));
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
  return describeProblem(...(validate.errors ?? []).map((error) => describeSchemaError(error, namePart)));
}

const namePart = (path: string): string => (path === "" ? "The object" : quoteText(path));
const describeProblem = (...problems: readonly string[]): ParsedValue => ({ kind: "problem", problems });

const compileSchema = rememberBy((schema: object) =>
  createAjv({ strict: true, allErrors: false, ownProperties: true, unicodeRegExp: true }).compile(schema),
);
