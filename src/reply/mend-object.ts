/**
 * mend-object.ts -- parses one object of a reply with the least repair that works.
 *
 * Order: strict JSON; an exact decoding of a known encoding; `mendObject`, which changes spelling only; jsonrepair, which
 * guesses. Each result carries its trust. jsonrepair is recursive, and quadratic in unescaped quotes (200 kB took
 * 20 s), so a budget for one whole reply caps characters, quotes and their product.
 */
import { jsonrepair } from "jsonrepair";
import { findConflictingKey, isTooDeep, parseJson } from "./json.ts";
import { type MendedObject, mendObject } from "./mend.ts";
import { pythonToJson } from "./python-literal.ts";

const MAX_REPAIR_CHARS = 200_000;
const MAX_REPAIR_QUOTES = 6_000;
/** Characters times quotes of the text given to jsonrepair; at most about 0.2 s. */
const MAX_GUESS_WORK = 200_000_000;
const QUOTES: ReadonlySet<string> = new Set("\"'`“”„‘’´");

/** strict: as sent. clear: only the spelling was mended. guessed: the content may have changed. */
type ParseTrust = "strict" | "clear" | "guessed";

export interface ParsedObject {
  readonly kind: "parsed";
  readonly value: unknown;
  /** The strict JSON text that `value` was parsed from. */
  readonly json: string;
  readonly trust: ParseTrust;
  /** Characters of the source that were read. */
  readonly length: number;
  /**
   * "closers-missing": only closing brackets are missing. "cut": the source ends inside a value. "unsure": it seems
   * cut but ends in brackets, which a missing or extra quote causes too.
   */
  readonly ending: "whole" | "closers-missing" | "cut" | "unsure";
  /** The mended source, before missing text was completed. */
  readonly written: string;
}
export interface UnparsedObject {
  readonly kind: "unparsed";
  readonly reason: "too-large" | "too-deep" | "cut" | "ellipsis" | "syntax";
}

/** Remaining cost of repairs in this reply. */
export interface RepairBudget {
  chars: number;
  quotes: number;
  guessWork: number;
}
export const createRepairBudget = (): RepairBudget => ({
  chars: MAX_REPAIR_CHARS,
  quotes: MAX_REPAIR_QUOTES,
  guessWork: MAX_GUESS_WORK,
});

export function parseObject(source: string, budget: RepairBudget): ParsedObject | UnparsedObject {
  const whole = { length: source.length, ending: "whole", written: source } as const;
  if (isTooDeep(source)) return refuseObject("too-deep");
  const strict = parseJson(source);
  if (strict !== undefined) return { kind: "parsed", value: strict, json: source, trust: "strict", ...whole };
  if (!spendBudget(budget, source)) return refuseObject("too-large");
  for (const json of decodeDisguises(source)) {
    const value = parseJson(json);
    if (value !== undefined) return { kind: "parsed", value, json, trust: "clear", ...whole };
  }
  const resolved = mendObject(source, 0, "resolve");
  if (resolved.isDoubtful) return refuseObject("syntax");
  const mendClearly = resolved.hasConflict ? { ...mendObject(source, 0, "plain"), isClear: false } : resolved;
  return parseMended(source, mendClearly, budget);
}

function spendBudget(budget: RepairBudget, source: string): boolean {
  budget.chars -= source.length;
  if (budget.chars < 0) return false;
  budget.quotes -= countQuotes(source);
  return budget.quotes >= 0;
}

function countQuotes(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (QUOTES.has(text[at] as string)) count++;
  return count;
}

function parseMended(source: string, mended: MendedObject, budget: RepairBudget): ParsedObject | UnparsedObject {
  if (mended.hasEllipsis) return refuseObject("ellipsis");
  const rest = { length: mended.end, written: mended.text } as const;
  if (!mended.isCut) {
    const json = mended.text + mended.owed;
    const value = parseJson(json);
    const trust = mended.isClear ? "clear" : "guessed";
    const ending = mended.owed === "" ? "whole" : "closers-missing";
    if (value !== undefined) return { kind: "parsed", value, json, trust, ending, ...rest };
  }
  return mended.isCut ? guessCutObject(source, rest, budget) : guessWholeObject(source, mended, rest, budget);
}

type ParsedExtent = Pick<ParsedObject, "length" | "written">;

function guessWholeObject(
  source: string,
  { text, owed }: MendedObject,
  rest: ParsedExtent,
  budget: RepairBudget,
): ParsedObject | UnparsedObject {
  const json = guessJson(text, budget) ?? guessFromSource(source, budget);
  return json === null ? refuseObject("syntax") : parseGuess(json, owed === "" ? "whole" : "cut", rest);
}

/** The quotes do not balance: jsonrepair guesses better from the source than from the mended text. */
function guessCutObject(source: string, rest: ParsedExtent, budget: RepairBudget): ParsedObject | UnparsedObject {
  const body = source.slice(0, source.lastIndexOf("}") + 1);
  const whole = /[}\]]\s{0,50}\}$/.test(body.slice(-60)) ? guessFromSource(body, budget) : null;
  if (whole !== null) return parseGuess(whole, isOpenEnded(body, whole) ? "cut" : "unsure", rest);
  const json = guessJson(rest.written, budget);
  return json === null ? refuseObject("cut") : parseGuess(json, "cut", rest);
}

/** The guess ends a string where the source has no quote: the string may have continued past the brackets. */
const isOpenEnded = (source: string, guess: string): boolean =>
  findLastBeforeClosers(guess) === '"' && !QUOTES.has(findLastBeforeClosers(source));

function findLastBeforeClosers(text: string): string {
  let at = text.length - 1;
  while ("}] \n\r\t".includes(text[at] ?? "-")) at--;
  return text[at] ?? "";
}

/** Refuses escapes that JSON does not define: jsonrepair drops their backslashes. */
const guessFromSource = (source: string, budget: RepairBudget): string | null =>
  /\\(?:[^"\\/bfnrtu]|$)/.test(source) ? null : guessJson(source, budget);

function parseGuess(json: string, ending: ParsedObject["ending"], rest: ParsedExtent): ParsedObject | UnparsedObject {
  const value = parseJson(json);
  return value === undefined
    ? refuseObject("syntax")
    : { kind: "parsed", value, json, trust: "guessed", ending, ...rest };
}

function guessJson(text: string, budget: RepairBudget): string | null {
  budget.guessWork -= text.length * (1 + countQuotes(text));
  if (budget.guessWork < 0) return null;
  try {
    const json = jsonrepair(text);
    JSON.parse(json);
    return json;
  } catch {
    return null; // JSONRepairError, or RangeError from its recursion
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&quot;": '"',
  "&#34;": '"',
  "&#x22;": '"',
  "&#39;": "'",
  "&#x27;": "'",
  "&apos;": "'",
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
};

const ENTITY = new RegExp(Object.keys(ENTITIES).join("|"), "g");

/** Yields exact decodings that the source suggests: Python's spelling, escaped, doubled quotes or braces, HTML entities. */
function* decodeDisguises(source: string): Generator<string> {
  const python = pythonToJson(source);
  if (python !== undefined) yield python;
  if (/^[{[](?:\s|\\[nrt]){0,20}\\"/.test(source)) {
    const body = source.slice(0, source.lastIndexOf("}") + 1);
    const text = parseJson(`"${body.replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t")}"`);
    if (typeof text === "string") yield text;
    if (!body.includes('\\\\"')) yield body.replaceAll('\\"', '"');
  }
  if (/^[{[]\s{0,20}""\w/.test(source) && !/(?<!")"(?:"")*(?!")/.test(source)) yield source.replaceAll('""', '"');
  if (/^[{[]\s{0,20}&(?:quot|#34|#x22);/.test(source) && !source.includes('"'))
    yield source.replace(ENTITY, (entity) => ENTITIES[entity] as string);
  if (source.startsWith("{{")) {
    if (source.endsWith("}}")) yield source.slice(1, -1);
    yield halveBraces(source);
  }
}

/** Undoes the doubled braces of Python templates outside strings. */
function halveBraces(source: string): string {
  return source.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\{\{|\}\}/gs, (token) =>
    token === "{{" || token === "}}" ? token.slice(1) : token,
  );
}

const refuseObject = (reason: UnparsedObject["reason"]): UnparsedObject => ({ kind: "unparsed", reason });

export type NestedObject =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "twice"; readonly key: string };

/** Longer text is parsed strictly only. */
const MAX_MENDED_CHARS = 50_000;

/**
 * Parses a string of the reply that holds exactly one object, such as the arguments of a tool call. Null when it does not.
 * Spelling may be mended; nothing is guessed.
 */
export function parseNested(text: string): NestedObject | null {
  const source = unwrapJsonString(text.trim());
  if (!source.startsWith("{")) return null;
  const strict = parseJson(source);
  const json = strict === undefined ? mended(source) : source;
  const value = strict ?? (json === null ? undefined : parseJson(json));
  if (json === null || value === undefined) return null;
  const key = findConflictingKey(json, value);
  return key === null ? { kind: "value", value } : { kind: "twice", key };
}

function unwrapJsonString(text: string): string {
  const inner = text.startsWith('"{') ? parseJson(text) : undefined;
  return typeof inner === "string" ? inner.trim() : text;
}

function mended(source: string): string | null {
  if (source.length > MAX_MENDED_CHARS) return null;
  const { text, end, owed, isClear, isCut, hasConflict, isDoubtful, hasEllipsis } = mendObject(source, 0, "resolve");
  const isWhole = end === source.length && owed === "" && !isCut;
  return isWhole && isClear && !hasConflict && !isDoubtful && !hasEllipsis ? text : null;
}
