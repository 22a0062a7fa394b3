/** status-failure.ts -- an answer with an error status, in a code and in words. */

import { retryAfterMs } from "#util/retry-after.ts";
import { type Asked, type Failure, failed, forModel } from "./asked.ts";
import type { StatusError } from "./openai-client.ts";

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

export function explainStatus(
  { status, headers, body }: Pick<StatusError, "status" | "headers" | "body">,
  asked: Asked,
): Failure {
  const rule = STATUS_RULES.find(({ when }) => when(status, body));
  if (!rule) throw new Error("The last rule matches every status.");
  const words = rule.code === "unauthorized" ? "" : asked.quote(saidIn(body));
  const message = [
    `The model server at ${asked.server} answered ${status}${forModel(asked)}.`,
    rule.advice,
    words && `It said: “${words}”.`,
  ];
  const retry = rule.again ? { afterMs: retryAfterMs(headers) } : null;
  const failure = failed(rule.code, message.filter(Boolean).join(" "), retry);
  const limitTokens = rule.code === "context-overflow" ? limitIn(body) : undefined;
  return limitTokens === undefined ? failure : { ...failure, limitTokens };
}

/** How many tokens a server says that it takes, in the sentences that are known. */
function limitIn(body: string): number | undefined {
  const text = body.slice(0, 4_000).replace(/(?<=\d)[,_](?=\d{3})/g, "");
  for (const pattern of LIMITS) {
    const tokens = Number(pattern.exec(text)?.[1] ?? 0);
    if (tokens > 0) return tokens;
  }
  return undefined;
}

const LIMITS: readonly RegExp[] = [
  /maximum context length (?:is|of) (\d{3,8})/i,
  /n_ctx\W{1,6}(\d{3,8})/i,
  /> (\d{3,8}) maximum/i,
  /context (?:length|window|size)\D{0,30}?(\d{3,8})/i,
  /(?:limit|maximum)(?: is| of)? (\d{3,8})/i,
];

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
