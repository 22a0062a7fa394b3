import { afterEach, describe, expect, it } from "@jest/globals";
import type { ModelServer } from "#model/model-server.ts";
import {
  type Answer,
  answerTo,
  ask,
  closeServers,
  KEY,
  openServers,
  start,
  startOpenAIServer,
} from "../helpers/openai-server.ts";

afterEach(closeServers);

const later = { afterMs: null };

describe("an error status", () => {
  const changed = { afterMs: 0, isChanged: true };
  const error = (message: string, code?: string) => ({ error: { message, type: "x", param: null, code } });
  it.each<[number, object | string, string, object | null, RegExp]>([
    [400, error("Unrecognized request argument: temprature"), "unsupported", changed, /temprature/],
    [422, { detail: [{ loc: ["body", "messages"], msg: "field required" }] }, "unsupported", changed, /field required/],
    [400, { error: "model is required" }, "unsupported", changed, /model is required/],
    [400, { message: "plain message" }, "unsupported", changed, /plain message/],
    [400, error("The response was filtered", "content_filter"), "refused", null, /filtered/],
    [405, "", "bad-request", null, /405/],
    [400, error("too many", "context_length_exceeded"), "context-overflow", null, /longer than the model takes/],
    [
      400,
      error("Failed to call a function.", "tool_use_failed"),
      "broken-reply",
      later,
      /could not read what the model/,
    ],
    [400, error("This model's maximum context length is 8192 tokens."), "context-overflow", null, /8192/],
    [413, "Payload too large", "context-overflow", null, /too large/],
    [401, error(`Incorrect API key provided: ${KEY}`), "unauthorized", null, /OPENAI_API_KEY/],
    [403, error("Country not supported"), "forbidden", null, /Country not supported/],
    [402, error("Insufficient credits"), "quota-exhausted", null, /top it up/],
    [429, error("You exceeded your current quota", "insufficient_quota"), "quota-exhausted", null, /top it up/],
    [429, error("Rate limit reached"), "rate-limited", later, /Rate limit reached/],
    [408, "", "timeout", later, /408/],
    [409, error("lock"), "conflict", later, /lock/],
    [500, error("The server had an error"), "server-error", later, /had an error/],
    [501, "", "not-implemented", null, /OpenAI-compatible/],
    [502, "<html><h1>Bad gateway</h1></html>", "unavailable", later, /It said: “Bad gateway”/],
    [503, error("Loading model"), "unavailable", later, /Loading model/],
    [529, error("overloaded"), "unavailable", later, /overloaded/],
  ])("%i with %j is classified", async (status, body, code, retry, message) => {
    const expected = { kind: "failed", code, retry, message: expect.stringMatching(message) };
    expect(await answerTo({ status, body })).toMatchObject(expected);
    expect(openServers()[0]?.requests).toHaveLength(1);
  });

  it("404 names the models that the server has, ten at most", async () => {
    const models = Array.from({ length: 13 }, (_, index) => `model-${index + 1}\u001b[31m`);
    const server = await start({ reply: [{ status: 404, body: error("no such model", "model_not_found") }], models });
    const message = expect.stringMatching(/SMART_LLM.*model-1, .*model-10 and 3 more\.$/s);
    expect(await ask(server.baseUrl)).toMatchObject({ code: "model-not-found", retry: null, message });
  });

  it("404 from a server without models names that, and from a wrong address questions the address", async () => {
    const { baseUrl, port } = await start({ reply: [{ status: 404 }], models: [] });
    expect(await ask(baseUrl)).toMatchObject({ message: expect.stringContaining("(none yet)") });
    const failure = await ask(`http://127.0.0.1:${port}`);
    expect(failure).toMatchObject({ code: "model-not-found", message: expect.stringContaining("end in /v1?") });
  });
});

describe("no answer", () => {
  it.each<[string, Answer]>([
    ["before the headers", { fault: "stall" }],
    ["in the middle of the body", { fault: "stall-body" }],
  ])("%s is a timeout", async (_title, answer) => {
    const server = await start({ reply: [answer] });
    const message = expect.stringMatching(/(for|after) 120 ms/);
    expect(await ask(server.baseUrl, { timeoutMs: 120 })).toMatchObject({ code: "timeout", retry: later, message });
  });

  it("because nobody listens is no-connection", async () => {
    const server = await startOpenAIServer();
    await server.close();
    const message = expect.stringMatching(/ECONNREFUSED/);
    expect(await ask(server.baseUrl)).toMatchObject({ code: "no-connection", retry: later, message });
  });

  it("because the server has no https is not retried", async () => {
    const { baseUrl } = await start({});
    const message = expect.stringMatching(/begin with http:/);
    const failure = await ask(baseUrl.replace("http:", "https:"));
    expect(failure).toMatchObject({ code: "no-connection", retry: null, message });
  });

  it.each<[string, string, string, boolean]>([
    ["ENOTFOUND", "getaddrinfo ENOTFOUND api.example", "unknown-host", true],
    ["EAI_AGAIN", "getaddrinfo EAI_AGAIN api.example", "no-connection", true],
    ["ECONNRESET", "read ECONNRESET", "connection-lost", true],
    ["UND_ERR_CONNECT_TIMEOUT", "Connect Timeout Error", "timeout", true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", "no-connection", false],
    ["CERT_HAS_EXPIRED", "certificate has expired", "no-connection", false],
    ["E_NEVER_SEEN", "something new", "no-connection", true],
  ])("because of %s is classified", async (code, words, expected, again) => {
    const cause = Object.assign(new Error(words), { code });
    const http: ModelServer["http"] = { to: () => () => Promise.reject(new TypeError("fetch failed", { cause })) };
    const retry = again ? later : null;
    const message = expect.stringContaining(words);
    expect(await ask("https://api.example/v1", { http })).toMatchObject({ code: expected, retry, message });
  });
});

type Row = readonly [server: string, status: number, body: object, expected: unknown];
/** OpenAI's shape. */
const said = (message: string, more: object = {}) => ({ error: { message, type: "x", param: null, ...more } });
/** Google's compatible server puts it into a list. */
const google = (message: string, more: object = {}) => [{ error: { code: 400, message, status: "X", ...more } }];
const says = (message: string, code?: string) => ({ object: "error", message, ...(code ? { code } : {}) });
const LONG_CONTENT = "Invalid 'messages[1].content': string too long. Expected maximum length 1048576.";
const LARGE_REQUEST = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.";
const LONG_WITH_REPLY =
  "input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000, decrease input length";
const MANY_TOKENS = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).";
const LONG_PROMPT = "Prompt contains 40000 tokens, too large for model with 32768 maximum context length";
const BEHIND = '{"error":"prompt is too long"}';
const PER_MINUTE =
  "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: requests, limit: 10";

it.each<Row>([
  ["OpenAI", 400, said("Your input exceeds the context window of this model."), undefined],
  ["OpenAI, of one message", 400, said(LONG_CONTENT), undefined],
  ["OpenAI, of a minute's tokens", 429, said(LARGE_REQUEST), 30_000],
  ["Groq, of a minute's tokens", 413, said("Request too large: Limit 6000, Requested 9000"), 6_000],
  ["Anthropic", 400, said("prompt is too long: 215000 tokens > 200000 maximum"), 200_000],
  ["Anthropic, with the reply", 400, said(LONG_WITH_REPLY), 200_000],
  ["Gemini", 400, google(MANY_TOKENS), 1_048_576],
  ["Vertex", 400, google("the input token count is 40000 but model only supports up to 32768."), 32_768],
  ["vLLM", 400, says("The decoder prompt (length 9000) is longer than the maximum model length of 4096."), 4_096],
  ["SGLang", 400, says("The input (9000 tokens) is longer than the model's context length (4096 tokens)."), 4_096],
  ["TGI", 422, { error: "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000" }, 4_096],
  ["TGI, of the prompt", 422, { error: "`inputs` must have less than 4095 tokens. Given: 5000" }, 4_095],
  ["llama.cpp", 400, { error: { message: "exceeds the available context size", n_ctx: 2048 } }, 2_048],
  ["Ollama", 400, { error: "prompt too long; exceeded max context length by 23 tokens" }, undefined],
  ["LM Studio", 400, { error: "model is loaded with context length of only 4096 tokens" }, 4_096],
  ["Mistral", 400, says(LONG_PROMPT, "3051"), 32_768],
  ["xAI", 400, { error: "This model's maximum prompt length is 131072 but the request contains 150000." }, 131_072],
  ["Moonshot", 400, said("Your request exceeded model token limit: 8192"), 8_192],
  ["Zhipu", 400, said("Prompt exceeds max length", { code: "1261" }), undefined],
  ["DashScope", 400, said("Range of input length should be [1, 30720]"), undefined],
  ["GitHub", 413, said("Request body too large for gpt-4o model. Max size: 8000 tokens."), 8_000],
  ["OpenRouter, behind it", 400, said("Provider returned error", { metadata: { raw: BEHIND } }), undefined],
])("%s says that the prompt is too long (%i)", async (_server, status, body, limitTokens) => {
  const failure = await answerTo({ status, body });
  expect(failure).toMatchObject({ code: "context-overflow", retry: null });
  expect((failure as { limitTokens?: number }).limitTokens).toBe(limitTokens);
});

it.each<Row>([
  ["OpenAI", 400, said("Billing hard limit has been reached"), "quota-exhausted"],
  ["Anthropic", 400, said("Your credit balance is too low to access the API."), "quota-exhausted"],
  ["xAI", 403, { error: "Your team has used all available credits." }, "quota-exhausted"],
  ["Moonshot", 429, said("suspended", { type: "exceeded_current_quota_error" }), "quota-exhausted"],
  ["Zhipu", 429, said("余额不足或无可用资源包,请充值。"), "quota-exhausted"],
  ["DashScope", 400, said("Access denied", { code: "Arrearage" }), "quota-exhausted"],
  ["LiteLLM", 400, said("Budget has been exceeded! Current cost: 1.1"), "quota-exhausted"],
  ["Google, of the key", 400, google("API key not valid. Please pass a valid API key."), "unauthorized"],
  ["a server, of the account", 403, said("This account was flagged: it broke our usage policies."), "forbidden"],
  ["Groq", 400, said("decommissioned", { code: "model_decommissioned" }), "model-not-found"],
  ["OpenRouter", 400, said("foo/bar is not a valid model ID"), "model-not-found"],
  ["Mistral", 400, { message: "Invalid model: foo", type: "invalid_model" }, "model-not-found"],
  ["OpenAI", 400, said("your prompt was flagged as potentially violating our usage policy"), "refused"],
  ["DashScope", 400, said("x", { code: "data_inspection_failed" }), "refused"],
  ["DeepSeek", 400, said("Content Exists Risk"), "refused"],
  ["OpenRouter", 403, said("Your chosen model requires moderation and your input was flagged"), "refused"],
])("%s says that it needs a person, or refuses the content (%i %j)", async (_server, status, body, code) => {
  expect(await answerTo({ status, body })).toMatchObject({ code, retry: null });
});

describe("messages of servers that name the time of a retry", () => {
  it.each<Row>([
    ["Gemini", 429, google(`${PER_MINUTE}\nPlease retry in 38.194s.`), 38_194],
    ["Google, in details", 429, google(PER_MINUTE, { details: [{ retryDelay: "12s" }] }), 12_000],
    ["OpenAI", 429, said("Limit 30000, Used 25000. Please try again in 1m6.5s."), 66_500],
    ["OpenAI, soon", 429, said("Please try again in 250ms."), 250],
    ["Azure", 429, said("Please retry after 6 seconds."), 6_000],
    ["nobody", 429, said("Please try again in a while."), null],
  ])("%s (%i)", async (_server, status, body, afterMs) => {
    expect(await answerTo({ status, body })).toMatchObject({ code: "rate-limited", retry: { afterMs } });
  });

  it("a header counts before the message", async () => {
    const body = said("Please try again in 8s.");
    const failure = await answerTo({ status: 429, headers: { "retry-after": "3" }, body });
    expect(failure).toMatchObject({ code: "rate-limited", retry: { afterMs: 3_000 } });
  });
});

it("an echoed request does not count as the server's message", async () => {
  const echo = "insufficient balance, prompt is too long, API key not valid";
  const body = { detail: [{ loc: ["body"], msg: "no", input: { messages: [{ content: echo }] } }] };
  expect(await answerTo({ status: 422, body })).toMatchObject({ code: "unsupported" });
});

it.each([
  ["in one document", "document"],
  ["as a stream", {}],
] as const)(
  "reasoning that is not counted is not named, and none makes an ended reply without a text, %s",
  async (_way, streamed) => {
    const usage = { prompt_tokens: 7, completion_tokens: 4_000 };
    const answer = await answerTo({ text: null, finishReason: "length", usage, streamed });
    expect(answer).toMatchObject({ kind: "replied", text: "", finishReason: "length" });
    expect(answer).not.toHaveProperty("reasoningTokens");
    const reasoned = { ...usage, completion_tokens_details: { reasoning_tokens: 3_990 } };
    expect(await answerTo({ text: null, usage: reasoned, streamed })).toMatchObject({ code: "incomplete-reply" });
  },
);
