/** check-text.ts -- checks texts of people that an agent's prompts will show. */

const MAX_TEXT_CHARS = 2_000;

/** Returns a sentence; undefined for a valid text. `what`: its name at the beginning of the sentence. */
export function checkText(what: string, text: string): string | undefined {
  const length = countCharacters(text);
  if (length > MAX_TEXT_CHARS)
    return `${what} must have up to ${MAX_TEXT_CHARS.toLocaleString("en-US")} characters, got ${length.toLocaleString("en-US")}.`;
  if (/[\p{Cs}\p{Cc}]/u.test(text.replace(/\r?\n|\t/g, " ")) || DIRECTION_MARKS.test(text))
    return `${what} must be text without control characters.`;
  return undefined;
}

/** Marks that change the direction of text, so that it reads differently from its bytes. */
export const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/;

/** Counts a character outside the basic plane as one, as a person does. */
export const countCharacters = (text: string): number => [...text.trim()].length;
