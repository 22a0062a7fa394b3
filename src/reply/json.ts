/**
 * json.ts -- parses strict JSON without exceptions or deep nesting, and finds keys that occur twice.
 *
 * `JSON.parse` silently keeps the last of two equal keys, while a person who reads the log sees the first.
 * An object with conflicting keys is therefore not run. Thoughts are exempt, since nothing acts on them.
 */
import { MAX_JSON_DEPTH } from "#core/command.ts";
import { parseJson } from "#util/json.ts";

const QUOTE = 34;
const BACKSLASH = 92;

/** Returns undefined for text that is not JSON or nests deeper than `MAX_JSON_DEPTH`. */
export const parseShallowJson = (text: string): unknown => (isTooDeep(text) ? undefined : parseJson(text));

/** Counts brackets outside strings. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at);
    else if (code === 123 || code === 91) {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}

/** Returns the index of the closing quote of the string that begins at `start`, else the text's length. Linear time. */
export function findStringEnd(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end === -1) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // Escaped quotes come in large numbers: a scan is faster than one `indexOf` per quote.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

export const isSameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the first index after a comment that begins at `at`, else `at`. `://` does not begin a comment. */
export function findCommentEnd(text: string, at: number): number {
  if (text[at] !== "/") return at;
  const isLine = text[at + 1] === "/" && text[at - 1] !== ":";
  if (!isLine && text[at + 1] !== "*") return at;
  const terminator = isLine ? "\n" : "*/";
  const end = text.indexOf(terminator, at + 2);
  return end === -1 ? text.length : end + terminator.length;
}

const COLON = 58;

interface JsonLevel {
  /** Raw value text by key; null for a list or an exempt object. */
  readonly values: Map<string, string> | null;
  readonly isExempt: boolean;
  key: string | null;
  valueStart: number;
}

/** Returns the first key with two different values, or null. `value` is the parsed `json`. */
export function findConflictingKey(json: string, value: unknown): string | null {
  return countMembersInText(json) === countMembersInValue(value) ? null : findFirstConflict(json);
}

/** If the text and the parsed value have equally many members, no key occurs twice: a fast path for nearly all replies. */
function countMembersInText(json: string): number {
  let members = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(json, at);
    else if (code === COLON) members++;
  }
  return members;
}

function countMembersInValue(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value);
  return members.reduce(
    (sum: number, member) => sum + countMembersInValue(member),
    Array.isArray(value) ? 0 : members.length,
  );
}

function findFirstConflict(json: string): string | null {
  const levels: JsonLevel[] = [];
  for (let at = 0; at < json.length; at++) {
    const char = json[at] as string;
    const level = levels.at(-1);
    if (char === '"') {
      const end = findStringEnd(json, at);
      if (level?.values && level.key === null) level.key = JSON.parse(json.slice(at, end + 1));
      at = end;
    } else if (char === ":" && level) level.valueStart = at + 1;
    else if (char === "{" || char === "[") levels.push(openLevel(char, level));
    else if (char === "," || char === "}" || char === "]") {
      if (level && isConflictAt(level, json, at)) return level.key;
      if (level) level.key = null;
      if (char !== ",") levels.pop();
    }
  }
  return null;
}

function openLevel(char: string, parent: JsonLevel | undefined): JsonLevel {
  const isExempt = parent !== undefined && (parent.isExempt || /^thoughts?$/i.test(parent.key ?? ""));
  return { values: char === "{" && !isExempt ? new Map() : null, isExempt, key: null, valueStart: 0 };
}

function isConflictAt(level: JsonLevel, json: string, end: number): boolean {
  if (!level.values || level.key === null) return false;
  const value = json.slice(level.valueStart, end).trim();
  const earlier = level.values.get(level.key);
  level.values.set(level.key, value);
  if (earlier === undefined || earlier === value || /^thoughts?$/i.test(level.key)) return false;
  return JSON.stringify(JSON.parse(earlier)) !== JSON.stringify(JSON.parse(value));
}
