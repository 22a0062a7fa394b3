/** thrown-failure.ts -- explains a missing or incomplete answer as a code and a sentence. */
import type { ChainError } from "#util/outside-errors.ts";
import { type AskedServer, createFailure, forModel, type ModelFailure } from "./asked.ts";

interface ThrownRule {
  readonly code: string;
  /** Matched against the name, code and message of the error and its causes. */
  readonly when: RegExp;
  readonly again: boolean;
  readonly advice: string;
}

const THROWN_RULES: readonly ThrownRule[] = [
  {
    code: "unauthorized",
    when: /^UnusableKeyError/m,
    again: false,
    advice: "The key cannot be sent as it is: check OPENAI_API_KEY for quotes, spaces and line breaks.",
  },
  { code: "http-refused", when: /GOALD_HTTP_REFUSED/, again: false, advice: "Check OPENAI_BASE_URL." },
  { code: "reply-too-large", when: /GOALD_HTTP_TOO_LARGE/, again: false, advice: "A reply should be far shorter." },
  {
    code: "timeout",
    when: /TimeoutError|_TIMEOUT\b|ETIMEDOUT/,
    again: true,
    advice: "Is it overloaded, or the model too large for the machine?",
  },
  {
    code: "no-connection",
    when: /ERR_SSL|ERR_TLS|EPROTO/,
    again: false,
    advice: "It does not speak https there: should the base URL begin with http://?",
  },
  {
    code: "no-connection",
    when: /CERT|SELF_SIGNED|UNABLE_TO_/,
    again: false,
    advice: "Its certificate is not trusted on this machine.",
  },
  {
    code: "no-connection",
    when: /bad port/,
    again: false,
    advice: "This port is reserved for something else and refused: check OPENAI_BASE_URL.",
  },
  {
    code: "incomplete-reply",
    when: /\bterminated\b|Z_BUF_ERROR|Z_DATA_ERROR/,
    again: true,
    advice: "The reply was cut off.",
  },
  { code: "broken-reply", when: /^SyntaxError/m, again: true, advice: "The reply is not JSON." },
  // The server may have processed the request, and charged for it: not the same as no connection.
  {
    code: "connection-lost",
    when: /ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/,
    again: true,
    advice: "The connection broke before the reply was there. Is it still running?",
  },
  {
    code: "unknown-host",
    when: /ENOTFOUND/,
    again: true,
    advice: "There is no server of that name: check OPENAI_BASE_URL, and the machine's own connection.",
  },
  {
    code: "no-connection",
    when: /ECONN|EAI_|ENETUNREACH|EHOSTUNREACH|UND_ERR_|fetch failed/,
    again: true,
    advice: "Is it running, and is OPENAI_BASE_URL right?",
  },
  { code: "model-error", when: /(?:)/, again: true, advice: "" },
];

export function explainThrown(chain: readonly ChainError[], asked: AskedServer): ModelFailure {
  const facts = chain.map(({ name, code, message }) => `${name} ${code ?? ""} ${message}`).join("\n");
  const rule = THROWN_RULES.find(({ when }) => when.test(facts));
  if (!rule) throw new Error("The last rule matches every error.");
  const innermost = chain.at(-1);
  const reason = asked.quote(`${innermost?.message || innermost?.name} ${innermost?.hint ?? ""}`.trim(), 400);
  const message = `No usable answer from the model server at ${asked.server}${forModel(asked)}. ${rule.advice} (${reason})`;
  return createFailure(rule.code, message.replace("  ", " "), rule.again ? { afterMs: null } : null);
}
