/** status-failure.ts -- explains a response with an error status as a code and a sentence. */

import { parseRetryAfter } from "#util/web-headers.ts";
import { type AskedServer, createFailure, forModel, type ModelFailure } from "./asked.ts";
import { collectErrorWords, findErrorSentence, parseWaitMs } from "./error-words.ts";
import type { StatusError } from "./model-server.ts";

interface StatusRule {
  readonly code: string;
  readonly when: (status: number, words: string) => boolean;
  /** True if a retry may help. */
  readonly again: boolean;
  readonly advice: string;
}

// Phrases of OpenAI, Azure, Anthropic, Google, Mistral, xAI, DeepSeek, Moonshot, Zhipu, DashScope, Groq, GitHub, LiteLLM,
// OpenRouter, vLLM, SGLang, TGI, llama.cpp, Ollama and LM Studio. Applied to error messages only, never to an echoed request.
const NO_QUOTA =
  /insufficient[_ ](quota|balance|credits?|funds)|exceeded[_ ](your[_ ])?current[_ ]quota|billing[_ ]hard|credit balance is too low|used all (available )?credits|spending limit|budget[_ ](has been )?exceeded|arrearage|余额不足|欠费/i;
const TOO_LONG =
  /context[_ -]?(length|window|size|limit)|(maximum|max) (context|prompt|model length)|exceed(s|ed)? (the )?(max(imum)? (length|number of (input )?tokens)|model token limit)|too many (input )?tokens|input token count|\bn_ctx\b|(prompt|input) (is )?too (long|large)|string too long|reduce the length|range of input length|`inputs` (tokens|must have less)/i;
/** The request exceeds the limit of a minute, so waiting does not help. */
const TOO_LARGE = /request too large|reduce your message size/i;
const REFUSED =
  /content_filter|content management policy|content_policy|data_inspection_failed|content exists risk|(prompt|input|content|request|message)s? (was|were|is|has been) flagged/i;
const NO_MODEL =
  /model_not_found|model_decommissioned|invalid[_ ]model\b(?! (param|option|setting|argument))|not a valid model|model not exist/i;
const BAD_KEY = /api[_ ]key[_ ](not valid|invalid)|invalid[_ ]api[_ ]key/i;

const STATUS_RULES: readonly StatusRule[] = [
  {
    code: "quota-exhausted",
    // Limits per minute use the same words, but name a time to wait.
    when: (status, words) =>
      status === 402 || ([400, 403, 429].includes(status) && NO_QUOTA.test(words) && parseWaitMs(words) === null),
    again: false,
    advice: "The account behind the key has no money or quota left: top it up, or use another key.",
  },
  {
    code: "unauthorized",
    when: (status, words) => status === 401 || (status === 400 && BAD_KEY.test(words)),
    again: false,
    advice: "It refused the key: check OPENAI_API_KEY, and that this key belongs to this server.",
  },
  {
    code: "model-not-found",
    when: (status, words) => status === 404 || (status === 400 && NO_MODEL.test(words)),
    again: false,
    advice: "It does not know this model or this address.",
  },
  {
    code: "context-overflow",
    when: (status, words) =>
      status === 413 ||
      ([400, 422, 500].includes(status) && TOO_LONG.test(words)) ||
      (status === 429 && TOO_LARGE.test(words)),
    again: false,
    advice: "The prompt is longer than the model takes.",
  },
  {
    code: "refused",
    when: (status, words) => [400, 403].includes(status) && REFUSED.test(words),
    again: false,
    advice: "Its content filter took offence.",
  },
  { code: "forbidden", when: (status) => status === 403, again: false, advice: "This key may not do this here." },
  { code: "timeout", when: (status) => status === 408, again: true, advice: "It gave up waiting." },
  { code: "conflict", when: (status) => status === 409 || status === 425, again: true, advice: "" },
  { code: "rate-limited", when: (status) => status === 429, again: true, advice: "It wants fewer requests." },
  {
    code: "not-implemented",
    when: (status) => status === 501,
    again: false,
    advice: "It cannot do this: is it an OpenAI-compatible server?",
  },
  // Without an answer of the model: an error in a reply may have been charged, and is a server-error.
  { code: "unavailable", when: (status) => [502, 503, 529].includes(status), again: true, advice: "" },
  { code: "server-error", when: (status) => status >= 500, again: true, advice: "" },
  {
    code: "bad-request",
    when: () => true,
    again: false,
    advice: "It does not take this request, and would not take it a second time.",
  },
];

export function explainStatus(
  { status, headers, body, isInReply }: Pick<StatusError, "status" | "headers" | "body" | "isInReply">,
  asked: AskedServer,
): ModelFailure {
  const serverWords = collectErrorWords(body);
  const rule = STATUS_RULES.find(({ when }) => when(status, serverWords));
  if (!rule) throw new Error("The last rule matches every status.");
  const words = rule.code === "unauthorized" ? "" : asked.quote(findErrorSentence(body));
  const message = [
    `The model server at ${asked.server} answered ${status}${forModel(asked)}.`,
    rule.advice,
    words && `It said: “${words}”.`,
  ];
  const retry = rule.again ? { afterMs: parseRetryAfter(headers) ?? parseWaitMs(serverWords) } : null;
  const code = rule.code === "unavailable" && isInReply ? "server-error" : rule.code;
  const failure = createFailure(code, message.filter(Boolean).join(" "), retry);
  const limitTokens = rule.code === "context-overflow" ? parseTokenLimit(`${serverWords}\n${body}`) : undefined;
  return limitTokens === undefined ? failure : { ...failure, limitTokens };
}

/** Returns the token limit that a known error sentence names. */
function parseTokenLimit(body: string): number | undefined {
  const text = body.slice(0, 4_000).replace(/(?<=\d)[,_](?=\d{3})/g, "");
  for (const pattern of TOKEN_LIMIT_PHRASES) {
    const tokens = Number(pattern.exec(text)?.[1] ?? 0);
    if (tokens > 0) return tokens;
  }
  return undefined;
}

const TOKEN_LIMIT_PHRASES: readonly RegExp[] = [
  /(\d{3,8}) maximum context/i,
  /maximum (?:context|prompt|model) length (?:is|of) (\d{3,8})/i,
  /n_ctx\W{1,6}(\d{3,8})/i,
  /> (\d{3,8})(?: maximum|, decrease)/i,
  /context (?:length|window|size)(?:(?!exceeds?)[^\d\n]){0,30}?(\d{3,8})/i,
  /tokens allowed \(?(\d{3,8})/i,
  /(?:limit|maximum|max size|less than|supports up to|must be <=)(?: is| of|:)? (\d{3,8})/i,
];
