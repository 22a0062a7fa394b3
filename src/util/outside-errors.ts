/**
 * outside-errors.ts -- quotes text of servers in our messages: short, printable, and without the API key. Servers
 * repeat keys, whole or masked, in their errors, and our messages end up in logs and events. Text is cleaned before the
 * search for keys and cut after it, so that neither hidden characters nor a cut can disguise a key.
 */
import { toError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "./outside-text.ts";
import { createRedactor } from "./redact.ts";

/** Returns one printable line of at most `limit` characters. */
export type Quote = (text: unknown, limit?: number) => string;

const QUOTE_CHARS = 200;
/** The rest of a body is ignored. */
const READ_CHARS = 20_000;
/** A part of the key this long is redacted; shorter parts are ordinary words. */
const KEY_PART_CHARS = 8;
const REMOVED = "[redacted]";

const ZERO_WIDTH = /\p{Default_Ignorable_Code_Point}/gu;
/** Keys with their middle left out: `sk-ab…yz`, `abcd****wxyz`. */
const MASKED = /\bsk-[\w.…*-]{4,}|[\w-]{0,64}\*{3,64}[\w-]{0,64}/g;

export function quoteWithout(apiKey: string): Quote {
  const redact = createRedactor([apiKey.trim()]);
  const redactPieces = (text: string) =>
    text.replace(/[\w-]+/g, (word) => (word.length >= KEY_PART_CHARS && apiKey.includes(word) ? REMOVED : word));
  return (text, limit = QUOTE_CHARS) =>
    oneLine(redactPieces(redact(printable(asText(text))).replace(MASKED, REMOVED)), limit);
}

const printable = (text: string): string => clean(text).replace(ZERO_WIDTH, "").toWellFormed();

function asText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, READ_CHARS);
}

export type ChainError = Error & { readonly code?: unknown; readonly hint?: string };

/**
 * Returns an error and its causes, outermost first, at most eight: network errors have the useful one two or three
 * levels deep. Of an AggregateError (one error per address tried) only the first is followed.
 */
export function listCauses(thrown: unknown): readonly ChainError[] {
  const chain: ChainError[] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < 8; ) {
    const error: ChainError = toError(next);
    chain.push(error);
    next = error.cause ?? (error as { errors?: readonly unknown[] }).errors?.[0];
  }
  return chain;
}
