/**
 * thoughts.ts -- reads the thoughts of a finished reply, and of a reply that is still arriving. Nothing acts on
 * thoughts, so any shape is accepted: a missing field becomes "", a list becomes lines.
 */
import { wellFormed } from "#core/text.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { opensReasoning } from "./json-objects.ts";

const NAMES = ["text", "reasoning", "plan", "criticism", "speak"] as const;
export type ThoughtName = (typeof NAMES)[number];

/** A field is "" when the model omitted it. */
export type Thoughts = Readonly<Record<ThoughtName, string>>;

export const NO_THOUGHTS: Thoughts = { text: "", reasoning: "", plan: "", criticism: "", speak: "" };

/** Adds the thought that came as an argument of a tool call. */
export const withThought = (thoughts: Thoughts | null, thought: string | undefined): Thoughts | null =>
  thought === undefined ? thoughts : { ...(thoughts ?? NO_THOUGHTS), speak: wellFormed(thought) };

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
  const read: Record<ThoughtName, string> = { ...NO_THOUGHTS };
  for (const name of NAMES) read[name] = renderThought(readField(thoughts, name));
  return read;
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

const BEGIN = /\{\s*"thoughts"\s*:\s*\{/;
/** Covers the opening of a reply including the blanks that models write there. */
const TAIL_CHARS = 200;

type LivePosition = "before" | "key" | "colon" | "value" | "comma" | "over";

type OnThought = (name: ThoughtName, piece: string, isWhole: boolean) => void;

/**
 * Reports thoughts while the reply arrives. It starts where an object opens with the key "thoughts" outside a reasoning
 * block. It stops for good after that object, or at the first character that is not strict JSON.
 *
 * One forward pass over the pieces: the cost does not depend on their number. `onText` receives each new piece of a
 * thought; `isWhole` marks the last one.
 */
export const createLiveThoughts = (onText: OnThought): Pick<LiveThoughts, "push"> => new LiveThoughts(onText);

class LiveThoughts {
  #place: LivePosition = "before";
  #tail = "";
  /** Unreported text of the current string; undefined outside strings. */
  #text: string | undefined;
  #escaped = "";
  #name = "";
  /** Open brackets of a value that is not a string. */
  #depth = 0;
  readonly #onText: OnThought;

  constructor(onText: OnThought) {
    this.#onText = onText;
  }

  readonly push = (piece: string): void => {
    let rest = piece;
    if (this.#place === "before") {
      this.#tail += piece;
      const begin = BEGIN.exec(this.#tail);
      if (!begin) {
        if (opensReasoning(this.#tail)) this.#place = "over";
        this.#tail = this.#tail.slice(-TAIL_CHARS);
        return;
      }
      this.#place = opensReasoning(this.#tail.slice(0, begin.index)) ? "over" : "key";
      rest = this.#tail.slice(begin.index + begin[0].length);
      this.#tail = "";
    }
    for (let at = 0; at < rest.length && this.#place !== "over"; at++) this.#takeCharacter(rest[at] as string);
    if (this.#text !== undefined && this.#place === "value" && this.#depth === 0) this.#emitText(false);
  };

  #takeCharacter(char: string): void {
    if (this.#text !== undefined) this.#takeStringCharacter(char);
    else if (this.#depth > 0) this.#takeNestedCharacter(char);
    else this.#takeSyntaxCharacter(char);
  }

  #takeSyntaxCharacter(char: string): void {
    if (char === " " || char === "\n" || char === "\t" || char === "\r") return;
    if (char === '"' && (this.#place === "key" || this.#place === "value")) this.#text = "";
    else if (this.#place === "colon" && char === ":") this.#place = "value";
    else if (this.#place === "comma" && char === ",") this.#place = "key";
    else if (this.#place === "value" && (char === "{" || char === "[")) this.#depth = 1;
    else this.#place = "over";
  }

  #takeStringCharacter(char: string): void {
    if (this.#escaped !== "") this.#takeEscapeCharacter(char);
    else if (char === "\\") this.#escaped = char;
    else if (char === '"') this.#endString();
    else this.#text += char;
  }

  #takeEscapeCharacter(char: string): void {
    this.#escaped += char;
    if (this.#escaped.startsWith("\\u") && this.#escaped.length < 6) return;
    const meant = parseJson(`"${this.#escaped}"`);
    if (meant === undefined) this.#place = "over";
    else this.#text += String(meant);
    this.#escaped = "";
  }

  #endString(): void {
    if (this.#depth === 0 && this.#place === "key") {
      this.#name = (this.#text ?? "").trim().toLowerCase();
      this.#place = "colon";
    } else if (this.#depth === 0) {
      this.#emitText(true);
      this.#place = "comma";
    }
    this.#text = undefined;
  }

  #takeNestedCharacter(char: string): void {
    if (char === '"') this.#text = "";
    else if (char === "{" || char === "[") this.#depth++;
    else if (char === "}" || char === "]") this.#depth--;
    if (this.#depth === 0) this.#place = "comma";
  }

  /** Reports the text so far; keeps half a surrogate pair until its other half arrives. */
  #emitText(isWhole: boolean): void {
    const known = this.#text ?? "";
    const isHalf = !isWhole && /[\ud800-\udbff]$/.test(known);
    const piece = isHalf ? known.slice(0, -1) : known;
    this.#text = isHalf ? known.slice(-1) : "";
    const name = NAMES.find((each) => each === this.#name);
    if (name && (piece !== "" || isWhole)) this.#onText(name, wellFormed(piece), isWhole);
  }
}
