/** find-objects.ts -- */
import { findCommentEnd, findStringEnd, MAX_DEPTH, parseJson } from "./json.ts";

const MAX_STRING_LAYERS = 3;
const BLANK = /[\s\u0000\u200b-\u200d\u2060\ufeff]/;

/** What is longer than `maxChars` without its white space is returned as it is. */
export function unwrapReply(text: string, maxChars: number): string {
  let reply = trimBlank(text);
  if (reply.length > maxChars) return reply;
  for (let layer = 0; layer < MAX_STRING_LAYERS && reply.startsWith('"') && reply.endsWith('"'); layer++) {
    const inner = parseJson(reply);
    if (typeof inner !== "string") break;
    reply = trimBlank(inner);
  }
  if (reply.startsWith(">")) reply = unquoteLines(reply);
  return /^["']?(?:thoughts|command)["']?\s{0,50}:/i.test(reply) ? `{${reply}` : reply;
}

function trimBlank(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text[start] as string)) start++;
  while (end > start && BLANK.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

function unquoteLines(reply: string): string {
  const lines = reply.split("\n");
  return lines.every((line) => line === "" || line.startsWith(">"))
    ? lines
        .map((line) => line.replace(/^> ?/, ""))
        .join("\n")
        .trim()
    : reply;
}

const MAX_OBJECTS = 50;

export interface ReplyPiece {
  readonly kind: "text" | "object";
  readonly start: number;
  /** First index after the piece. */
  readonly end: number;
  /** An object's brackets balance by strict reading of its strings. */
  readonly closed: boolean;
}
export interface ReplySplit {
  readonly pieces: readonly ReplyPiece[];
  readonly fault: "too-deep" | "too-many" | null;
}

/** The reply from `from` on, as plain text and objects in turn. */
export function splitReply(text: string, from = 0): ReplySplit {
  const pieces: ReplyPiece[] = [];
  let textStart = from;
  for (let at = from; at < text.length; at++) {
    if (!opensObject(text, at)) continue;
    pieces.push({ kind: "text", start: textStart, end: at, closed: true });
    const { end, closed, tooDeep } = findObjectEnd(text, at);
    if (tooDeep) return { pieces, fault: "too-deep" };
    pieces.push({ kind: "object", start: at, end, closed });
    if (pieces.length > MAX_OBJECTS * 2) return { pieces, fault: "too-many" };
    textStart = end;
    at = end - 1;
  }
  pieces.push({ kind: "text", start: textStart, end: text.length, closed: true });
  return { pieces, fault: null };
}

/** A brace, or a bracket that holds objects: other lists cannot be a reply. */
function opensObject(text: string, at: number): boolean {
  if (text[at] === "{") return true;
  if (text[at] !== "[") return false;
  let next = at + 1;
  while (next - at < 40 && " \n\r\t".includes(text[next] ?? "x")) next++;
  return text[next] === "{";
}

interface ObjectEnd {
  readonly end: number;
  readonly closed: boolean;
  readonly tooDeep: boolean;
}

function findObjectEnd(text: string, start: number): ObjectEnd {
  let depth = 0;
  let last = "";
  for (let at = start; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '"' || (char === "'" && "{[,:(".includes(last))) {
      at = findQuotedEnd(text, at);
      last = char;
      continue;
    }
    const skipped = findCommentEnd(text, at);
    if (skipped > at) {
      at = skipped - 1;
      continue;
    }
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth > MAX_DEPTH) return { end: text.length, closed: false, tooDeep: true };
    if (depth === 0) return { end: at + 1, closed: true, tooDeep: false };
    if (char > " ") last = char;
  }
  return { end: text.length, closed: false, tooDeep: false };
}

/** Index of the quote that ends the string, or the text's length: a single one ends it only where JSON may go on behind it. */
function findQuotedEnd(text: string, start: number): number {
  if (text[start] === '"') return findStringEnd(text, start);
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'" && /^\s{0,24}(?:[,:}\])]|$)/.test(text.slice(at + 1, at + 26))) return at;
  }
  return text.length;
}

const NAME =
  "(?:think(?:ing)?|thoughts?|(?:thought|thinking)_process|chain_of_thought|cot|reasoning|reflection|scratch_?pad|analysis|(?:inner_|internal_)?monologue)";
/** As tags with a family's prefix (`<seed:think>`, `<antThinking>`), between bars, in square brackets and as channels. */
const OPEN = [
  `<(?:[a-z]{1,9}:|ant)?${NAME}(?:\\s[^<>]{0,200})?>`,
  `<[|｜](?:(?:begin|start)[_▁](?:of[_▁])?)?${NAME}[|｜]>`,
  "\\[think\\]|◁think▷|\\|startthink\\||<\\|channel\\|?>\\s?(?:analysis|thought)|<(?:unused|ctrl)94>",
  // A harmony reply from a server that dropped its special tokens.
  "^analysis(?=[a-z])",
].join("|");
const CLOSE = [
  `</(?:[a-z]{1,9}:|ant)?${NAME}\\s{0,9}>`,
  `<[|｜](?:/|end[_▁](?:of[_▁])?)${NAME}[|｜]>`,
  "\\[/think\\]|◁/think▷|\\|endthink\\||<\\|channel\\|>\\s?(?:final|commentary)|<channel\\|>|<(?:unused|ctrl)95>|assistantfinal",
].join("|");
const MARK = new RegExp(`(?<open>${OPEN})|(?:${CLOSE})`, "gi");
const OPENING = new RegExp(OPEN, "i");

/** True when a reasoning block opens in the text, which begins with the reply or somewhere in it. */
export const opensReasoning = (text: string): boolean => OPENING.test(text);

export interface AnswerObjects {
  /** Objects outside the model's reasoning, in order. */
  readonly objects: readonly ReplyPiece[];
  /** A reasoning block was opened and never closed: what follows is no answer. */
  readonly unclosed: boolean;
}

/** Drops the objects inside reasoning blocks; a closing mark without its opening ends what began with the reply. */
export function dropReasoning(text: string, pieces: readonly ReplyPiece[]): AnswerObjects {
  let open = 0;
  let objects: ReplyPiece[] = [];
  for (const piece of pieces) {
    if (piece.kind === "object") {
      if (open === 0) objects.push(piece);
      continue;
    }
    for (const mark of text.slice(piece.start, piece.end).matchAll(MARK)) {
      if (mark.groups?.open !== undefined) open++;
      else if (open > 0) open--;
      else objects = [];
    }
  }
  return { objects, unclosed: open > 0 };
}

/** First index after a reasoning block that comes before every bracket: its own braces and quotes need not balance. */
export function findLeadingReasoningEnd(text: string): number {
  let open = 0;
  for (const mark of text.matchAll(MARK)) {
    if (open === 0 && /[{[]/.test(text.slice(0, mark.index))) return 0;
    open += mark.groups?.open === undefined ? -1 : 1;
    if (open <= 0) return mark.index + mark[0].length;
  }
  return 0;
}
