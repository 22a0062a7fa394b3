/**
 * javascript-source.ts -- prepares the code of a cell so that its top-level names last: QuickJS runs it as a script.
 *
 * Top-level `let`, `const` and `class` become `var`, which later cells may declare again and which are properties of the
 * global object. Lines and the columns before a change stay.
 */
import { splitTokens, type Token } from "./javascript-tokens.ts";

export interface PreparedCode {
  readonly code: string;
  /** True if the text begins at `start` outside all brackets and functions, so that it sees global names only. */
  isTopLevel(start: number): boolean;
}

interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly text: string;
}

/** After these words a class is an expression. */
const OPERATOR_WORDS = new Set(
  "return typeof instanceof in of new delete void throw case yield await extends default".split(" "),
);
const NOT_OPERANDS = new Set([";", "}", ")", "]", "++", "--"]);
const DECLARATIONS = new Set(["const", "let", "var", "class", "function"]);

export function prepareCode(code: string): PreparedCode {
  const prepared = applyEdits(code, findEdits(splitTokens(code)));
  let starts: ReadonlySet<number> | undefined;
  return {
    code: prepared,
    isTopLevel: (start) => {
      starts ??= findTopLevelStarts(splitTokens(prepared));
      return starts.has(start);
    },
  };
}

function findEdits(tokens: readonly Token[]): readonly Edit[] {
  return tokens.flatMap((token, index) => {
    if (token.kind !== "word" || token.depth > 0 || !startsStatement(tokens[index - 1])) return [];
    if (token.text === "class") return editClass(tokens, index);
    const next = tokens[index + 1];
    const isDeclaration = token.text === "const" || (token.text === "let" && next !== undefined && isBinding(next));
    return isDeclaration ? [{ at: token.start, removed: token.text.length, text: "var" }] : [];
  });
}

function startsStatement(before: Token | undefined): boolean {
  if (!before) return true;
  if (before.kind === "word") return !OPERATOR_WORDS.has(before.text);
  if (before.kind === "punctuator") return NOT_OPERANDS.has(before.text);
  return !before.text.endsWith("${");
}

const isBinding = ({ kind, text }: Token): boolean => kind === "word" || text === "[" || text === "{";

/** `class A {…}` becomes `var A = class A {…};`. */
function editClass(tokens: readonly Token[], index: number): readonly Edit[] {
  const [word, name] = tokens.slice(index, index + 2);
  if (!word || name?.kind !== "word" || name.text === "extends") return [];
  const body = tokens.findIndex(({ text, depth }, at) => at > index && depth === 0 && text === "{");
  const end = tokens.find(({ text, depth }, at) => at > body && depth === 0 && text === "}");
  if (body < 0 || !end) return [];
  return [
    { at: word.start, removed: 0, text: `var ${name.text} = ` },
    { at: end.start + 1, removed: 0, text: ";" },
  ];
}

function applyEdits(code: string, edits: readonly Edit[]): string {
  let done = 0;
  const parts = edits.map(({ at, removed, text }) => {
    const part = code.slice(done, at) + text;
    done = at + removed;
    return part;
  });
  return parts.join("") + code.slice(done);
}

/** Leaves out what is in the body of an arrow function without braces, which sees its parameters. */
function findTopLevelStarts(tokens: readonly Token[]): ReadonlySet<number> {
  const starts = new Set<number>();
  let isInArrow = false;
  tokens.forEach((token, index) => {
    if (token.depth > 0) return;
    const before = tokens[index - 1];
    if (token.text === ";" || token.text === "," || startsNewStatement(token, before)) isInArrow = false;
    if (!isInArrow) starts.add(token.start);
    if (token.text === "=>" && tokens[index + 1]?.text !== "{") isInArrow = true;
  });
  return starts;
}

const startsNewStatement = (token: Token, before: Token | undefined): boolean =>
  token.isFirstOfLine && token.kind === "word" && DECLARATIONS.has(token.text) && startsStatement(before);
