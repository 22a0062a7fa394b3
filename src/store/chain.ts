/**
 * chain.ts -- canonical JSON, and the hash chain that links each event to all earlier ones.
 *
 * A link is the SHA-256, in hex, of the previous link and the event's canonical text. The link of a commit's last
 * event also covers the digest of the commit's other rows. The first link depends on the agent's id, so two logs cannot
 * be exchanged. The hashed text is the stored text, so a check of the log parses nothing.
 */
import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/** The link before an agent's first event. */
export const chainStart = (agent: string): string => sha256(`goald agent ${agent}`);

/** `text` is one JSON value, so the digest appended to it cannot be read as a part of it. */
export const chainLink = (previous: string, text: string, rowsSha: string | null = null): string =>
  sha256(previous + text + (rowsSha ?? ""));

/** Binds a snapshot to the log: `link` is the link of the last event that it contains. */
export const snapshotSha = (
  link: string,
  { version, data }: { readonly version: number; readonly data: string },
): string => sha256(`${link}${version} ${data}`);

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
    text += `${text === "" ? "" : ","}${quotedKey(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Cache of quoted member names: events use few different ones. */
const quotedKeys = new Map<string, string>();
const MAX_QUOTED_KEYS = 1_024;

function quotedKey(key: string): string {
  const known = quotedKeys.get(key);
  if (known !== undefined) return known;
  const quoted = JSON.stringify(key);
  if (quotedKeys.size < MAX_QUOTED_KEYS && key.length <= 64) quotedKeys.set(key, quoted);
  return quoted;
}
