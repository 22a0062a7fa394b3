/**
 * live-thoughts.ts -- the thoughts in a reply that is still arriving, for a person who looks on.
 *
 * One pass over the pieces, aware of strings, that never goes back: a reply costs the same in one piece as in
 * thousands. It begins where an object opens with the key "thoughts", outside a reasoning block, and ends for good with that
 * object, or at the first character that is not strict JSON: what is not certain is not shown. Nothing acts on this.
 */
import { wellFormed } from "#core/text.ts";
import { opensReasoning } from "./reasoning.ts";
import type { Thoughts } from "./thoughts.ts";

export type ThoughtName = keyof Thoughts;

export interface LiveThoughts {
  push(piece: string): void;
}

const NAMES: ReadonlySet<string> = new Set<ThoughtName>(["text", "reasoning", "plan", "criticism", "speak"]);
const BEGIN = /\{\s*"thoughts"\s*:\s*\{/;
/** Enough to hold the beginning of a reply with the white space that models put there. */
const TAIL_CHARS = 200;
const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

type Place = "before" | "key" | "colon" | "value" | "comma" | "over";

/** `onText`: told each piece of a thought as it comes, and with `isWhole` that it has ended. */
export function createLiveThoughts(onText: (name: ThoughtName, piece: string, isWhole: boolean) => void): LiveThoughts {
  let place: Place = "before";
  let tail = "";
  /** Of the string that is being read; undefined outside strings. */
  let text: string | undefined;
  let escaped = "";
  let name = "";
  /** Open brackets of a value that is no string. */
  let depth = 0;

  function push(piece: string): void {
    let rest = piece;
    if (place === "before") {
      tail += piece;
      const begin = BEGIN.exec(tail);
      if (!begin) {
        if (opensReasoning(tail)) place = "over";
        tail = tail.slice(-TAIL_CHARS);
        return;
      }
      place = opensReasoning(tail.slice(0, begin.index)) ? "over" : "key";
      rest = tail.slice(begin.index + begin[0].length);
      tail = "";
    }
    for (let at = 0; at < rest.length && place !== "over"; at++) take(rest[at] as string);
    if (text !== undefined && place === "value" && depth === 0) tell(false);
  }

  function take(char: string): void {
    if (text !== undefined) takeInString(char);
    else if (depth > 0) takeNested(char);
    else takeSign(char);
  }

  function takeSign(char: string): void {
    if (char === " " || char === "\n" || char === "\t" || char === "\r") return;
    if (char === '"' && (place === "key" || place === "value")) text = "";
    else if (place === "colon" && char === ":") place = "value";
    else if (place === "comma" && char === ",") place = "key";
    else if (place === "value" && (char === "{" || char === "[")) depth = 1;
    else place = "over";
  }

  function takeInString(char: string): void {
    if (escaped !== "") takeEscaped(char);
    else if (char === "\\") escaped = char;
    else if (char === '"') endString();
    else text += char;
  }

  function takeEscaped(char: string): void {
    escaped += char;
    if (escaped.length === 2 && char !== "u") {
      const meant = ESCAPED[char];
      if (meant === undefined) place = "over";
      text += meant ?? "";
      escaped = "";
    } else if (escaped.length === 6) {
      if (!/^\\u[0-9a-f]{4}$/i.test(escaped)) place = "over";
      else text += String.fromCharCode(Number.parseInt(escaped.slice(2), 16));
      escaped = "";
    }
  }

  function endString(): void {
    if (depth > 0) text = undefined;
    else if (place === "key") {
      name = (text ?? "").trim().toLowerCase();
      text = undefined;
      place = "colon";
    } else {
      tell(true);
      text = undefined;
      place = "comma";
    }
  }

  function takeNested(char: string): void {
    if (char === '"') text = "";
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth === 0) place = "comma";
  }

  /** Hands on what is there of the thought; half a surrogate pair waits for the other half. */
  function tell(isWhole: boolean): void {
    const known = text ?? "";
    const isHalf = !isWhole && /[\ud800-\udbff]$/.test(known);
    const piece = isHalf ? known.slice(0, -1) : known;
    text = isHalf ? known.slice(-1) : "";
    if (NAMES.has(name) && (piece !== "" || isWhole)) onText(name as ThoughtName, wellFormed(piece), isWhole);
  }

  return { push };
}
