/**
 * thoughts.ts -- reads the thoughts of a finished reply, and of a reply that is still arriving.
 *
 * Nothing acts on thoughts, so any shape is accepted: a missing field becomes "", a list becomes lines.
 */
import { wellFormed } from "#core/text.ts";
import { opensReasoning } from "./find-objects.ts";
import { isRecord } from "./json.ts";

/** A field is "" when the model omitted it. */
export interface Thoughts {
  readonly text: string;
  readonly reasoning: string;
  readonly plan: string;
  readonly criticism: string;
  readonly speak: string;
}
export const NO_THOUGHTS: Thoughts = { text: "", reasoning: "", plan: "", criticism: "", speak: "" };

/** Returns the thoughts in one parsed object of the reply, or null. */
export function findThoughts(value: unknown, layer = 0): Thoughts | null {
  if (Array.isArray(value)) return value.length > 0 ? findThoughts(value[0], layer + 1) : null;
  if (!isRecord(value) || layer > 2) return null;
  const thoughts = readField(value, "thoughts") ?? readField(value, "thought");
  if (thoughts !== undefined) return readThoughts(thoughts);
  const items = Object.values(value);
  return items.length === 1 ? findThoughts(items[0], layer + 1) : null;
}

function readThoughts(thoughts: unknown): Thoughts {
  if (!isRecord(thoughts)) return { ...NO_THOUGHTS, text: renderThought(thoughts) };
  const part = (name: string): string => renderThought(readField(thoughts, name));
  return {
    text: part("text"),
    reasoning: part("reasoning"),
    plan: part("plan"),
    criticism: part("criticism"),
    speak: part("speak"),
  };
}

function readField(record: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = Object.keys(record).find((candidate) => candidate.trim().toLowerCase() === name);
  return key === undefined ? undefined : record[key];
}

function renderThought(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(renderThought).join("\n");
  if (isRecord(value))
    return Object.entries(value)
      .map(([key, item]) => `${key}: ${renderThought(item)}`)
      .join("\n");
  return String(value);
}

export type ThoughtName = keyof Thoughts;

export interface LiveThoughts {
  push(piece: string): void;
}

const NAMES: ReadonlySet<string> = new Set<ThoughtName>(["text", "reasoning", "plan", "criticism", "speak"]);
const BEGIN = /\{\s*"thoughts"\s*:\s*\{/;
/** Covers the opening of a reply including the blanks that models write there. */
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

type LivePosition = "before" | "key" | "colon" | "value" | "comma" | "over";

/**
 * Reports thoughts while the reply arrives. It starts where an object opens with the key "thoughts" outside a reasoning
 * block. It stops for good after that object, or at the first character that is not strict JSON.
 *
 * One forward pass over the pieces: the cost does not depend on their number. `onText` receives each new piece of a
 * thought; `isWhole` marks the last one.
 */
export function createLiveThoughts(onText: (name: ThoughtName, piece: string, isWhole: boolean) => void): LiveThoughts {
  let place: LivePosition = "before";
  let tail = "";
  /** Unreported text of the current string; undefined outside strings. */
  let text: string | undefined;
  let escaped = "";
  let name = "";
  /** Open brackets of a value that is not a string. */
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
    for (let at = 0; at < rest.length && place !== "over"; at++) takeCharacter(rest[at] as string);
    if (text !== undefined && place === "value" && depth === 0) emitText(false);
  }

  function takeCharacter(char: string): void {
    if (text !== undefined) takeStringCharacter(char);
    else if (depth > 0) takeNestedCharacter(char);
    else takeSyntaxCharacter(char);
  }

  function takeSyntaxCharacter(char: string): void {
    if (char === " " || char === "\n" || char === "\t" || char === "\r") return;
    if (char === '"' && (place === "key" || place === "value")) text = "";
    else if (place === "colon" && char === ":") place = "value";
    else if (place === "comma" && char === ",") place = "key";
    else if (place === "value" && (char === "{" || char === "[")) depth = 1;
    else place = "over";
  }

  function takeStringCharacter(char: string): void {
    if (escaped !== "") takeEscapeCharacter(char);
    else if (char === "\\") escaped = char;
    else if (char === '"') endString();
    else text += char;
  }

  function takeEscapeCharacter(char: string): void {
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
      emitText(true);
      text = undefined;
      place = "comma";
    }
  }

  function takeNestedCharacter(char: string): void {
    if (char === '"') text = "";
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth === 0) place = "comma";
  }

  /** Reports the text so far; keeps half a surrogate pair until its other half arrives. */
  function emitText(isWhole: boolean): void {
    const known = text ?? "";
    const isHalf = !isWhole && /[\ud800-\udbff]$/.test(known);
    const piece = isHalf ? known.slice(0, -1) : known;
    text = isHalf ? known.slice(-1) : "";
    if (NAMES.has(name) && (piece !== "" || isWhole)) onText(name as ThoughtName, wellFormed(piece), isWhole);
  }

  return { push };
}
