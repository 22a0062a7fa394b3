/**
 * json.ts -- parses strict JSON without exceptions or deep nesting, and finds keys that occur twice. `JSON.parse`
 * silently keeps the last of two equal keys, while a person who reads the log sees the first. An object with
 * conflicting keys is therefore not run. Thoughts are exempt, since nothing acts on them.
 */
import { MAX_JSON_DEPTH } from "#core/command.ts";
import { parseJson } from "#util/json.ts";

const QUOTE = 34;
const BACKSLASH = 92;

/** Returns undefined for text that is not JSON or nests deeper than `MAX_JSON_DEPTH`. */
export const parseShallowJson = (text: string): unknown => (isTooDeep(text) ? undefined : parseJson(text));

/** Counts brackets outside strings. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at);
    else if (code === 123 || code === 91) {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}

/** Returns the index of the closing quote of the string that begins at `start`, else the text's length. Linear time. */
export function findStringEnd(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end === -1) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // Escaped quotes come in large numbers: a scan is faster than one `indexOf` per quote.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

export const isSameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the first index after a comment that begins at `at`, else `at`. `://` does not begin a comment. */
export function findCommentEnd(text: string, at: number): number {
  const isLine = text.startsWith("# ", at) || (text.startsWith("//", at) && text[at - 1] !== ":");
  if (!isLine && !text.startsWith("/*", at)) return at;
  const terminator = isLine ? "\n" : "*/";
  const end = text.indexOf(terminator, at + 2);
  return end === -1 ? text.length : end + terminator.length;
}

interface JsonLevel {
  /** Raw value text by key; null for a list or an exempt object. */
  readonly values: Map<string, string> | null;
  readonly isExempt: boolean;
  key: string | null;
  valueStart: number;
}

/** Returns the first key with two different values, or null. `json` is strict. */
export function findConflictingKey(json: string): string | null {
  const levels: JsonLevel[] = [];
  for (let at = 0; at < json.length; at++) {
    const char = json[at] as string;
    const level = levels.at(-1);
    if (char === '"') {
      const end = findStringEnd(json, at);
      if (level?.values && level.key === null) level.key = JSON.parse(json.slice(at, end + 1));
      at = end;
    } else if (char === ":" && level) level.valueStart = at + 1;
    else if (char === "{" || char === "[") levels.push(openLevel(char, level));
    else if (char === "," || char === "}" || char === "]") {
      if (level && isConflictAt(level, json, at)) return level.key;
      if (level) level.key = null;
      if (char !== ",") levels.pop();
    }
  }
  return null;
}

function openLevel(char: string, parent: JsonLevel | undefined): JsonLevel {
  const isExempt = parent !== undefined && (parent.isExempt || /^thoughts?$/i.test(parent.key ?? ""));
  return { values: char === "{" && !isExempt ? new Map() : null, isExempt, key: null, valueStart: 0 };
}

function isConflictAt(level: JsonLevel, json: string, end: number): boolean {
  if (!level.values || level.key === null) return false;
  const value = json.slice(level.valueStart, end).trim();
  const earlier = level.values.get(level.key);
  level.values.set(level.key, value);
  if (earlier === undefined || earlier === value || /^thoughts?$/i.test(level.key)) return false;
  return !isSameJson(JSON.parse(earlier), JSON.parse(value));
}

const SHORT = ["'", '"'].map((quote) => `${quote}(?:[^${quote}\\n\\\\]|\\\\[\\s\\S])*${quote}`);
const LONG = ["'''", '"""'].map((quote) => `${quote}(?:(?!${quote})[^\\\\]|\\\\[\\s\\S])*${quote}`);
const STRING = [...LONG, ...SHORT].join("|");
const NUMBER = String.raw`[-+]?(?:(?:0|[1-9]\d{0,2}(?:_\d{3})+|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?`;
const TOKEN = new RegExp(`\\s*(?:(${STRING})|(${NUMBER})|([A-Za-z]+)|([[\\](){},:]))\\s*`, "y");
const WORDS = new Map(Object.entries({ None: "null", True: "true", False: "false" }));
const CLOSING: Readonly<Record<string, string>> = { "[": "]", "(": ")", "{": "}" };
const STRING_OR_BRACKET = new RegExp(`${STRING}|[()]`, "g");

/** The end of a longer call is that of the text. */
const MAX_CALL_CHARS = 10_000;
/** Returns the first index after a Python call whose arguments begin at `start`; undefined if it does not end. */
export function findCallEnd(text: string, start: number): number | undefined {
  STRING_OR_BRACKET.lastIndex = start;
  for (let depth = 1; depth > 0; ) {
    const [sign] = STRING_OR_BRACKET.exec(text) ?? [];
    if (!sign) return undefined;
    if (STRING_OR_BRACKET.lastIndex > start + MAX_CALL_CHARS) return text.length;
    depth += sign === "(" ? 1 : sign === ")" ? -1 : 0;
  }
  return STRING_OR_BRACKET.lastIndex;
}

/**
 * Rewrites a Python literal as JSON text. Models write None, True, single quotes, tuples and `14_284_000` where JSON is
 * asked for. JSON's own words are read too. Returns undefined for text that is not one literal: nothing is guessed.
 * The returned text may be wrong JSON, such as for a set: parse it strictly. It takes linear time.
 */
export function pythonToJson(text: string): string | undefined {
  const written: string[] = [];
  const open: { readonly sign: string; commas: number }[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const [, string, number, word, sign = ""] = TOKEN.exec(text) ?? [""];
    const inner = open.at(-1);
    if (string) written.push(readString(string));
    else if (number) written.push(String(Number(number.replaceAll("_", ""))));
    else if (word) written.push(WORDS.get(word) ?? word);
    else if (CLOSING[sign]) {
      open.push({ sign, commas: 0 });
      written.push(sign === "(" ? "[" : sign);
    } else if (sign === "," || sign === ":") {
      if (inner && sign === ",") inner.commas++;
      written.push(sign);
    } else {
      // Text that is no token ends here too. Brackets around one value do not make a tuple.
      const isGroup = sign === ")" && inner?.commas === 0 && written.at(-1) !== "[";
      if (!inner || CLOSING[inner.sign] !== sign || isGroup) return undefined;
      if (written.at(-1) === "," && !"[{".includes(written.at(-2) ?? "[")) written.pop();
      open.pop();
      written.push(sign === ")" ? "]" : sign);
    }
  }
  return written.join(" ");
}

/** Escapes that JSON reads as Python does, and those of Python alone, which no parser of JSON takes. */
const KEPT = /\\["\\bfnrtuavxNU0-7\n]/;
/** A single backslash after a drive letter is often meant as it is. */
const WINDOWS_PATH = /(?<![A-Za-z])[A-Za-z]:\\[^\\]/;
const withEscape = (signs: string): RegExp => new RegExp(String.raw`(?:^|[^\\])(?:\\\\)*\\(?:${signs})`);
const ESCAPE = withEscape("[bfnrtu]");
const STRAY = withEscape(String.raw`[^"'\\/bfnrtu]|u(?![\da-fA-F]{4})`);
/** A sign of control that is rare in texts, or the beginning of a word such as `\frac` or of `\\server\share`. */
const RARE = withEscape(String.raw`[bf]|r(?!\\n)|t[a-z]{2}|\\[\w.-]+\\[^"\\/]`);

/** True when a backslash may begin an escape or be meant as it is, since another one in the string begins none. */
export const hasDoubtfulEscape = (string: string): boolean =>
  string.includes("\\") && (WINDOWS_PATH.test(string) ? ESCAPE.test(string) : RARE.test(string) && STRAY.test(string));

function readString(token: string): string {
  const quoteChars = /^(?:'{3}|"{3})/.test(token) && token.length > 5 ? 3 : 1;
  const text = token.slice(quoteChars, -quoteChars);
  if (WINDOWS_PATH.test(text) || hasDoubtfulEscape(text)) return "'";
  const toJson = (found: string) =>
    KEPT.test(found) ? found : JSON.stringify(found === "\\'" ? "'" : found).slice(1, -1);
  return `"${text.replace(/\\[\s\S]|["\p{Cc}]/gu, toJson)}"`;
}
