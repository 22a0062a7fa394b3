/**
 * json.ts -- values as the JSON text that leaves by the socket: without secrets, and harmless on a terminal.
 *
 * JSON escapes the control characters of ASCII by itself; those of Latin-1, and the marks that turn the
 * direction of writing, are escaped here, so that what `curl` shows is what is there. A program
 * that parses the text gets every character as it was.
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
