/**
 * mend.ts -- rewrites damaged JSON as strict JSON without guessing.
 *
 * One forward pass over one object. It changes spelling only: delimiters become double quotes, control characters and
 * unknown backslashes (regular expressions, Windows paths) are escaped, comments and trailing commas go, Python
 * and JavaScript literals get their JSON names. Other text is copied and makes the result unclear.
 */
import { findCommentEnd } from "./json.ts";
import { isBlank } from "./mend-quotes.ts";
import { CLOSING_QUOTE, mendString } from "./mend-string.ts";

export interface MendedObject {
  readonly text: string;
  /** Exclusive index in the source. */
  readonly end: number;
  /** Missing closing brackets, in closing order. */
  readonly owed: string;
  /** The source ends inside a string, word or number: its last value may be incomplete. */
  readonly isCut: boolean;
  readonly isClear: boolean;
  /** A quote has two possible readings, so "resolve" cannot decide. */
  readonly hasConflict: boolean;
  /** A quote outside the thoughts may be a repeated delimiter or content: the object must not be used. */
  readonly isDoubtful: boolean;
  /** `...` replaces a value. */
  readonly hasEllipsis: boolean;
}

/** "resolve" separates ends from content by the text that follows; "plain" ends at the first unescaped quote. */
export type QuoteMode = "resolve" | "plain";

interface MendPass {
  readonly source: string;
  readonly quotes: QuoteMode;
  at: number;
  readonly out: string[];
  readonly stack: string[];
  /** The key of each open bracket, as JSON text. */
  readonly keys: string[];
  key: string;
  /** Last significant character written: `"` for a string, `a` for a word or number. */
  last: string;
  /** Index of the last comma in `out`. */
  comma: number;
  isCut: boolean;
  isClear: boolean;
  hasConflict: boolean;
  isDoubtful: boolean;
  hasEllipsis: boolean;
}

const PUNCTUATION: Readonly<Record<string, string>> = {
  "：": ":",
  "，": ",",
  "；": ",",
  ";": ",",
  "｛": "{",
  "｝": "}",
};
const OWED: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": "]" };
const LITERALS: ReadonlyMap<string, string> = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["NaN", "null"],
  ["undefined", "null"],
  ["Infinity", "null"],
]);
const WORD = /[\p{L}_$][\p{L}\d_$-]*/uy;
const NUMBER = /[-+.]?\d[\w.+-]*/y;
const THOUGHTS_KEY = /^"\s*thoughts?\s*"$/i;
const STRICT_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Mends the object that begins at `start`; ignores the text after its end. */
export function mendObject(source: string, start: number, quotes: QuoteMode): MendedObject {
  const pass: MendPass = {
    source,
    quotes,
    at: start,
    out: [],
    stack: [],
    keys: [],
    key: "",
    last: "",
    comma: -1,
    isCut: false,
    isClear: true,
    hasConflict: false,
    isDoubtful: false,
    hasEllipsis: false,
  };
  do mendToken(pass);
  while (pass.stack.length > 0 && pass.at < source.length && !(pass.hasConflict && quotes === "resolve"));
  if (pass.stack.length > 0 && pass.last === "a") pass.isCut = true;
  const owed = pass.stack.map((open) => OWED[open]).reverse();
  const { at: end, isCut, isClear, hasConflict, isDoubtful, hasEllipsis } = pass;
  const text = pass.out.join("");
  return { text, end, owed: owed.join(""), isCut, isClear, hasConflict, isDoubtful, hasEllipsis };
}

function mendToken(pass: MendPass): void {
  const { source, at } = pass;
  const char = PUNCTUATION[source[at] as string] ?? (source[at] as string);
  const afterComment = char === "#" ? findLineEnd(source, at) : findCommentEnd(source, at);
  if (afterComment > at) {
    pass.at = afterComment;
    return;
  }
  if (CLOSING_QUOTE[char] !== undefined && (char === '"' || isTokenPosition(pass))) mendStringToken(pass, char);
  else if (isBlank(char)) writeToken(pass, " \n\r\t".includes(char) ? char : " ", "");
  else if (char === "\\" && "nrt".includes(source[at + 1] ?? "-")) writeToken(pass, " ", "", 2);
  else if (char === "{" || char === "[" || (char === "(" && isTokenPosition(pass))) openBracket(pass, char);
  else if (char === "}" || char === "]" || (char === ")" && pass.stack.at(-1) === "(")) closeBracket(pass, char);
  else if (char === ",") writeComma(pass);
  else if (char === ":") writeToken(pass, ":", ":");
  else if (char === "=" && pass.last === '"') writeToken(pass, ":", ":", source[at + 1] === ">" ? 2 : 1);
  else mendBareToken(pass, char);
}

/** True where a key or a value may begin. */
const isTokenPosition = (pass: MendPass): boolean => pass.last === "" || "{[(,:".includes(pass.last);
const findTokenRole = (pass: MendPass): "key" | "value" =>
  pass.stack.at(-1) === "{" && pass.last !== ":" ? "key" : "value";
const findLineEnd = (source: string, at: number): number => {
  const end = source.indexOf("\n", at);
  return end === -1 ? source.length : end;
};

function writeToken(pass: MendPass, text: string, last: string, length = 1): void {
  pass.out.push(text);
  if (last !== "") pass.last = last;
  pass.at += length;
}

function openBracket(pass: MendPass, char: string): void {
  pass.stack.push(char);
  pass.keys.push(pass.key);
  pass.key = "";
  writeToken(pass, char === "(" ? "[" : char, char === "(" ? "[" : char);
}

function closeBracket(pass: MendPass, char: string): void {
  if (pass.last === ",") pass.out[pass.comma] = "";
  const opened = pass.stack.pop() as string;
  pass.keys.pop();
  const expected = OWED[opened] as string;
  if (expected !== char && opened !== "(") pass.isClear = false;
  writeToken(pass, opened === "(" ? "]" : char, expected);
}

/** Drops an extra comma; in a list it may mark a missing value, so the result is unclear. */
function writeComma(pass: MendPass): void {
  if (pass.last === "," || pass.last === "{" || pass.last === "[") {
    if (pass.stack.at(-1) !== "{") pass.isClear = false;
    pass.at++;
    return;
  }
  pass.comma = pass.out.length;
  writeToken(pass, ",", ",");
}

function mendBareToken(pass: MendPass, char: string): void {
  const { source, at } = pass;
  const word = readMatchAt(WORD, source, at);
  if (word !== null) {
    mendWord(pass, word);
    return;
  }
  const number = readMatchAt(NUMBER, source, at);
  if (number !== null) {
    if (!STRICT_NUMBER.test(number)) pass.isClear = false;
    writeToken(pass, number.replace(/^\+/, ""), "a", number.length);
    return;
  }
  if (pass.last === ":" && (source.startsWith("...", at) || char === "…")) pass.hasEllipsis = true;
  pass.isClear = false;
  writeToken(pass, char, "a");
}

function mendWord(pass: MendPass, word: string): void {
  const { source, at } = pass;
  const isKey =
    findTokenRole(pass) === "key" && /^\s{0,50}[:=]/.test(source.slice(at + word.length, at + word.length + 52));
  if (isKey) {
    pass.key = JSON.stringify(word);
    writeToken(pass, JSON.stringify(word), '"', word.length);
    return;
  }
  const isPrefix = isTokenPosition(pass) && /^[bruf]{1,2}$/i.test(word) && /["']/.test(source[at + word.length] ?? "");
  if (isPrefix) {
    if (!/^u$/i.test(word)) pass.isClear = false;
    pass.at += word.length;
    return;
  }
  const literal = isTokenPosition(pass) ? LITERALS.get(word) : undefined;
  if (literal === undefined) pass.isClear = false;
  writeToken(pass, literal ?? word, "a", word.length);
}

function readMatchAt(sticky: RegExp, source: string, at: number): string | null {
  sticky.lastIndex = at;
  return sticky.exec(source)?.[0] ?? null;
}

function mendStringToken(pass: MendPass, opening: string): void {
  const isKey = findTokenRole(pass) === "key";
  const string = mendString(pass.source, pass.at, {
    ends: CLOSING_QUOTE[opening] as string,
    stack: pass.stack,
    isKey,
    isThought: pass.keys.some((key) => THOUGHTS_KEY.test(key)),
    resolves: pass.quotes === "resolve" || opening !== '"',
  });
  if (!isTokenPosition(pass) || !string.isClear) pass.isClear = false;
  if (string.hasConflict) pass.hasConflict = true;
  if (string.isDoubtful) pass.isDoubtful = true;
  if (string.isCut) pass.isCut = true;
  if (isKey) pass.key = string.text;
  writeToken(pass, string.text, '"', string.end - pass.at);
}
