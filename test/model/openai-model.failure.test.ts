import { afterEach, describe, expect, it } from "@jest/globals";
import type { ConfiguredHttp } from "#model/model-server.ts";
import { answerTo, ask, closeServers, KEY, openServers, start } from "../helpers/ask-model.ts";
import { type Answer, startOpenAIServer } from "../helpers/openai-server.ts";

afterEach(closeServers);

describe("an error status", () => {
  const later = { afterMs: null };
  const changed = { afterMs: 0, isChanged: true };
  const error = (message: string, code?: string) => ({ error: { message, type: "x", param: null, code } });
  it.each<[number, object | string, string, object | null, RegExp]>([
    [400, error("Unrecognized request argument: temprature"), "unsupported", changed, /temprature/],
    [422, { detail: [{ loc: ["body", "messages"], msg: "field required" }] }, "unsupported", changed, /field required/],
    [400, { error: "model is required" }, "unsupported", changed, /model is required/],
    [400, { message: "plain message" }, "unsupported", changed, /plain message/],
    [400, error("The response was filtered", "content_filter"), "refused", null, /filtered/],
    [405, "", "bad-request", null, /405/],
    [400, error("too many", "context_length_exceeded"), "context-overflow", null, /longer than the model/],
    [400, error("This model's maximum context length is 8192 tokens."), "context-overflow", null, /8192/],
    [
      400,
      error("the request exceeds the available context size. try increasing it"),
      "context-overflow",
      null,
      /context/,
    ],
    [400, error("prompt is too long: 210000 tokens > 200000 maximum"), "context-overflow", null, /210000/],
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
    [502, "<html><h1>Bad gateway</h1></html>", "unavailable", later, /Bad gateway/],
    [503, error("Loading model"), "unavailable", later, /Loading model/],
    [529, error("overloaded"), "unavailable", later, /overloaded/],
  ])("%i with %j is classified", async (status, body, code, retry, message) => {
    expect(await answerTo({ status, body })).toMatchObject({
      kind: "failed",
      code,
      retry,
      message: expect.stringMatching(message),
    });
    expect(openServers()[0]?.requests).toHaveLength(1);
  });

  it.each<[Record<string, string>, number | null]>([
    [{ "retry-after": "120" }, 120_000],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:49:07 GMT" }, 30_000],
    [{ "retry-after": "soon" }, null],
  ])("429 with %j has the time of the retry", async (headers, afterMs) => {
    const failure = await answerTo({ status: 429, headers, body: error("slow") });
    expect(failure).toMatchObject({ code: "rate-limited", retry: { afterMs } });
  });

  it("404 names the models that the server has, ten at most", async () => {
    const models = Array.from({ length: 13 }, (_, index) => `model-${index + 1}\u001b[31m`);
    const server = await start({ reply: [{ status: 404, body: error("no such model", "model_not_found") }], models });
    const failure = await ask(server.baseUrl);
    expect(failure).toMatchObject({ code: "model-not-found", retry: null });
    expect(failure).toMatchObject({ message: expect.stringContaining("SMART_LLM") });
    expect(failure).toMatchObject({ message: expect.stringMatching(/model-1, .*model-10 and 3 more\.$/) });
  });

  it("404 from a server without models names that", async () => {
    const server = await start({ reply: [{ status: 404 }], models: [] });
    expect(await ask(server.baseUrl)).toMatchObject({ message: expect.stringContaining("(none yet)") });
  });

  it("404 from a wrong address questions the address", async () => {
    const { port } = await start({});
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
    expect(await ask(server.baseUrl, { timeoutMs: 120 })).toMatchObject({
      code: "timeout",
      retry: { afterMs: null },
      message: expect.stringMatching(/(for|after) 120 ms/),
    });
  });

  it("because nobody listens is no-connection", async () => {
    const server = await startOpenAIServer();
    await server.close();
    expect(await ask(server.baseUrl)).toMatchObject({
      code: "no-connection",
      retry: { afterMs: null },
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });

  it("because the server has no https is not retried", async () => {
    const { baseUrl } = await start({});
    expect(await ask(baseUrl.replace("http:", "https:"))).toMatchObject({
      code: "no-connection",
      retry: null,
      message: expect.stringMatching(/begin with http:/),
    });
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
    const http: ConfiguredHttp = { to: () => () => Promise.reject(new TypeError("fetch failed", { cause })) };
    expect(await ask("https://api.example/v1", { http })).toMatchObject({
      code: expected,
      retry: again ? { afterMs: null } : null,
      message: expect.stringContaining(words),
    });
  });
});
