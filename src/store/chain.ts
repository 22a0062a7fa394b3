/**
 * chain.ts -- canonical JSON, and the hash chain that ties each event to all before it.
 *
 * A link is SHA-256 over the previous link and the event's canonical text, in hex; that of a commit's last
 * event also covers the digest of the rows that came with it. The first hangs on the agent's id, so that logs
 * cannot be exchanged either. The text that is hashed is the text that is stored: checking a log parses
 * nothing and trusts nothing.
 */
import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/** What the first event of an agent is chained to. */
export const chainStart = (agent: string): string => sha256(`goald agent ${agent}`);

/** `text` is a JSON object and so ends where it ends: the digest behind it cannot be taken for a part of it. */
export const chainLink = (previous: string, text: string, rowsSha: string | null = null): string =>
  sha256(previous + text + (rowsSha ?? ""));

/**
 * JSON with keys sorted by code unit and no white space: one value, one text, on every back
 * end. Reads values as JSON.stringify does: undefined members go, what is not finite is null.
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
    text += `${text === "" ? "" : ","}${quotedKey(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Member names that were met, as they stand in JSON: they are few, and come again in every event. */
const quotedKeys = new Map<string, string>();
const MAX_QUOTED_KEYS = 1_024;

function quotedKey(key: string): string {
  const known = quotedKeys.get(key);
  if (known !== undefined) return known;
  const quoted = JSON.stringify(key);
  if (quotedKeys.size < MAX_QUOTED_KEYS && key.length <= 64) quotedKeys.set(key, quoted);
  return quoted;
}
