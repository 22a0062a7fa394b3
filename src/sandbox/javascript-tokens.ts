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

const SPACE = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)+/y;
const PLAIN_WORD = /#?[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:\d|\.\d)(?:[\w.]|(?<=[eE])[+-])*/y;
const STRING = /"(?:[^"\\\n\r]+|\\[\s\S])*"|'(?:[^'\\\n\r]+|\\[\s\S])*'/y;
const PATTERN = /\/(?:[^/\\[\n\r]+|\\.|\[(?:[^\]\\\n\r]+|\\.)*\])+\/[\p{ID_Continue}$]*/uy;
const TEMPLATE_PART = /(?:[^`\\$]+|\\[\s\S]|\$(?!\{))*/y;
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
    const gap = this.#match(SPACE) ?? "";
    const isFirstOfLine = this.tokens.length === 0 || /[\n\r\u2028\u2029]/.test(gap);
    const char = this.#code[this.#at];
    if (char === undefined) return false;
    if (char === "`") return this.#readTemplate(isFirstOfLine);
    if (char === "}" && this.#brackets.at(-1)?.opener === "`") return this.#readTemplate(isFirstOfLine);
    const word = this.#match(PLAIN_WORD);
    if (word) return this.#add("word", word, isFirstOfLine);
    const string = this.#match(STRING);
    if (string) return this.#add("string", string, isFirstOfLine);
    const number = this.#match(NUMBER);
    if (number) return this.#add("number", number, isFirstOfLine);
    const pattern = char === "/" && this.#expectsExpression() ? this.#match(PATTERN) : undefined;
    if (pattern) return this.#add("pattern", pattern, isFirstOfLine);
    const punctuator = this.#match(PUNCTUATOR);
    return punctuator !== undefined && this.#addPunctuator(punctuator, isFirstOfLine);
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
    this.#at += 1;
    this.#match(TEMPLATE_PART);
    const hasEnded = this.#code[this.#at] === "`";
    if (!hasEnded && !this.#code.startsWith("${", this.#at)) return false;
    this.#at += hasEnded ? 1 : 2;
    this.#add("template", this.#code.slice(start, this.#at), isFirstOfLine);
    if (!hasEnded) this.#brackets.push({ opener: "`", isHead: false, isBlock: false });
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
