/**
 * unwrap.ts -- the reply without what was wrapped round the whole of it.
 *
 * Byte order marks, zero-width and NUL characters, white space; JSON encoded as a JSON string,
 * up to three times; a mail-style `>` before every line; an outer brace forgotten at the start.
 */
import { parseJson } from "./json.ts";

const MAX_STRING_LAYERS = 3;
const BLANK = /[\s\u0000\u200b-\u200d\u2060\ufeff]/;

/** What is longer than `maxChars` without its white space is returned as it is. */
export function unwrapReply(text: string, maxChars: number): string {
  let reply = trimBlank(text);
  if (reply.length > maxChars) return reply;
  for (let layer = 0; layer < MAX_STRING_LAYERS && reply.startsWith('"') && reply.endsWith('"'); layer++) {
    const inner = parseJson(reply);
    if (typeof inner !== "string") break;
    reply = trimBlank(inner);
  }
  if (reply.startsWith(">")) reply = unquoteLines(reply);
  return /^["']?(?:thoughts|command)["']?\s{0,50}:/i.test(reply) ? `{${reply}` : reply;
}

function trimBlank(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text[start] as string)) start++;
  while (end > start && BLANK.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

function unquoteLines(reply: string): string {
  const lines = reply.split("\n");
  return lines.every((line) => line === "" || line.startsWith(">"))
    ? lines
        .map((line) => line.replace(/^> ?/, ""))
        .join("\n")
        .trim()
    : reply;
}
