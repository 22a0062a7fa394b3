/**
 * scan-code.ts -- splits Python into tokens, far enough to find its calls and literals, and finds unfinished texts.
 *
 * Nothing runs by what it finds: remarks for the model, and which line ends a block of code.
 */
export interface CodeToken {
  readonly kind: "name" | "number" | "string" | "sign" | "line-end";
  /** The text of the token. Of a string, this is its value; empty when the string is put together from parts. */
  readonly text: string;
}

const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d+)?)j?/iy;
const STRING = /([rbuf]{0,2})("""|'''|"|')/iy;
const BLANKS = /(?:[ \t\f\r]|\\\r?\n|#[^\n]*)+/y;

/** Ends at a text that does not end. */
export function scanPython(code: string): readonly CodeToken[] {
  const tokens: CodeToken[] = [];
  const at = (pattern: RegExp, from: number): RegExpExecArray | null => {
    pattern.lastIndex = from;
    return pattern.exec(code);
  };
  for (let place = 0; place < code.length; ) {
    const blanks = at(BLANKS, place);
    if (blanks) {
      place += blanks[0].length;
      continue;
    }
    const [opening, prefix = "", quote = ""] = at(STRING, place) ?? [];
    if (opening !== undefined) {
      const start = place + opening.length;
      const end = findQuote(code, start, quote);
      if (end === undefined) return tokens;
      const isWhole = !/[bf]/i.test(prefix) || (/f/i.test(prefix) && !/[{}]/.test(code.slice(start, end)));
      tokens.push({ kind: "string", text: isWhole ? unescapeText(code.slice(start, end), /r/i.test(prefix)) : "" });
      place = end + quote.length;
      continue;
    }
    const [text = code[place] as string] = at(NAME, place) ?? at(NUMBER, place) ?? [];
    const kind =
      text === "\n" ? "line-end" : /^[\p{L}_]/u.test(text) ? "name" : /^\.?\d/.test(text) ? "number" : "sign";
    tokens.push({ kind, text });
    place += text.length;
  }
  return tokens;
}

/** Undefined when the text does not end. One in single quotes ends at the end of its line at the latest. */
function findQuote(code: string, from: number, quote: string): number | undefined {
  for (let place = from; place < code.length; place++) {
    if (code[place] === "\\") place++;
    else if (code.startsWith(quote, place)) return place;
    else if (code[place] === "\n" && quote.length === 1) return undefined;
  }
  return undefined;
}

const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\n": "" };
const unescapeText = (text: string, isRaw: boolean): string =>
  isRaw ? text : text.replace(/\\([\s\S])/g, (_match, char: string) => ESCAPED[char] ?? char);

const TEXTS = /#[^\n]*|"""|'''|(["'])(?:\\[\s\S]|(?!\1)[^\n])*\1?/g;

/** True when Python ends within a text of several lines: what follows is a part of it, even if it looks like a fence. */
export function endsInsideText(code: string): boolean {
  const pattern = new RegExp(TEXTS);
  for (let found = pattern.exec(code); found; found = pattern.exec(code)) {
    const [mark] = found;
    if (mark !== '"""' && mark !== "'''") continue;
    const end = findLongEnd(code, pattern.lastIndex, mark);
    if (end === undefined) return true;
    pattern.lastIndex = end + mark.length;
  }
  return false;
}

function findLongEnd(code: string, from: number, mark: string): number | undefined {
  for (let place = from; place < code.length; place++) {
    if (code[place] === "\\") place++;
    else if (code.startsWith(mark, place)) return place;
  }
  return undefined;
}
