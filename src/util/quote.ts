/**
 * quote.ts -- foreign text in our messages: short, printable, and without the key.
 *
 * Servers echo keys, whole or masked, in what they say about them; a message of ours ends in logs
 * and events. What is quoted is cleaned first and cut last, so that neither a hidden
 * character nor a cut can carry part of a key past the search.
 */
import { oneLine } from "#core/text.ts";
import { clean } from "./clean.ts";
import { createRedactor } from "./redact.ts";

/** Text of a server made fit for a person's eyes: one line of at most `limit` characters. */
export type Quote = (text: unknown, limit?: number) => string;

const QUOTE_CHARS = 200;
/** More of a body is never looked at. */
const READ_CHARS = 20_000;
/** A piece of the key this long gives it away; a shorter one is a word like any other. */
const TELLING_CHARS = 8;
const REMOVED = "[redacted]";

/** What `clean` leaves in, and nobody sees. */
const ZERO_WIDTH = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/g;
/** Keys with their middle left out: `sk-ab…yz`, `abcd****wxyz`. */
const MASKED = /\bsk-[\w.…*-]{4,}|[\w-]{0,64}\*{3,64}[\w-]{0,64}/g;

export function quoteWithout(apiKey: string): Quote {
  const redact = createRedactor([apiKey.trim()]);
  const redactPieces = (text: string) =>
    text.replace(/[\w-]+/g, (word) => (word.length >= TELLING_CHARS && apiKey.includes(word) ? REMOVED : word));
  return (text, limit = QUOTE_CHARS) =>
    oneLine(redactPieces(redact(printable(asText(text))).replace(MASKED, REMOVED)), limit);
}

const printable = (text: string): string => clean(text).replace(ZERO_WIDTH, "").toWellFormed();

function asText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, READ_CHARS);
}
