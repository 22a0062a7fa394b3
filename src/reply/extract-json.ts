/**
 * extract-json.ts -- where in a reply the JSON objects stand.
 *
 * One pass over the reply, aware of strings and comments, splits it into plain text and
 * balanced objects. Fences, prose, chat marks and wrappers are simply plain text: no
 * pattern looks for ``` (arguments contain fences). Every loop moves forward only: time is
 * linear in the reply.
 */

import { endOfString, MAX_DEPTH } from "./json.ts";

const MAX_OBJECTS = 50;

export interface Piece {
  readonly kind: "text" | "object";
  readonly start: number;
  /** First index after the piece. */
  readonly end: number;
  /** An object's brackets balance by strict reading of its strings. */
  readonly closed: boolean;
}
export interface Split {
  readonly pieces: readonly Piece[];
  readonly fault: "too-deep" | "too-many" | null;
}

/** The reply from `from` on, as plain text and objects in turn. */
export function splitReply(text: string, from = 0): Split {
  const pieces: Piece[] = [];
  let textStart = from;
  for (let at = from; at < text.length; at++) {
    if (!opensObject(text, at)) continue;
    pieces.push({ kind: "text", start: textStart, end: at, closed: true });
    const { end, closed, tooDeep } = endOfObject(text, at);
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

function endOfObject(text: string, start: number): ObjectEnd {
  let depth = 0;
  let last = "";
  for (let at = start; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '"' || (char === "'" && "{[,:(".includes(last))) {
      at = endOfQuoted(text, at);
      last = char;
      continue;
    }
    const skipped = endOfComment(text, at);
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
function endOfQuoted(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'" && /^\s{0,24}(?:[,:}\])]|$)/.test(text.slice(at + 1, at + 26))) return at;
  }
  return text.length;
}

/** First index after a comment that begins at `at`; `at` itself when none does. `://` begins no comment. */
export function endOfComment(text: string, at: number): number {
  if (text[at] !== "/") return at;
  const isLine = text[at + 1] === "/" && text[at - 1] !== ":";
  if (!isLine && text[at + 1] !== "*") return at;
  const terminator = isLine ? "\n" : "*/";
  const end = text.indexOf(terminator, at + 2);
  return end === -1 ? text.length : end + terminator.length;
}
