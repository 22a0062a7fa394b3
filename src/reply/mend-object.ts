/**
 * mend-object.ts -- parses one object of a reply with the least repair that works.
 *
 * Order: strict JSON; a Python literal; a spelling pass that changes no content; jsonrepair, which guesses. Each result carries
 * its trust. jsonrepair is recursive, and quadratic in unescaped quotes (200 kB took 20 s), so a budget for one whole reply caps
 * the product of characters and quotes.
 */
import { jsonrepair } from "jsonrepair";
import { findCommentEnd, findConflictingKey, isTooDeep, parseShallowJson } from "./json.ts";
import { pythonToJson, WINDOWS_PATH } from "./python-literal.ts";

/** Characters times quotes of the text given to jsonrepair; at most about 0.2 s. */
const MAX_GUESS_WORK = 200_000_000;
/** A longer object is read only if nothing but its spelling is wrong. */
export const MAX_DAMAGED_CHARS = 100_000;

export interface ParsedObject {
  readonly kind: "parsed";
  readonly value: unknown;
  /** The strict JSON text that `value` was parsed from. */
  readonly json: string;
  /** strict: as sent. clear: only the spelling was mended. guessed: the content may have changed. */
  readonly trust: "strict" | "clear" | "guessed";
  /** Characters of the source that were read. */
  readonly length: number;
  /** "closers-missing": only closing brackets are missing. "cut": the source ends inside a value, as far as anybody can tell. */
  readonly ending: "whole" | "closers-missing" | "cut";
  /** The source with mended spelling, before missing text was completed. */
  readonly written: string;
}
export interface UnparsedObject {
  readonly kind: "unparsed";
  readonly reason: "too-deep" | "too-large" | "cut" | "ellipsis" | "syntax";
}

/** Remaining cost of guesses in this reply. */
export interface RepairBudget {
  guessWork: number;
}
export const createRepairBudget = (): RepairBudget => ({ guessWork: MAX_GUESS_WORK });

export function parseObject(source: string, budget: RepairBudget): ParsedObject | UnparsedObject {
  if (isTooDeep(source)) return { kind: "unparsed", reason: "too-deep" };
  const clear = parseClearly(source);
  if ("kind" in clear) return clear;
  const { text: written, end: length, isCut, isOpen, hasEllipsis } = clear;
  if (hasEllipsis) return { kind: "unparsed", reason: "ellipsis" };
  const json = guessJson(source, budget);
  const value = json === null ? undefined : parseShallowJson(json);
  if (json === null || value === undefined) return { kind: "unparsed", reason: reasonOf(source, isCut) };
  return { kind: "parsed", value, json, trust: "guessed", length, ending: isOpen ? "cut" : "whole", written };
}

function reasonOf(source: string, isCut: boolean): UnparsedObject["reason"] {
  if (source.length > MAX_DAMAGED_CHARS) return "too-large";
  // Behind a closing bracket a string is open because a quote is missing.
  return isCut && !/[}\]]\s{0,50}$/.test(source.slice(-60)) ? "cut" : "syntax";
}

/** Without a guess. Returns the object with mended spelling when that is no JSON either. */
export function parseClearly(source: string): ParsedObject | SpelledObject {
  const whole = { kind: "parsed", length: source.length, ending: "whole", written: source } as const;
  const strict = parseShallowJson(source);
  if (strict !== undefined) return { ...whole, value: strict, json: source, trust: "strict" };
  const literal = pythonToJson(source);
  const read = literal === undefined ? undefined : parseShallowJson(literal);
  if (literal !== undefined && read !== undefined) return { ...whole, value: read, json: literal, trust: "clear" };
  const spelled = mendSpelling(source);
  const json = spelled.text + spelled.owed;
  const value = spelled.isCut || spelled.isDoubtful ? undefined : parseShallowJson(json);
  if (value === undefined) return spelled;
  const ending = spelled.isOpen ? "closers-missing" : "whole";
  return { kind: "parsed", value, json, trust: "clear", length: spelled.end, ending, written: spelled.text };
}

/** One object of a reply as its brackets bound it. */
interface SpelledObject {
  readonly text: string;
  /** Exclusive index in the source. */
  readonly end: number;
  /** Missing closing brackets, in closing order. */
  readonly owed: string;
  readonly isOpen: boolean;
  /** The source ends inside a string, a word or a number. */
  readonly isCut: boolean;
  /** A backslash may be a part of a path or begin an escape. */
  readonly isDoubtful: boolean;
  /** `...` replaces a value. */
  readonly hasEllipsis: boolean;
}

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };
/** A whole string, or one that the text ends in. */
const STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:(")|\\?$)/y;
/** Behind a comma. */
const TRAILING_COMMA = /\s{0,1000}[}\]]/y;
const BLANK = /[\s\u0085\u200b-\u200d\u2060\ufeff]/;
const BARE_END = /[\w.+-]$/;

/**
 * Mends the spelling of the object that begins the source, in one pass: in strings, control characters and backslashes that begin
 * no escape are escaped; outside of them comments, unusual blanks and commas before a closing bracket go. A string ends at its first
 * quote that is not escaped.
 */
function mendSpelling(source: string): SpelledObject {
  const out: string[] = [];
  const open: string[] = [];
  let at = 0;
  let last = "";
  let isDoubtful = false;
  let hasEllipsis = false;
  let isInString = false;
  do {
    const char = source[at] as string;
    const afterComment = findCommentEnd(source, at);
    if (afterComment > at) {
      at = afterComment;
      continue;
    }
    const [string = "", closing] = char === '"' ? (matchAt(STRING, source, at) ?? []) : [];
    at += Math.max(1, string.length);
    if (char > " ") last = (last + char).slice(-4);
    if (string !== "") {
      isInString = closing === undefined;
      isDoubtful ||= hasDoubtfulPath(string);
      out.push(mendString(string));
    } else if (char !== "," || matchAt(TRAILING_COMMA, source, at) === null) {
      if (CLOSING[char]) open.push(CLOSING[char]);
      else if (char === "}" || char === "]") isDoubtful ||= open.pop() !== char;
      hasEllipsis ||= /:(?:…|\.{3})$/.test(last);
      out.push(BLANK.test(char) ? " " : char);
    }
  } while (open.length > 0 && at < source.length);
  const isOpen = open.length > 0;
  const text = out.join("");
  const isCut = isInString || (isOpen && BARE_END.test(text));
  return { text, end: at, owed: open.reverse().join(""), isOpen, isCut, isDoubtful, hasEllipsis };
}

function matchAt(sticky: RegExp, source: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(source);
}

const mendString = (string: string): string =>
  string.replace(/\\u[\da-fA-F]{4}|\\["\\/bfnrt]|[\\\p{Cc}]/gu, (found) =>
    found === "\\" ? "\\\\" : found < " " ? JSON.stringify(found).slice(1, -1) : found,
  );

/** After `C:\Us…`, whose backslash is not an escape, `\n` may be meant as it is. */
const hasDoubtfulPath = (string: string): boolean =>
  WINDOWS_PATH.test(string) && /(?:^|[^\\])(?:\\\\)*\\[bfnrtu]/.test(string);

/** Refuses escapes that JSON does not define: jsonrepair drops their backslashes. */
function guessJson(text: string, budget: RepairBudget): string | null {
  if (text.length > MAX_DAMAGED_CHARS || /\\(?:[^"\\/bfnrtu]|$)/.test(text)) return null;
  budget.guessWork -= text.length * text.split('"').length;
  if (budget.guessWork < 0) return null;
  try {
    return jsonrepair(text);
  } catch {
    return null; // JSONRepairError, or RangeError from its recursion
  }
}

type NestedObject =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "twice"; readonly key: string };

/**
 * Parses a string of the reply that holds exactly one object, such as the arguments of a tool call. Null when it does not.
 * Spelling may be mended; nothing is guessed.
 */
export function parseNested(text: string): NestedObject | null {
  const source = unwrapJsonString(text.trim());
  if (!source.startsWith("{")) return null;
  const parsed = parseClearly(source);
  if (!("kind" in parsed) || parsed.ending !== "whole" || parsed.length !== source.length) return null;
  const key = findConflictingKey(parsed.json, parsed.value);
  return key === null ? { kind: "value", value: parsed.value } : { kind: "twice", key };
}

function unwrapJsonString(text: string): string {
  const inner = text.startsWith('"{') ? parseShallowJson(text) : undefined;
  return typeof inner === "string" ? inner.trim() : text;
}
