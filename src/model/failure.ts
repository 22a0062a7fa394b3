/**
 * failure.ts -- what went wrong between goald and a model's server, in a code and in words.
 *
 * Everything ends in one shape: a code for programs, a message for a person that names the
 * server and the model and says what to do, and whether another try may help. The rules are
 * tables, the first match counts. No key stands in a message: the server's own words pass
 * `quote`, and what it says of a refused key is not repeated at all.
 */
import { toError } from "#core/errors.ts";
import type { ModelAnswer } from "#core/ports.ts";
import type { StatusError } from "./openai-client.ts";
import type { Quote } from "./quote.ts";
import { retryAfterMs } from "./retry-after.ts";

export type Failure = Extract<ModelAnswer, { kind: "failed" }>;

/** Whom goald asked, and how to quote what came back. */
export interface Asked {
  /** Base URL, fit to be shown. */
  readonly server: string;
  readonly model: string;
  readonly quote: Quote;
}

/** Any error on the way to an answer. */
export function explainFailure(thrown: unknown, asked: Asked): Failure {
  const refused = statusErrorIn(thrown);
  return refused ? explainStatus(refused, asked) : explainThrown(causes(thrown), asked);
}

/** The answer with an error status, if that is what went wrong. */
export const statusErrorIn = (thrown: unknown): StatusError | undefined =>
  causes(thrown).find((error): error is StatusError => error.name === "StatusError");

export const failed = (code: string, message: string, retry: Failure["retry"]): Failure => ({
  kind: "failed",
  code,
  message,
  retry,
});

// ---------------------------------------------------------------- an answer with an error status

interface StatusRule {
  readonly code: string;
  readonly when: (status: number, body: string) => boolean;
  /** Whether another try may help. */
  readonly again: boolean;
  readonly advice: string;
}

const NO_QUOTA = /insufficient[_ ](quota|balance|credits?|funds)|exceeded your current quota|billing[_ ]hard/i;
const TOO_LONG =
  /context[_ -]?(length|window|size)|maximum (context|prompt)|too many (input )?tokens|\bn_ctx\b|(prompt|input) (is )?too (long|large)|reduce the length/i;

const STATUS_RULES: readonly StatusRule[] = [
  {
    code: "quota-exhausted",
    when: (status, body) => status === 402 || ([403, 429].includes(status) && NO_QUOTA.test(body)),
    again: false,
    advice: "The account behind the key has no money or quota left: top it up, or use another key.",
  },
  {
    code: "unauthorized",
    when: (status) => status === 401,
    again: false,
    advice: "It refused the key: check OPENAI_API_KEY, and that this key belongs to this server.",
  },
  {
    code: "model-not-found",
    when: (status, body) => status === 404 || (status === 400 && body.includes("model_not_found")),
    again: false,
    advice: "It does not know this model or this address.",
  },
  {
    code: "context-overflow",
    when: (status, body) => status === 413 || ([400, 422, 500].includes(status) && TOO_LONG.test(body)),
    again: false,
    advice: "The prompt is longer than the model takes.",
  },
  {
    code: "refused",
    when: (status, body) => status === 400 && /content_filter|content management policy|content_policy/i.test(body),
    again: false,
    advice: "Its content filter took offence.",
  },
  { code: "forbidden", when: (status) => status === 403, again: false, advice: "This key may not do this here." },
  { code: "timeout", when: (status) => status === 408, again: true, advice: "It gave up waiting." },
  { code: "conflict", when: (status) => status === 409, again: true, advice: "" },
  { code: "rate-limited", when: (status) => status === 429, again: true, advice: "It wants fewer requests." },
  {
    code: "not-implemented",
    when: (status) => status === 501,
    again: false,
    advice: "It cannot do this: is it an OpenAI-compatible server?",
  },
  { code: "server-error", when: (status) => status >= 500, again: true, advice: "" },
  {
    code: "bad-request",
    when: () => true,
    again: false,
    advice: "It does not take this request, and would not take it a second time.",
  },
];

function explainStatus(
  { status, headers, body }: Pick<StatusError, "status" | "headers" | "body">,
  asked: Asked,
): Failure {
  const rule = STATUS_RULES.find(({ when }) => when(status, body));
  if (!rule) throw new Error("The last rule matches every status.");
  const words = rule.code === "unauthorized" ? "" : asked.quote(saidIn(body));
  const message = [
    `The model server at ${asked.server} answered ${status} for model ${asked.model}.`,
    rule.advice,
    words && `It said: “${words}”.`,
  ];
  const retry = rule.again ? { afterMs: retryAfterMs(headers) } : null;
  return failed(rule.code, message.filter(Boolean).join(" "), retry);
}

/** The sentence in an error body, in the shapes that servers use; else the body as it is. */
function saidIn(body: string): unknown {
  try {
    const parsed = JSON.parse(body) as ErrorBody | null;
    const { error, detail, message } = parsed ?? {};
    return (typeof error === "string" ? error : error?.message) ?? detail ?? message ?? parsed;
  } catch {
    return body;
  }
}
interface ErrorBody {
  readonly error?: string | { readonly message?: unknown };
  readonly detail?: unknown;
  readonly message?: unknown;
}

// ---------------------------------------------------------------- no answer

interface ThrownRule {
  readonly code: string;
  /** Looked for in the name, code and message of the error and its causes. */
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
  // The request may have arrived, and been worked on: not the same as no connection when it is about money.
  {
    code: "connection-lost",
    when: /ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/,
    again: true,
    advice: "The connection broke before the reply was there. Is it still running?",
  },
  {
    code: "no-connection",
    when: /ECONN|ENOTFOUND|EAI_|ENETUNREACH|EHOSTUNREACH|UND_ERR_|fetch failed/,
    again: true,
    advice: "Is it running, and is OPENAI_BASE_URL right?",
  },
  { code: "model-error", when: /(?:)/, again: true, advice: "" },
];

function explainThrown(chain: readonly ChainError[], asked: Asked): Failure {
  const facts = chain.map(({ name, code, message }) => `${name} ${code ?? ""} ${message}`).join("\n");
  const rule = THROWN_RULES.find(({ when }) => when.test(facts));
  if (!rule) throw new Error("The last rule matches every error.");
  const innermost = chain.at(-1);
  const reason = asked.quote(`${innermost?.message || innermost?.name} ${innermost?.hint ?? ""}`.trim(), 400);
  const message = `No usable answer from the model server at ${asked.server} for model ${asked.model}. ${rule.advice} (${reason})`;
  return failed(rule.code, message.replace("  ", " "), rule.again ? { afterMs: null } : null);
}

type ChainError = Error & { readonly code?: unknown; readonly hint?: string };

/** The error and what caused it, outermost first; of several at once (one per address tried), the first. */
function causes(thrown: unknown): readonly ChainError[] {
  const chain: ChainError[] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < 8; ) {
    const error: ChainError = toError(next);
    chain.push(error);
    next = error.cause ?? (error as { errors?: readonly unknown[] }).errors?.[0];
  }
  return chain;
}
