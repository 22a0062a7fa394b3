import { afterEach, describe, expect, it } from "@jest/globals";
import { answerTo, closeServers } from "../helpers/ask-model.ts";

afterEach(closeServers);

type Row = readonly [server: string, status: number, body: object, expected: unknown];
/** OpenAI's shape. */
const said = (message: string, more: object = {}) => ({ error: { message, type: "x", param: null, ...more } });
/** Google's compatible server puts it into a list. */
const google = (message: string, more: object = {}) => [{ error: { code: 400, message, status: "X", ...more } }];
const PER_MINUTE =
  "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: requests, limit: 10";

describe("messages of servers about a prompt that is too long", () => {
  it.each<Row>([
    ["OpenAI", 400, said("Your input exceeds the context window of this model."), undefined],
    [
      "OpenAI, of one message",
      400,
      said("Invalid 'messages[1].content': string too long. Expected maximum length 1048576."),
      undefined,
    ],
    [
      "OpenAI, of a minute's tokens",
      429,
      said("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000."),
      30_000,
    ],
    ["Groq, of a minute's tokens", 413, said("Request too large: Limit 6000, Requested 9000"), 6_000],
    ["Anthropic", 400, said("prompt is too long: 215000 tokens > 200000 maximum"), 200_000],
    [
      "Anthropic, with the reply",
      400,
      said("input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000, decrease input length"),
      200_000,
    ],
    [
      "Gemini",
      400,
      google("The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
      1_048_576,
    ],
    ["Vertex", 400, google("the input token count is 40000 but model only supports up to 32768."), 32_768],
    [
      "vLLM",
      400,
      { object: "error", message: "The decoder prompt (length 9000) is longer than the maximum model length of 4096." },
      4_096,
    ],
    [
      "SGLang",
      400,
      { message: "The input (9000 tokens) is longer than the model's context length (4096 tokens)." },
      4_096,
    ],
    ["TGI", 422, { error: "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000" }, 4_096],
    ["TGI, of the prompt", 422, { error: "`inputs` must have less than 4095 tokens. Given: 5000" }, 4_095],
    ["llama.cpp", 400, { error: { message: "exceeds the available context size", n_ctx: 2048 } }, 2_048],
    ["Ollama", 400, { error: "prompt too long; exceeded max context length by 23 tokens" }, undefined],
    ["LM Studio", 400, { error: "model is loaded with context length of only 4096 tokens" }, 4_096],
    [
      "Mistral",
      400,
      { message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", code: "3051" },
      32_768,
    ],
    ["xAI", 400, { error: "This model's maximum prompt length is 131072 but the request contains 150000." }, 131_072],
    ["Moonshot", 400, said("Your request exceeded model token limit: 8192"), 8_192],
    ["Zhipu", 400, said("Prompt exceeds max length", { code: "1261" }), undefined],
    ["DashScope", 400, said("Range of input length should be [1, 30720]"), undefined],
    ["GitHub", 413, said("Request body too large for gpt-4o model. Max size: 8000 tokens."), 8_000],
    [
      "OpenRouter, of the server behind it",
      400,
      said("Provider returned error", { metadata: { raw: '{"error":"prompt is too long"}' } }),
      undefined,
    ],
  ])("%s (%i)", async (_server, status, body, limitTokens) => {
    const failure = await answerTo({ status, body });
    expect(failure).toMatchObject({ code: "context-overflow", retry: null });
    expect((failure as { limitTokens?: number }).limitTokens).toBe(limitTokens);
  });
});

describe("messages of servers that need a person", () => {
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
  ])("%s (%i %j)", async (_server, status, body, code) => {
    expect(await answerTo({ status, body })).toMatchObject({ code, retry: null });
  });
});

describe("messages of servers about refused content", () => {
  it.each<Row>([
    ["Azure", 400, said("filtered", { code: "content_filter" }), ""],
    ["OpenAI", 400, said("your prompt was flagged as potentially violating our usage policy"), ""],
    ["DashScope", 400, said("x", { code: "data_inspection_failed" }), ""],
    ["DeepSeek", 400, said("Content Exists Risk"), ""],
    ["OpenRouter", 403, said("Your chosen model requires moderation and your input was flagged"), ""],
  ])("%s (%i)", async (_server, status, body) => {
    expect(await answerTo({ status, body })).toMatchObject({ code: "refused", retry: null });
  });
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
