/** What is known of models before any request: prices, context windows, kinds of names, and the servers of this machine. */
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { askForWord, findLocalServers, isChatModel, USUAL_PORTS } from "#model/check-server.ts";
import { contextWindowOf, joinPrices, priceOf, readPrices } from "#model/prices.ts";
import table from "../../config/models.json" with { type: "json" };
import { useOpened } from "../helpers/folder.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { createOpenAIModel } from "../helpers/openai-model.ts";
import { type Answer, failure, startOpenAIServer } from "../helpers/openai-server.ts";

const OPENAI = "https://api.openai.com/v1";
const shippedFile = JSON.parse(readFileSync("config/prices.json", "utf8"));
const shipped = readPrices(shippedFile, "config/prices.json");
const inputPriceOf = (model: string, baseUrl = OPENAI) => priceOf(model, baseUrl, shipped)?.input;

describe("the price of a model", () => {
  it.each([
    ["gpt-4.1", 2],
    ["gpt-4.1-mini", 0.4],
    ["gpt-4.1-mini-2025-04-14", 0.4],
    ["gpt-4o-2024-08-06", 2.5],
    ["gpt-4o-2024-05-13", 5],
    ["gpt-4-0613", 30],
    ["gpt-3.5-turbo", 0.5],
    ["gpt-3.5-turbo-0613", 1.5],
    ["gpt-5-chat-latest", 1.25],
    ["openai/gpt-4o-mini", 0.15],
    [" GPT-5 ", 1.25],
    ["text-embedding-3-small", 0.02],
  ])("is found by name, with or without a path and a date: %s", (model, input) => {
    expect(inputPriceOf(model)).toBe(input);
  });

  it.each([
    ...["o3-pro", "gpt-4o-realtime-preview", "gpt-4.1-maxi", "gpt-4.5-preview", "ft:gpt-4o-mini-2024-07-18:acme::abc"],
    ...["llama3.3", "gpt", "", "constructor", "__proto__"],
  ])("is not guessed from the beginning of a name: %s", (model) => {
    expect(inputPriceOf(model)).toBeUndefined();
  });

  it("is zero by default on a server of this machine, and not known on one elsewhere", () => {
    const here = ["127.0.0.1:11434/v1", "localhost:1234/v1", "127.1:8080", "[::1]:8000/v1", "models.localhost/v1"];
    const elsewhere = ["192.168.1.5:11434/v1", "localhost.example.com/v1", "127.0.0.1.example.com"];
    const pricesOf = (model: string, addresses: readonly string[]) =>
      new Set(addresses.map((address) => inputPriceOf(model, `http://${address}`)));
    expect(pricesOf("llama3.3", here)).toEqual(new Set([0]));
    expect(pricesOf("gpt-4.1", here)).toEqual(new Set([2]));
    expect(pricesOf("llama3.3", elsewhere)).toEqual(new Set([undefined]));
    expect(inputPriceOf("llama3.3", "none")).toBeUndefined();
  });

  it("is the home's, model by model, else the shipped one", () => {
    const usdPerMillionTokens = { "GPT-4.1": { input: 1 }, "ft:gpt-4o-mini-2024-07-18": { input: 0.3, output: 1.2 } };
    const own = readPrices({ usdPerMillionTokens }, "own.json");
    const both = joinPrices(shipped, own);
    expect(priceOf("gpt-4.1", OPENAI, both)).toEqual({ input: 1, cachedInput: 1, output: 0 });
    const tuned = priceOf("ft:gpt-4o-mini-2024-07-18:acme::abc", OPENAI, both);
    expect(tuned).toEqual({ input: 0.3, cachedInput: 0.3, output: 1.2 });
    expect(priceOf("gpt-4o", OPENAI, both)?.input).toBe(2.5);
    expect(both.asOf).toBe(shipped.asOf);
    expect(joinPrices(shipped, undefined)).toEqual(shipped);
  });
});

describe("a price file", () => {
  it("is complete as shipped, has a date, and output that costs at least as much as cached input", () => {
    expect(shippedFile).toEqual(shipped);
    expect(shipped.asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    for (const { input, cachedInput } of Object.values(shipped.usdPerMillionTokens))
      expect(cachedInput).toBeLessThanOrEqual(input);
  });

  it.each<[title: string, content: unknown, words: RegExp]>([
    ["that is no object", [], /own\.json: expected an object/],
    ["without prices", {}, /own\.json: expected an object such as/],
    ["with a price that is none", { usdPerMillionTokens: { m: { input: "2" } } }, /expected m to have input.*"2"/],
    ["with a price below zero", { usdPerMillionTokens: { m: { input: 2, output: -1 } } }, /expected m to have/],
    ["without a price for input", { usdPerMillionTokens: { m: { output: 1 } } }, /expected m to have/],
    ["with a slip of the pen", { usdPerMillionTokens: { m: { input: 1, cached: 1 } } }, /expected m to have/],
    ["with a number for a model", { usdPerMillionTokens: { m: 2 } }, /expected m to have/],
    ["with another name", { prices: {}, usdPerMillionTokens: {} }, /usdPerMillionTokens only; got "prices"/],
    ["with a day that is a number", { asOf: 2026, usdPerMillionTokens: {} }, /as asOf; got 2026/],
  ])("with %s is refused by name", (_title, content, words) => {
    expect(() => readPrices(content, "own.json")).toThrow(words);
  });
});

describe("the context window of a model", () => {
  it.each<[tokens: number, models: readonly string[]]>([
    [1_047_576, ["gpt-4.1-mini"]],
    [400_000, ["gpt-5-nano"]],
    [200_000, ["o1", "o3-mini", "o4-mini"]],
    [128_000, ["gpt-4o-2024-08-06", "gpt-5-chat-latest", "gpt-4-turbo", "o1-mini", "GPT-4o", "openai/gpt-4o-mini"]],
    [128_000, ["ft:gpt-4o-mini:acme::abc"]],
    [32_768, ["gpt-4-32k"]],
    [16_385, ["gpt-3.5-turbo"]],
    [8_192, ["gpt-4", "gpt-4-0613", "llama3.2:3b", "meta-llama/Llama-3.3-70B-Instruct", "qwen3", "gpt-oss:20b"]],
    [8_192, ["never-heard-of", ""]],
  ])("is %i for %j", (tokens, models) => {
    expect(models.filter((model) => contextWindowOf(model, table) !== tokens)).toEqual([]);
  });

  it("is the person's setting", () => {
    expect(contextWindowOf("llama3.2", table, 131_072)).toBe(131_072);
  });

  it("is that of the longest prefix, in any order of the table", () => {
    const contextTokens = { "a-b-c": 3, a: 1, "a-b": 2 };
    expect(contextWindowOf("a-b-x", { reasoning: [], unknownModelTokens: 9, contextTokens })).toBe(2);
    expect(contextWindowOf("b", { reasoning: [], unknownModelTokens: 9, contextTokens })).toBe(9);
  });
});

const keep = useOpened();
const openai = async (
  models: readonly string[] | null,
  reply: (request: unknown) => Answer = () => "fine",
  more = {},
) => keep(await startOpenAIServer({ models, reply, ...more }));
const other = async (listener: RequestListener) => keep(await listenOnLoopback(listener)).port;
const sending = (body: string, type = "application/json") =>
  other((_request, response) => response.setHeader("content-type", type).end(body));

const LIST = '{"object":"list","data":[';

describe("finding local servers", () => {
  it("returns servers that list models, in the order of the ports, and requests only the list", async () => {
    const [first, second] = [await openai(["llama3.2", "qwen3"]), await openai([])];
    const closed = await openai([]);
    await closed.close();
    const ports = [first, closed, second].map(({ port }, at) => ({ name: `server ${at}`, port }));
    expect(await findLocalServers(createHttp(), ports)).toEqual([
      { name: "server 0", baseUrl: first.baseUrl, models: ["llama3.2", "qwen3"] },
      { name: "server 2", baseUrl: second.baseUrl, models: [] },
    ]);
    expect(first.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /v1/models"]);
    expect(first.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("accepts a server without models that answers null", async () => {
    const port = await sending('{"object":"list","data":null}');
    expect(await findLocalServers(createHttp(), [{ name: "Ollama", port }])).toMatchObject([{ models: [] }]);
  });

  it.each<[string, () => Promise<number>]>([
    ["a web page", () => sending("<html>it works</html>", "text/html")],
    ["some other JSON", () => sending('{"data":[{"id":"x"}]}')],
    ["a list of something else", () => sending('{"object":"list","data":[{"name":"x"}]}')],
    ["a list of names too long to be any", () => sending(`{"object":"list","data":[{"id":"${"x".repeat(300)}"}]}`)],
    ["a JSON null", () => sending("null")],
    ["an endless answer", () => other((_request, response) => response.write(`${LIST}${" ".repeat(3_000_000)}`))],
    ["404", async () => (await openai(null)).port],
    ["401 with a list", () => other((_request, response) => response.writeHead(401).end(`${LIST}]}`))],
    ["silence", () => other(() => undefined)],
    ["a redirect", () => other((_request, response) => response.writeHead(302, { location: "/v1/models/" }).end())],
  ])("rejects %s", async (_title, listen) => {
    expect(await findLocalServers(createHttp(), [{ name: "x", port: await listen() }])).toEqual([]);
  });

  it("probes the default ports of common servers", () => {
    const usual = USUAL_PORTS.map(({ name, port }) => `${name} ${port}`);
    expect(usual).toEqual(["Ollama 11434", "LM Studio 1234", "llama.cpp 8080", "vLLM 8000"]);
  });
});

describe("a server before its first agent", () => {
  const askAt = (baseUrl: string) =>
    askForWord(createOpenAIModel({ baseUrl }), "m", { baseUrl, apiKey: "", http: createHttp() });
  const tryIt = async (answer: Answer, more = {}) => {
    const { baseUrl, chats } = await openai(["m"], () => answer, more);
    return { trial: await askAt(baseUrl), chats };
  };

  it("is asked for one short reply, without tools and schema", async () => {
    const { trial, chats } = await tryIt({ text: "Hello! How can I help?" });
    expect(trial).toMatch(/^m answered in \d+\.\d s\.$/);
    expect(chats).toHaveLength(1);
    expect(chats[0]?.messages).toEqual([{ role: "user", content: "Hello" }]);
    expect(chats[0]).not.toHaveProperty("tools");
  });

  it.each<[string, object]>([
    ["counts reasoning by itself", { completion_tokens: 60, completion_tokens_details: { reasoning_tokens: 50 } }],
    ["counts it in the sum only", { completion_tokens: 180 }],
  ])("that %s is said to reason", async (_title, usage) => {
    const { trial } = await tryIt({ text: "Hello!", usage: { prompt_tokens: 5, ...usage } });
    expect(trial).toMatch(/It reasons before it answers \((60|180) tokens here\)/);
  });

  it.each([4_096, 32_768])(
    "that Ollama has loaded with %i tokens is said to need more, when these are few",
    async (tokens) => {
      const { trial } = await tryIt("Hello!", { running: [{ name: "m:latest", context_length: tokens }] });
      expect(String(trial).includes("context of 4,096 tokens, and drops a part")).toBe(tokens === 4_096);
    },
  );

  it("that does not answer says why", async () => {
    const { trial } = await tryIt(failure(404, "no such model"));
    expect(trial).toEqual({ problem: expect.stringContaining("404") });
  });

  it("that rejects a part of the request is asked again without it", async () => {
    const answers: Answer[] = [failure(400, "stream is not supported"), "Hello!"];
    const { baseUrl } = await openai(["m"], () => answers.shift() ?? "");
    expect(await askAt(baseUrl)).toContain("answered");
    expect(answers).toEqual([]);
  });
});

it("the names of models are for chat, or for other work", () => {
  const chat =
    "gpt-4.1 o3 gpt-5-mini llama3.1:8b qwen3 mistral-small gemma3 deepseek-r1 phi4 claude-sonnet-4 gemini-2.5-pro test-model";
  expect(chat.split(" ").filter((name) => !isChatModel(name))).toEqual([]);
  const other =
    "nomic-embed-text text-embedding-3-small mxbai-embed-large bge-m3 BAAI/bge-large all-minilm whisper-1 tts-1 dall-e-3 gpt-image-1 gpt-4o-transcribe omni-moderation-latest gpt-4o-realtime-preview gpt-4o-audio-preview e5-mistral sora-2";
  expect(other.split(" ").filter(isChatModel)).toEqual([]);
});
