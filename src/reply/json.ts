/**
 * json.ts -- JSON text to values with its dangers taken out: no exception, no nesting that breaks recursion later on.
 *
 * For those that pass over JSON by themselves it says where a string ends.
 */

/** Deeper nesting is no reply of ours, and recursion further on would not survive it. */
export const MAX_DEPTH = 64;

export const QUOTE = 34;
const BACKSLASH = 92;

/** JSON.parse, or undefined (which JSON cannot say) for what is no JSON or nests too deep. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True when brackets nest deeper than `MAX_DEPTH`, strings left out. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 123 || code === 91) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}

/** Index of the quote that ends the JSON string which begins at `start`; the text's length when none does. Linear. */
export function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end === -1) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // Escaped quotes come in crowds: one by one is faster than a search for each.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
