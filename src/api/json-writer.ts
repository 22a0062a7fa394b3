/**
 * json-writer.ts -- writes the JSON text of replies: redacted, and safe to print on a terminal.
 *
 * JSON itself escapes only the ASCII control characters. This also escapes those of Latin-1 and bidirectional marks; a
 * JSON parser restores every character.
 */
export type ToJson = (value: unknown) => string;

export function createJsonWriter(redact: (text: string) => string): ToJson {
  return (value) => {
    const text = redact(JSON.stringify(value));
    return ACTS.test(text) ? text.replace(ACTS_ALL, escapeCharacter) : text;
  };
}

const ACTS = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const ACTS_ALL = new RegExp(ACTS.source, "g");
const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
