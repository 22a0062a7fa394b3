/**
 * javascript-tokens.ts -- splits JavaScript into tokens, with the depth of brackets at which each begins.
 *
 * It needs no more grammar than telling words, strings, templates, patterns and comments apart. Of malformed code it returns
 * what it could read; QuickJS then reports the error.
 */

export interface Token {
  readonly text: string;
  readonly start: number;
  readonly kind: "word" | "punctuator" | "string" | "number" | "pattern" | "template";
  /** Number of brackets of all kinds around it. */
  readonly depth: number;
  /** The token begins a line. */
  readonly isFirstOfLine: boolean;
}

const SPACE = /\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\//y;
const FLAGS = /[\p{ID_Continue}$]*/uy;
const LINE_END = /[\n\r\u2028\u2029]/;
const PLAIN_WORD = /#?[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:\d|\.\d)(?:[\w.]|(?<=[eE])[+-])*/y;
const PUNCTUATOR = /=>|\.\.\.|\+\+|--|[^\s\w]/uy;

/** After these words an expression begins, so that a slash begins a pattern. */
const BEFORE_EXPRESSION = new Set(
  "return typeof instanceof in of new delete void throw case do else yield await extends default".split(" "),
);
const HEADS = new Set(["if", "while", "for", "with"]);
const OPENERS = "([{";
const CLOSERS = ")]}";

/** `isHead`: the bracket belongs to `if (…)` and the like. `isBlock`: a brace that holds statements. */
interface Bracket {
  readonly opener: string;
  readonly isHead: boolean;
  readonly isBlock: boolean;
}

export function splitTokens(code: string): readonly Token[] {
  const reader = new TokenReader(code);
  while (reader.readNext());
  return reader.tokens;
}

class TokenReader {
  readonly tokens: Token[] = [];
  readonly #code: string;
  readonly #brackets: Bracket[] = [];
  #at = 0;
  #closed: Bracket | undefined;

  constructor(code: string) {
    this.#code = code;
  }

  /** Returns false at the end, or where the code is malformed. */
  readNext(): boolean {
    const isFirstOfLine = this.#skipGap() || this.tokens.length === 0;
    const char = this.#code[this.#at];
    if (char === undefined) return false;
    if (char === "`") return this.#readTemplate(isFirstOfLine);
    if (char === "}" && this.#brackets.at(-1)?.opener === "`") return this.#readTemplate(isFirstOfLine);
    const word = this.#match(PLAIN_WORD);
    if (word) return this.#add("word", word, isFirstOfLine);
    if (char === '"' || char === "'") return this.#readTo("string", findStringEnd(this.#code, this.#at), isFirstOfLine);
    const number = this.#match(NUMBER);
    if (number) return this.#add("number", number, isFirstOfLine);
    if (char === "/" && this.#expectsExpression()) return this.#readPattern(isFirstOfLine);
    const punctuator = this.#match(PUNCTUATOR);
    return punctuator !== undefined && this.#addPunctuator(punctuator, isFirstOfLine);
  }

  /** Skips white space and comments. Returns whether a line ended in them. */
  #skipGap(): boolean {
    let hasLineEnd = false;
    for (let gap = this.#match(SPACE); gap; gap = this.#match(SPACE)) hasLineEnd ||= LINE_END.test(gap);
    return hasLineEnd;
  }

  /** Returns false when there is no end. */
  #readTo(kind: Token["kind"], end: number | undefined, isFirstOfLine: boolean): boolean {
    if (end === undefined) return false;
    const text = this.#code.slice(this.#at, end);
    this.#at = end;
    return this.#add(kind, text, isFirstOfLine);
  }

  #readPattern(isFirstOfLine: boolean): boolean {
    const end = findPatternEnd(this.#code, this.#at);
    if (end === undefined) return false;
    FLAGS.lastIndex = end;
    return this.#readTo("pattern", end + (FLAGS.exec(this.#code)?.[0].length ?? 0), isFirstOfLine);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#code)?.[0];
    if (!found) return undefined;
    this.#at += found.length;
    return found;
  }

  #add(kind: Token["kind"], text: string, isFirstOfLine: boolean): true {
    const start = this.#at - text.length;
    this.tokens.push({ kind, text, start, depth: this.#brackets.length, isFirstOfLine });
    return true;
  }

  #addPunctuator(text: string, isFirstOfLine: boolean): true {
    if (CLOSERS.includes(text)) this.#closed = this.#brackets.pop();
    this.#add("punctuator", text, isFirstOfLine);
    if (OPENERS.includes(text)) this.#brackets.push(this.#describe(text));
    return true;
  }

  #describe(opener: string): Bracket {
    const before = this.tokens.at(-2);
    const isHead = opener === "(" && before?.kind === "word" && HEADS.has(before.text);
    return { opener, isHead, isBlock: opener === "{" && startsBlock(before) };
  }

  /** From a backtick or the end of a substitution to the next substitution or the end of the template. */
  #readTemplate(isFirstOfLine: boolean): boolean {
    const start = this.#at;
    const isInside = this.#code[start] === "}";
    if (isInside) this.#brackets.pop();
    const end = findTemplateEnd(this.#code, start);
    if (!this.#readTo("template", end, isFirstOfLine)) return false;
    if (this.#code[this.#at - 1] !== "`") this.#brackets.push({ opener: "`", isHead: false, isBlock: false });
    return true;
  }

  #expectsExpression(): boolean {
    const last = this.tokens.at(-1);
    if (!last) return true;
    if (last.kind === "word") return BEFORE_EXPRESSION.has(last.text);
    if (last.kind === "template") return last.text.endsWith("${");
    if (last.kind !== "punctuator") return false;
    if (last.text === ")") return this.#closed?.isHead === true;
    if (last.text === "}") return this.#closed?.isBlock === true;
    return last.text !== "]" && last.text !== "++" && last.text !== "--";
  }
}

/** A brace after such a token holds statements. */
function startsBlock(before: Token | undefined): boolean {
  if (!before) return true;
  if (before.kind === "word") return ["else", "do", "try", "finally"].includes(before.text);
  return [")", ";", "{", "}", "=>"].includes(before.text);
}

/** The functions below return where a literal that begins at `start` ends; undefined when it does not. */
function findStringEnd(code: string, start: number): number | undefined {
  const quote = code[start];
  for (let at = start + 1; at < code.length; at++) {
    const char = code[at];
    if (char === quote) return at + 1;
    if (char === "\n" || char === "\r") return undefined;
    if (char === "\\") at += 1;
  }
  return undefined;
}

function findPatternEnd(code: string, start: number): number | undefined {
  let isInClass = false;
  for (let at = start + 1; at < code.length; at++) {
    const char = code[at];
    if (char === "\n" || char === "\r") return undefined;
    if (char === "/" && !isInClass) return at + 1;
    if (char === "[") isInClass = true;
    else if (char === "]") isInClass = false;
    else if (char === "\\") at += 1;
  }
  return undefined;
}

/** The end of the template, or of its part before a substitution. */
function findTemplateEnd(code: string, start: number): number | undefined {
  for (let at = start + 1; at < code.length; at++) {
    const char = code[at];
    if (char === "`") return at + 1;
    if (char === "$" && code[at + 1] === "{") return at + 2;
    if (char === "\\") at += 1;
  }
  return undefined;
}
