/**
 * failure.ts -- explains an error between goald and a model server as a code and a sentence. Each failure has a code
 * for programs, a message for a person that names server, model and remedy, and whether a retry may help. The first
 * rule that matches counts. No message contains a key: server text passes `quote`, and text about a rejected key is
 * left out.
 */
import type { ModelAnswer } from "#core/ports/model.ts";
import { asRecord, parseJson } from "#util/json.ts";
import { type ChainError, listCauses, type Quote } from "#util/outside-errors.ts";
import { parseRetryAfter } from "#util/retry-after.ts";
import type { StatusError } from "./model-server.ts";

export function explainFailure(thrown: unknown, asked: AskedServer): ModelFailure {
  const statusError = findStatusError(thrown);
  return statusError ? explainStatus(statusError, asked) : explainThrown(listCauses(thrown), asked);
}

export const findStatusError = (thrown: unknown): StatusError | undefined =>
  listCauses(thrown).find((error): error is StatusError => error.name === "StatusError");

interface StatusRule {
  readonly code: string;
  readonly when: (status: number, words: string) => boolean;
  /** A retry may help. */
  readonly again?: true;
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

/** Groq and servers like it check a reply themselves, and send this status and code in place of one that fails. */
const FAILED_GENERATION = /\b(?:tool_use_failed|json_validate_failed|failed_generation)\b/;

const STATUS_RULES: readonly StatusRule[] = [
  {
    code: "broken-reply",
    when: (_status, words) => FAILED_GENERATION.test(words),
    again: true,
    advice: "It could not read what the model wrote.",
  },
  {
    code: "quota-exhausted",
    // Limits per minute use the same words, but name a time to wait.
    when: (status, words) =>
      status === 402 || ([400, 403, 429].includes(status) && NO_QUOTA.test(words) && parseWaitMs(words) === null),
    advice: "The account behind the key has no money or quota left: top it up, or use another key.",
  },
  {
    code: "unauthorized",
    when: (status, words) => status === 401 || (status === 400 && BAD_KEY.test(words)),
    advice: "It refused the key: check OPENAI_API_KEY, and that this key belongs to this server.",
  },
  {
    code: "model-not-found",
    when: (status, words) => status === 404 || (status === 400 && NO_MODEL.test(words)),
    advice: "It does not know this model or this address.",
  },
  {
    code: "context-overflow",
    when: (status, words) =>
      (status === 413 && !/batch size/i.test(words)) ||
      ([400, 422, 500].includes(status) && TOO_LONG.test(words)) ||
      (status === 429 && TOO_LARGE.test(words)),
    advice: "What was sent is longer than the model takes.",
  },
  {
    code: "refused",
    when: (status, words) => [400, 403].includes(status) && REFUSED.test(words),
    advice: "Its content filter took offence.",
  },
  { code: "forbidden", when: (status) => status === 403, advice: "This key may not do this here." },
  { code: "timeout", when: (status) => status === 408, again: true, advice: "It gave up waiting." },
  { code: "conflict", when: (status) => status === 409 || status === 425, again: true, advice: "" },
  { code: "rate-limited", when: (status) => status === 429, again: true, advice: "It wants fewer requests." },
  {
    code: "not-implemented",
    when: (status) => status === 501,
    advice: "It cannot do this: is it an OpenAI-compatible server?",
  },
  // Without an answer of the model: an error in a reply may have been charged, and is a server-error.
  { code: "unavailable", when: (status) => [502, 503, 529].includes(status), again: true, advice: "" },
  { code: "server-error", when: (status) => status >= 500, again: true, advice: "" },
  {
    code: "bad-request",
    when: () => true,
    advice: "It does not take this request, and would not take it a second time.",
  },
];

function explainStatus({ status, headers, body, isInReply }: StatusError, asked: AskedServer): ModelFailure {
  const serverWords = collectErrorWords(body);
  // The last rule matches every status.
  const rule = STATUS_RULES.find(({ when }) => when(status, serverWords)) as StatusRule;
  const words = rule.code === "unauthorized" ? "" : asked.quote(findErrorSentence(body)).replace(/\.$/, "");
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
  return TOKEN_LIMIT_PHRASES.map((phrase) => Number(phrase.exec(text)?.[1] ?? 0)).find((tokens) => tokens > 0);
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

interface ThrownRule extends Omit<StatusRule, "when"> {
  /** Matched against the name, code and message of the error and its causes. */
  readonly when: RegExp;
}

const THROWN_RULES: readonly ThrownRule[] = [
  {
    code: "unauthorized",
    when: /^UnusableKeyError/m,
    advice: "The key cannot be sent as it is: check OPENAI_API_KEY for quotes, spaces and line breaks.",
  },
  { code: "broken-vectors", when: /^VectorProblem/m, advice: "It answered, and its vectors cannot be used:" },
  { code: "http-refused", when: /GOALD_HTTP_REFUSED/, advice: "Check OPENAI_BASE_URL." },
  { code: "reply-too-large", when: /GOALD_HTTP_TOO_LARGE/, advice: "A reply should be far shorter." },
  {
    code: "timeout",
    when: /TimeoutError|_TIMEOUT\b|ETIMEDOUT/,
    again: true,
    advice: "Is it overloaded, or the model too large for the machine?",
  },
  {
    code: "no-connection",
    when: /ERR_SSL|ERR_TLS|EPROTO/,
    advice: "It does not speak https there: should the base URL begin with http://?",
  },
  {
    code: "no-connection",
    when: /CERT|SELF_SIGNED|UNABLE_TO_/,
    advice: "Its certificate is not trusted on this machine.",
  },
  {
    code: "no-connection",
    when: /bad port/,
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

function explainThrown(chain: readonly ChainError[], asked: AskedServer): ModelFailure {
  const facts = chain.map(({ name, code, message }) => `${name} ${code ?? ""} ${message}`).join("\n");
  // The last rule matches every error.
  const rule = THROWN_RULES.find(({ when }) => when.test(facts)) as ThrownRule;
  const innermost = chain.at(-1);
  const reason = asked.quote(`${innermost?.message || innermost?.name} ${innermost?.hint ?? ""}`.trim(), 400);
  const message = `No usable answer from the model server at ${asked.server}${forModel(asked)}. ${rule.advice} (${reason})`;
  return createFailure(rule.code, message.replace("  ", " "), rule.again ? { afterMs: null } : null);
}

export type ModelFailure = Extract<ModelAnswer, { kind: "failed" }>;

/** The server that goald sent a request to, and how to quote its answer. */
export interface AskedServer {
  /** Base URL without secrets, for messages. */
  readonly server: string;
  /** Absent for a request that names no model. */
  readonly model?: string;
  readonly quote: Quote;
}

export type AskedModel = Required<AskedServer>;

/** Returns the words that follow the server in a sentence. */
const forModel = ({ model }: AskedServer): string => (model === undefined ? "" : ` for model ${model}`);

export const createFailure = (code: string, message: string, retry: ModelFailure["retry"]): ModelFailure => ({
  kind: "failed",
  code,
  message,
  retry,
});

const MAX_PARSED = 200_000;
const MAX_WORDS = 4_000;

/**
 * Extracts a server's error message from the shapes in which servers send it: OpenAI's `error.message`, FastAPI's
 * `detail`, also inside Mistral's `message`, a plain `error` or `message`, Google's list of one, and a router's copy of the message behind it. Never
 * reads the request that some servers echo. Returns all messages and the fields they name. "" for JSON in another
 * shape. Other text is returned as it is. Pure.
 */
export function collectErrorWords(body: string): string {
  const parsed = parseErrorBody(body);
  if (parsed === undefined) return body.slice(0, MAX_WORDS);
  const top = asRecord(parsed);
  const error = asRecord(top.error);
  const { detail: inner } = asRecord(top.message);
  const details = [top.detail, inner, top.errors, error.detail, error.details].flat().flatMap((each) => {
    const { loc, msg, message, reason, retryDelay } = asRecord(each);
    return [each, msg, message, reason, retryDelay && `retry in ${retryDelay}`, ...(Array.isArray(loc) ? loc : [])];
  });
  const { raw } = asRecord(error.metadata);
  return [top.error, error.message, error.param, error.code, error.type, raw, top.message, top.code, ...details, parsed]
    .filter((each) => typeof each === "string")
    .join("\n")
    .slice(0, MAX_WORDS);
}

/** Returns the message for a person, or the body if there is none. */
function findErrorSentence(body: string): unknown {
  const parsed = parseErrorBody(body);
  if (parsed === undefined) return body.replace(/<[/!a-z][^<>]*>/gi, " ");
  const { error, detail, message } = asRecord(parsed);
  const { message: said, metadata } = asRecord(error);
  const { raw } = asRecord(metadata);
  if (typeof said === "string" && typeof raw === "string") return `${said}: ${raw}`;
  return (typeof error === "string" ? error : said) ?? detail ?? message ?? parsed;
}

/** Parses the body, and unwraps the list of Google's compatible server. Undefined if it is not JSON. */
function parseErrorBody(body: string): unknown {
  const parsed = parseJson(body.slice(0, MAX_PARSED));
  return Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
}

const TIME_SPAN = "(\\d+(?:\\.\\d+)?) ?(ms|milliseconds?|h|hours?|m|min(?:ute)?s?|s|sec(?:ond)?s?)(?![a-z])";
const WAIT_PHRASE = new RegExp(`\\b(?:retry|try again) (?:in|after) ((?:${TIME_SPAN},? ?){1,4})`, "i");

/** Returns the wait in milliseconds that a text names, such as "Please try again in 1m6.5s". Null if it names none. */
function parseWaitMs(words: string): number | null {
  const spans = [...(WAIT_PHRASE.exec(words)?.[1] ?? "").matchAll(new RegExp(TIME_SPAN, "gi"))];
  if (spans.length === 0) return null;
  return Math.ceil(spans.reduce((sum, [, count, unit = ""]) => sum + Number(count) * parseUnitMs(unit), 0));
}

function parseUnitMs(unit: string): number {
  if (/^mil|^ms/i.test(unit)) return 1;
  return /^h/i.test(unit) ? 3_600_000 : /^m/i.test(unit) ? 60_000 : 1_000;
}
