/**
 * duplicates.ts -- keys given twice with different values in one JSON object.
 *
 * JSON.parse keeps the last one silently, a person reading the log sees the first: what
 * says two things is not run. Thoughts are exempt, since nothing acts on them. Expects
 * text that JSON.parse accepts; one pass, and each value is compared as a value.
 */
import { endOfString, QUOTE } from "./json.ts";

const COLON = 58;

interface Level {
  /** Raw value text by key; null for a list. */
  readonly values: Map<string, string> | null;
  readonly isExempt: boolean;
  key: string | null;
  valueStart: number;
}

/** The first such key, or null. `value` is what JSON.parse made of the text. */
export function conflictingKey(json: string, value: unknown): string | null {
  return membersIn(json) === membersOf(value) ? null : firstConflict(json);
}

/** In a text whose objects all came out with as many members, no key stands twice: nearly every reply. */
function membersIn(json: string): number {
  let members = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COLON) members++;
  }
  return members;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value);
  return members.reduce((sum: number, member) => sum + membersOf(member), Array.isArray(value) ? 0 : members.length);
}

function firstConflict(json: string): string | null {
  const levels: Level[] = [];
  for (let at = 0; at < json.length; at++) {
    const char = json[at] as string;
    const level = levels.at(-1);
    if (char === '"') {
      const end = endOfString(json, at);
      if (level?.values && level.key === null) level.key = JSON.parse(json.slice(at, end + 1));
      at = end;
    } else if (char === ":" && level) level.valueStart = at + 1;
    else if (char === "{" || char === "[") levels.push(newLevel(char, level));
    else if (char === "," || char === "}" || char === "]") {
      if (level && isConflict(level, json, at)) return level.key;
      if (level) level.key = null;
      if (char !== ",") levels.pop();
    }
  }
  return null;
}

function newLevel(char: string, parent: Level | undefined): Level {
  const isExempt = parent !== undefined && (parent.isExempt || /^thoughts?$/i.test(parent.key ?? ""));
  return { values: char === "{" && !isExempt ? new Map() : null, isExempt, key: null, valueStart: 0 };
}

function isConflict(level: Level, json: string, end: number): boolean {
  if (!level.values || level.key === null) return false;
  const value = json.slice(level.valueStart, end).trim();
  const earlier = level.values.get(level.key);
  level.values.set(level.key, value);
  if (earlier === undefined || earlier === value || /^thoughts?$/i.test(level.key)) return false;
  return JSON.stringify(JSON.parse(earlier)) !== JSON.stringify(JSON.parse(value));
}
