/** body.ts -- encodes and decodes files and errors of a cassette. Encoding redacts secrets. */

import { type ErrorCode, GoaldError, toError } from "#core/errors.ts";
import type { Outcome } from "#loop/journal.ts";
import { sha256 } from "#store/chain.ts";
import { parseJson } from "#util/json.ts";
import type { Redact } from "#util/redact.ts";
import type { Body, ErrorChain, OutcomeLine } from "./format.ts";

/** Prefers JSON, then text, for readability. Bytes that are not UTF-8 become base64, redacted as Latin-1 text. */
export function encodeBody(bytes: Uint8Array, redact: Redact): Body {
  const decoded = decodeText(bytes);
  if (decoded === undefined)
    return { base64: Buffer.from(redact(Buffer.from(bytes).toString("latin1")), "latin1").toString("base64") };
  const text = redact(decoded);
  const json = parsed(text);
  return json !== undefined && JSON.stringify(json) === text ? { json } : { text };
}

export function decodeBody(body: Body): Uint8Array {
  if ("json" in body) return Buffer.from(JSON.stringify(body.json));
  return "text" in body ? Buffer.from(body.text) : Buffer.from(body.base64, "base64");
}

/** Returns undefined for bytes that are not valid UTF-8. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  return /^[[{"]/.test(text) ? parseJson(text) : undefined;
}

const MAX_CAUSES = 8;

export function encodeError(thrown: unknown, redact: Redact): ErrorChain {
  const chain: ErrorChain[number][] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < MAX_CAUSES; ) {
    const error = toError(next) as Error & { code?: unknown; hint?: unknown; errors?: readonly unknown[] };
    const code = typeof error.code === "string" ? { code: error.code } : {};
    const hint = typeof error.hint === "string" && error.hint !== "" ? { hint: redact(error.hint) } : {};
    chain.push({ name: error.name, message: redact(error.message), ...code, ...hint });
    next = error.cause ?? error.errors?.[0];
  }
  return chain;
}

/** Restores an error's name, message, code and causes, so that error handling treats it like the original. */
export function decodeError([first, ...causes]: ErrorChain): Error {
  const cause = causes.length > 0 ? { cause: decodeError(causes) } : {};
  const { name, message, code, hint } = first ?? { name: "Error", message: "unknown" };
  if (name === "GoaldError") return new GoaldError(code as ErrorCode, message, { ...(hint ? { hint } : {}), ...cause });
  const error = new Error(message, cause);
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (code !== undefined) Object.defineProperty(error, "code", { value: code, enumerable: true });
  return error;
}

/** The outcome that a line holds. */
export function outcomeOf({ changes, events, staged }: OutcomeLine): Outcome {
  const files = changes.map(({ content: body, ...change }) => {
    const content = body && decodeBody(body);
    return { ...change, content, sha256: content && sha256(content) };
  });
  return { events: events as Outcome["events"], staged: staged as NonNullable<Outcome["staged"]>, files };
}
