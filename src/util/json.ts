/** json.ts -- JSON from outside: parses it without exceptions and tests the shape of its values. */

import { orUndefined } from "#core/errors.ts";
import { cacheByKey } from "./caches.ts";

export type JsonRecord = Record<string, unknown>;

/** Accepts a JSON object; rejects arrays and null. */
export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns an empty record for any other value. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/** Freezes a JSON value with everything in it, and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

/** Returns undefined for text that is not JSON. */
export const parseJson = (text: string): unknown => orUndefined(() => JSON.parse(text));

/** A small JSON document that survives restarts. Neither function rejects: an unreadable file reads as undefined. */
export interface JsonFile {
  read(): Promise<unknown>;
  write(content: unknown): Promise<void>;
}

/** A string with the colon after it, if any, or a bracket. Strings have no other place before a colon in valid JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*(:))?|[{}[\]]/gs;
/** Code that calls itself for each level of a value overflows the stack at some thousands. */
const MAX_LEVELS = 100;

/** Finds too many levels in a valid JSON text, or one name twice in an object: parsers differ in which value they take. */
export function jsonProblem(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, colon] of json.matchAll(TOKENS)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    if (open.length > MAX_LEVELS) return `has more than ${MAX_LEVELS} levels`;
    if (colon === undefined) continue;
    const name = String(parseJson(token.slice(0, token.lastIndexOf('"') + 1)));
    if (open.at(-1)?.has(name)) return "has an object with the same name twice";
    open.at(-1)?.add(name);
  }
  return undefined;
}

/**
 * Returns JSON with keys sorted by code unit and no white space, so that one value has one text in every store.
 * Values count as in JSON.stringify: undefined members are left out, numbers that are not finite become null.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if ("toJSON" in value && typeof value.toJSON === "function") return canonicalJson(value.toJSON());
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "" : ","}${canonicalJson(item)}`;
    return `[${text}]`;
  }
  const record = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    text += `${text === "" ? "" : ","}${quoteKey(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Events use few different member names. */
const quoteCached = cacheByKey((key: string) => JSON.stringify(key), 1_024);
const quoteKey = (key: string): string => (key.length > 64 ? JSON.stringify(key) : quoteCached(key));
