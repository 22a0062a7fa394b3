/** canonical-json.ts -- one text for each JSON value. */

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
