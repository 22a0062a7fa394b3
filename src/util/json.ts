/** json.ts -- JSON from outside: parses it without exceptions and tests the shape of its values. */

export type JsonRecord = Record<string, unknown>;

/** Accepts a JSON object; rejects arrays and null. */
export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A small JSON document that survives restarts. Neither function rejects: an unreadable file reads as undefined. */
export interface JsonFile {
  read(): Promise<unknown>;
  write(content: unknown): Promise<void>;
}
