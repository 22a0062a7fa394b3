/**
 * mend-string.ts -- rewrites one damaged string as a JSON string.
 *
 * Accepts double, single, typographic and backtick quotes, and Python's triple quotes. Content stays exact: the backslash
 * of an illegal escape is content.
 */
import { judgeContentQuotes, judgeQuote, type QuoteVerdict } from "./mend-quotes.ts";

/** Possible closing quotes by opening quote. */
export const CLOSING_QUOTE: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": "”",
  "„": "“”",
  "”": "”",
  "‘": "’",
  "’": "’",
};

export interface StringContext {
  /** Possible closing quotes. */
  readonly ends: string;
  /** Open brackets, outermost first. */
  readonly stack: readonly string[];
  readonly isKey: boolean;
  readonly isThought: boolean;
  /** True for the mode "resolve" of `QuoteMode`. */
  readonly resolves: boolean;
}

export interface MendedString {
  /** Includes the quotes. */
  readonly text: string;
  /** Exclusive index in the source. */
  readonly end: number;
  readonly isClear: boolean;
  readonly isCut: boolean;
  readonly hasConflict: boolean;
  /** See `Mended.isDoubtful`. */
  readonly isDoubtful: boolean;
}

export function mendString(source: string, start: number, place: StringContext): MendedString {
  const long = place.isKey ? null : mendLongString(source, start);
  if (long) return long;
  const content: string[] = [];
  const quotes: number[] = [];
  let isGuess = false;
  let hasConflict = false;
  /** `"a" "b"` may be one string or two. */
  let isPair = false;
  let afterQuote = -1;
  let at = start + 1;
  for (; at < source.length; at++) {
    const char = source[at] as string;
    if (char === "\\") {
      const isPath = isInWindowsPath(source, at);
      const escaped = isPath ? BACKSLASH : mendEscape(source, at, place.ends);
      if (isPath && /[bfnrtu]/.test(source[at + 1] ?? "")) isGuess = true;
      content.push(escaped.text);
      at += escaped.length - 1;
      continue;
    }
    const verdict = place.ends.includes(char) ? judgeClosingQuote(source, at, place, quotes.length > 0) : "content";
    if (verdict === "end") break;
    if (verdict === "joined") {
      isGuess = true;
      at = findNextQuote(source, at + 1);
      continue;
    }
    if (verdict === "conflict") hasConflict = true;
    if (place.ends.includes(char)) {
      quotes.push(content.length);
      isPair ||= char === '"' && afterQuote !== -1 && source.slice(afterQuote, at).trim() === "";
      afterQuote = at + 1;
    }
    content.push(escapeCharacter(char));
  }
  const isInList = quotes.length > 0 && place.stack.at(-1) !== "{";
  const verdict = isInList || isPair ? "doubtful" : judgeContentQuotes(content, quotes, place.ends);
  return {
    text: `"${content.join("")}"`,
    end: Math.min(source.length, at + 1),
    isClear: verdict === "intended" && !isGuess,
    isCut: at >= source.length,
    hasConflict,
    isDoubtful: verdict === "doubtful" && !place.isThought,
  };
}

function judgeClosingQuote(source: string, at: number, place: StringContext, hasContentQuote: boolean): QuoteVerdict {
  return place.resolves && !place.isKey ? judgeQuote(source, at, { stack: place.stack, hasContentQuote }) : "end";
}

/** Finds the opening quote after a `+` that `judgeQuote` has found. */
function findNextQuote(source: string, from: number): number {
  let at = source.indexOf("+", from);
  while (CLOSING_QUOTE[source[at] as string] === undefined) at++;
  return at;
}

/** Mends Python's `"""…"""`; null for other strings. */
function mendLongString(source: string, start: number): MendedString | null {
  if (!source.startsWith('"""', start)) return null;
  const end = source.indexOf('"""', start + 3);
  if (end <= start + 3 || !/^\s{0,50}[,}\]]/.test(source.slice(end + 3, end + 54))) return null;
  const content: string[] = [];
  for (let at = start + 3; at < end; at++) {
    const isEscape = source[at] === "\\";
    const piece = isEscape ? mendEscape(source, at, '"') : { text: escapeCharacter(source[at] as string), length: 1 };
    content.push(piece.text);
    at += piece.length - 1;
  }
  const whole = { isClear: true, isCut: false, hasConflict: false, isDoubtful: false } as const;
  return { text: `"${content.join("")}"`, end: end + 3, ...whole };
}

/** After `C:\Us…`, whose first backslash is not an escape, later single backslashes are path separators too. */
function isInWindowsPath(source: string, at: number): boolean {
  if (source[at + 1] === "\\" || source[at + 1] === '"') return false;
  const before = source.slice(Math.max(0, at - 260), at);
  return /(?<![A-Za-z])[A-Za-z]:\\[^\s"\\/bfnrtu][^\s"\\]*(?:\\[^\s"\\]+)*$/.test(before);
}

interface JsonText {
  readonly text: string;
  /** Characters consumed from the source. */
  readonly length: number;
}
const BACKSLASH: JsonText = { text: "\\\\", length: 1 };

/** Keeps legal escapes, unescapes quotes that need no escape, and doubles any other backslash. */
function mendEscape(source: string, at: number, ends: string): JsonText {
  const next = source[at + 1] ?? "";
  if (next !== "" && '"\\/bfnrt'.includes(next)) return { text: `\\${next}`, length: 2 };
  if (next === "u" && /^[\da-fA-F]{4}$/.test(source.slice(at + 2, at + 6)))
    return { text: source.slice(at, at + 6), length: 6 };
  if (next === "'" || (next !== "" && ends.includes(next))) return { text: next, length: 2 };
  return BACKSLASH;
}

const escapeCharacter = (char: string): string =>
  char === '"' ? '\\"' : char < " " ? JSON.stringify(char).slice(1, -1) : char;
