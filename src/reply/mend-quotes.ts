/**
 * mend-quotes.ts -- decides whether a quote inside a damaged string ends it or is content.
 *
 * Models forget to escape quotes: `"text": "He said "hi" to me"`. An end is followed by a comma and the next key, by
 * closing brackets, or by nothing. The verdict "conflict" makes the caller reject instead of guess. In well-formed JSON every
 * unescaped quote is found to be an end. Lookahead is bounded.
 */

export type QuoteVerdict = "end" | "content" | "conflict" | "joined";

interface QuoteContext {
  /** Open brackets, outermost first. */
  readonly stack: readonly string[];
  /** True when an earlier quote of this string was content. */
  readonly hasContentQuote: boolean;
}

const LOOK_AHEAD = 500;
const QUOTES = "\"'“”„‘’`";
const KEY_AHEAD = /u?["'“„‘`][^"'“”„‘’`\n]{1,200}["'“”’`]\s{0,50}[:=：]/y;
const BARE_KEY_AHEAD = /[A-Za-z_]\w{0,100}\s{0,50}[:=：]/y;
const LITERAL_AHEAD = /[-+.\d{[\]"'“„‘`,]|(?:true|false|null|True|False|None)\b/y;

/** `at` is the index of a possible closing quote. */
export function judgeQuote(source: string, at: number, context: QuoteContext): QuoteVerdict {
  const next = skipBlank(source, at + 1);
  const char = source[next];
  if (char === undefined) return "end";
  if (isCloser(char, context.stack)) return judgeClosers(source, next, context.stack);
  if (",，;；".includes(char)) return judgeComma(source, next + 1, context.stack);
  if (char === ":" || char === "：") return "conflict";
  if (char === "+" && QUOTES.includes(source[skipBlank(source, next + 1)] ?? "x"))
    return context.hasContentQuote ? "content" : "joined";
  if (context.stack.at(-1) === "{" && matchesAt(KEY_AHEAD, source, next)) return "end";
  return "content";
}

const isCloser = (char: string, stack: readonly string[]): boolean =>
  "}]｝".includes(char) || (char === ")" && stack.includes("("));

/** Decides by the text after the closing brackets. */
function judgeClosers(source: string, from: number, stack: readonly string[]): QuoteVerdict {
  let at = from;
  for (let closed = 0; at < source.length && isCloser(source[at] as string, stack); closed++) {
    if (closed >= stack.length) return "end";
    at = skipBlank(source, at + 1);
  }
  const after = source[at];
  if (after === undefined || ",，;；`".includes(after) || isKeyAhead(source, at)) return "end";
  return QUOTES.includes(after) ? "conflict" : "content";
}

/** Decides by the key or item after the comma; a key with a doubled quote is damage, not content. */
function judgeComma(source: string, from: number, stack: readonly string[]): QuoteVerdict {
  const at = skipBlank(source, from);
  const char = source[at];
  if (char === undefined || isCloser(char, stack) || char === ",") return "end";
  if (stack.at(-1) !== "{") return matchesAt(LITERAL_AHEAD, source, at) ? "end" : "content";
  if (isKeyAhead(source, at)) return "end";
  return QUOTES.includes(char) && isKeyAhead(source, skipBlank(source, at + 1)) ? "conflict" : "content";
}

/** Includes blanks that JSON does not allow. */
export const isBlank = (char: string): boolean =>
  char <= " " || (char > "~" && /[\s\u0085\u200b-\u200d\u2060\ufeff]/.test(char));

/** Skips blanks, and comments that end within `LOOK_AHEAD`. */
function skipBlank(source: string, from: number): number {
  let at = from;
  const limit = from + LOOK_AHEAD;
  while (at < limit) {
    const char = source[at];
    if (char !== undefined && isBlank(char)) at++;
    else if (char === "/" && source[at + 1] === "*") at = findEndWithin(source, "*/", at, limit) ?? limit;
    else if ((char === "/" && source[at + 1] === "/") || char === "#") {
      const end = findEndWithin(source, "\n", at, limit);
      if (end === null) return at;
      at = end;
    } else return at;
  }
  return at;
}

function findEndWithin(source: string, terminator: string, from: number, limit: number): number | null {
  const end = source.slice(from, limit).indexOf(terminator);
  return end === -1 ? null : from + end + terminator.length;
}

const isKeyAhead = (source: string, at: number): boolean =>
  matchesAt(KEY_AHEAD, source, at) || matchesAt(BARE_KEY_AHEAD, source, at);

function matchesAt(sticky: RegExp, source: string, at: number): boolean {
  sticky.lastIndex = at;
  return sticky.test(source);
}

/**
 * Judges the quotes that were taken as content. "intended": in pairs, an inch mark after a digit, or an apostrophe
 * after a letter. "doubtful": one may be a repeated delimiter. "unclear": all else. `content` has one element per
 * character; `positions` are the indexes of the quotes in it.
 */
export function judgeContentQuotes(
  content: readonly string[],
  positions: readonly number[],
  delimiter: string,
): "intended" | "unclear" | "doubtful" {
  const isApostrophe = (at: number): boolean => delimiter !== '"' && /[\p{L}\d]/u.test(content[at - 1] ?? "");
  const isInch = (at: number): boolean => /\d/.test(content[at - 1] ?? "");
  const unexplained = positions.filter((at) => !isApostrophe(at));
  const isEven = unexplained.length % 2 === 0;
  const isAtStart = unexplained[0] === 0;
  const isAtEnd = unexplained.length > 0 && unexplained.at(-1) === content.length - 1;
  if (isAtStart && isAtEnd) return isEven ? "unclear" : "doubtful";
  const isDoubled =
    (isAtStart && unexplained[1] === 1) || (isAtEnd && unexplained.at(-2) === content.length - 2 && content.length > 1);
  if (isDoubled) return "doubtful";
  if (isEven || unexplained.filter(isInch).length === 1) return "intended";
  return isAtStart || isAtEnd ? "doubtful" : "unclear";
}
