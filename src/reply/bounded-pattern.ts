/**
 * bounded-pattern.ts -- tests a text against a pattern of a schema within a time limit.
 *
 * A backtracking pattern such as `(a+)+b` can need hours for forty letters. Whether a pattern can do that is hard to
 * tell, so its run is bounded instead: V8 ends a script of another context at its timeout, inside a match too. A text
 * that takes longer does not match.
 */
import { createContext, Script } from "node:vm";

const MAX_MATCH_MS = 100;
/** A pattern with one quantifier needs at most the square of the text's length. */
const MAX_DIRECT_CHARS = 2_000;

interface BoundedPattern {
  test(text: string): boolean;
  /** Differs between patterns: ajv compares them by it. */
  toString(): string;
}

/** Throws a SyntaxError for an invalid pattern. */
export function createBoundedPattern(pattern: string, flags: string): BoundedPattern {
  const expression = new RegExp(pattern, flags);
  const isSimple = !pattern.includes("(") && (pattern.match(/[*+{]/g) ?? []).length <= 1;
  return {
    toString: () => String(expression),
    test: (text) => (isSimple && text.length <= MAX_DIRECT_CHARS ? expression.test(text) : matches(expression, text)),
  };
}

const matching = new Script("expression.test(text)");
let context: { expression?: RegExp; text?: string } | undefined;

function matches(expression: RegExp, text: string): boolean {
  context ??= createContext({});
  Object.assign(context, { expression, text });
  try {
    return matching.runInContext(context, { timeout: MAX_MATCH_MS });
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  } finally {
    Object.assign(context, { expression: undefined, text: undefined });
  }
}
