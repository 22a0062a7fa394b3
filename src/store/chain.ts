/**
 * chain.ts -- canonical JSON, and the hash chain that ties each event to all before it.
 *
 * A link is SHA-256 over the previous link and the event's canonical text, in hex; the first
 * hangs on the agent's id, so that logs cannot be exchanged either. The text that is hashed is
 * the text that is stored: checking a log parses nothing and trusts nothing.
 */
import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/** What the first event of an agent is chained to. */
export const chainStart = (agent: string): string => sha256(`goald agent ${agent}`);

export const chainLink = (previous: string, text: string): string => sha256(previous + text);

/**
 * JSON with keys sorted by code unit and no white space: one value, one text, on every back
 * end. Reads values as JSON.stringify does: undefined members go, what is not finite is null.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if ("toJSON" in value && typeof value.toJSON === "function") return canonicalJson(value.toJSON());
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const record = value as Readonly<Record<string, unknown>>;
  let text = "";
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}
