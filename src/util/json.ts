/** json.ts -- reads JSON of unknown content. */

export type JsonRecord = Record<string, unknown>;

/** Returns undefined, which no JSON text means, for text that is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Neither null nor a list. */
export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);
