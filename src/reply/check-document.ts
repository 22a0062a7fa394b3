/**
 * check-document.ts -- checks a JSON document against the JSON Schema of a person.
 *
 * The schema may be wrong, and a pattern in it may need hours for a short text: each match is bounded, and all of them together.
 */
import type { ValidateFunction } from "ajv";
import { toError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { createAjv } from "#util/schema.ts";
import { createBoundedPattern } from "./bounded-pattern.ts";
import { AJV_OPTIONS } from "./check-call.ts";
import { hasEndlessReference } from "./check-result.ts";
import { describeSchemaError, quoteText } from "./problems.ts";

type Schema = Readonly<Record<string, unknown>>;
interface DocumentCheck {
  /** The first problem, as a sentence; absent when the document is valid. */
  readonly problem?: string;
  /** The schema cannot be used. */
  readonly isOfSchema?: true;
}

/** Time that all patterns of one check may take. */
const MAX_PATTERN_MS = 1_000;

export function checkDocument(schema: Schema, value: unknown): DocumentCheck {
  const validate = compile(schema);
  if (typeof validate === "string") return { problem: validate, isOfSchema: true };
  try {
    if (validate(value)) return {};
  } catch (error) {
    // The patterns took too long, or the document nests deeper than the stack.
    return { problem: `it could not be checked to its end (${oneLine(toError(error).message, 100)}).` };
  }
  const [first] = validate.errors ?? [];
  return { problem: first ? describeSchemaError(first, namePart) : "it is not valid." };
}

/** Returns why it cannot be compiled, as a sentence. A schema of another draft is read as one of 2020-12. */
function compile({ $schema: _draft, $async: _async, ...schema }: Schema): ValidateFunction | string {
  const regExp = Object.assign(limitPatterns(), { code: "limitPatterns()" });
  try {
    if (hasEndlessReference(schema)) return "it refers to itself without an end.";
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

const namePart = (path: string): string => (path === "" ? "the whole value" : quoteText(path));
