/**
 * find-uses.ts -- finds in Python which functions an action calls, and which values it writes out.
 *
 * The scan is shallow and looks at one action only. A value that is part of a computation, an index, a key, or an argument of
 * another function is not found: it is rarely one that the model took from its memory.
 */
import { type CodeToken, scanPython } from "./scan-code.ts";

export interface LiteralUse {
  readonly kind: "number" | "string";
  readonly text: string;
  /** The function that gets the value; null for a number that is only given a name. */
  readonly call: string | null;
  /** Name of the parameter, or its position from 0. */
  readonly parameter: string | number | null;
}

export interface CodeUses {
  /** A name for each call in the code, in order. */
  readonly calls: readonly string[];
  readonly literals: readonly LiteralUse[];
}

/** An open bracket. `call`: the function; undefined for a bracket that is not one of a call. */
interface Bracket {
  readonly kind: "call" | "group" | "list" | "index" | "braces";
  readonly call: string | null;
  position: number;
  keyword: string | null;
}

const CLOSING = new Set([")", "]", "}"]);
/** Signs between which a value stands alone. */
const BEFORE_VALUE = new Set(["(", "[", "{", ",", "=", ":"]);
const AFTER_VALUE = new Set([")", "]", "}", ","]);

/** `functions`: names of the functions that matter. */
export function findUses(code: string, functions: ReadonlySet<string>): CodeUses {
  const tokens = joinLines(scanPython(code));
  const calls: string[] = [];
  const literals: LiteralUse[] = [];
  const open: Bracket[] = [];
  for (const [index, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === "number" || kind === "string") {
      const use = describeUse(token, tokens, index, open, functions);
      if (use) literals.push(use);
    } else if (kind === "name") noteKeyword(text, tokens[index + 1], tokens[index + 2], open.at(-1));
    else if (kind === "sign") {
      const bracket = openBracket(text, tokens, index);
      if (bracket) open.push(bracket);
      if (bracket?.call && functions.has(bracket.call)) calls.push(bracket.call);
      if (CLOSING.has(text)) open.pop();
      const inner = open.at(-1);
      if (text === "," && inner) {
        inner.position++;
        inner.keyword = null;
      }
    }
  }
  return { calls, literals };
}

/** A line goes on within brackets. */
function joinLines(tokens: readonly CodeToken[]): readonly CodeToken[] {
  let depth = 0;
  return tokens.filter(({ kind, text }) => {
    if (kind === "sign" && ["(", "[", "{"].includes(text)) depth++;
    if (kind === "sign" && CLOSING.has(text)) depth = Math.max(0, depth - 1);
    return kind !== "line-end" || depth === 0;
  });
}

function openBracket(sign: string, tokens: readonly CodeToken[], index: number): Bracket | undefined {
  const fresh = { position: 0, keyword: null };
  const before = tokens[index - 1];
  const isAfterValue =
    before?.kind === "name" ||
    before?.kind === "string" ||
    (before?.kind === "sign" && [")", "]"].includes(before.text));
  if (sign === "{") return { kind: "braces", call: null, ...fresh };
  if (sign === "[") return { kind: isAfterValue && !isKeyword(before) ? "index" : "list", call: null, ...fresh };
  if (sign !== "(") return undefined;
  if (!isAfterValue || isKeyword(before)) return { kind: "group", call: null, ...fresh };
  const earlier = tokens[index - 2]?.text;
  const isOwn = before?.kind === "name" && earlier !== "." && earlier !== "def" && earlier !== "class";
  return { kind: "call", call: isOwn ? before.text : null, ...fresh };
}

const KEYWORDS = new Set(
  "and as assert await del elif else except for from if in is lambda not or raise return while with yield".split(" "),
);
const isKeyword = (token: CodeToken | undefined): boolean => token?.kind === "name" && KEYWORDS.has(token.text);

function noteKeyword(
  name: string,
  next: CodeToken | undefined,
  second: CodeToken | undefined,
  inner: Bracket | undefined,
): void {
  if (inner?.kind === "call" && next?.text === "=" && second?.text !== "=") inner.keyword = name;
}

function describeUse(
  { kind, text }: CodeToken,
  tokens: readonly CodeToken[],
  index: number,
  open: readonly Bracket[],
  functions: ReadonlySet<string>,
): LiteralUse | undefined {
  if (kind !== "number" && kind !== "string") return undefined;
  if (!standsAlone(tokens, index) || (kind === "string" && tokens[index + 1]?.text === ":")) return undefined;
  if (open.at(-1)?.kind === "index") return undefined;
  const inner = open.findLast((bracket) => bracket.kind === "call");
  const call = open.findLast((bracket) => bracket.call !== null && functions.has(bracket.call));
  if (call) return { kind, text, call: call.call, parameter: call.keyword ?? call.position };
  return kind === "number" && !inner && tokens.some((token) => token.text === "=")
    ? { kind, text, call: null, parameter: null }
    : undefined;
}

/** True for a value that is not an operand. A sign before a number belongs to it. */
function standsAlone(tokens: readonly CodeToken[], index: number): boolean {
  const isSigned = tokens[index]?.kind === "number" && ["-", "+"].includes(tokens[index - 1]?.text ?? "");
  const place = isSigned ? index - 2 : index - 1;
  const before = tokens[place];
  const after = tokens[index + 1];
  const isComparison = before?.text === "=" && ["=", "!", "<", ">"].includes(tokens[place - 1]?.text ?? "");
  return (
    before?.kind === "sign" &&
    BEFORE_VALUE.has(before.text) &&
    !isComparison &&
    (after === undefined || after.kind === "line-end" || AFTER_VALUE.has(after.text) || after.text === ":")
  );
}
