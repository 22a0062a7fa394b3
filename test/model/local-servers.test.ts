import type { RequestListener } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { askForWord, findLocalServers, isChatModel, USUAL_PORTS } from "#model/check-server.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { createOpenAIModel } from "../helpers/openai-model.ts";
import {
  type Answer,
  type OpenAIServer,
  type OpenAIServerOptions,
  startOpenAIServer,
} from "../helpers/openai-server.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});
async function openai(models: readonly string[] | null, reply?: OpenAIServerOptions["reply"]): Promise<OpenAIServer> {
  const server = await startOpenAIServer({ models, ...(reply ? { reply } : {}) });
  open.push(server.close);
  return server;
}
async function other(listener: RequestListener): Promise<number> {
  const { port, close } = await listenOnLoopback(listener);
  open.push(close);
  return port;
}
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
  const tryIt = async (answer: Answer) => {
    const { baseUrl, chats } = await openai(["m"], () => answer);
    const model = createOpenAIModel({ baseUrl, apiKey: "", http: createHttp(), timeoutMs: 20_000 });
    return { trial: await askForWord(model, "m"), chats };
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

  it("that does not answer says why", async () => {
    expect((await tryIt({ status: 404, body: { error: { message: "no such model" } } })).trial).toEqual({
      problem: expect.stringContaining("404"),
    });
  });

  it("that rejects a part of the request is asked again without it", async () => {
    let count = 0;
    const { baseUrl } = await openai(["m"], () =>
      count++ === 0 ? { status: 400, body: { error: { message: "stream is not supported" } } } : { text: "Hello!" },
    );
    const model = createOpenAIModel({ baseUrl, apiKey: "", http: createHttp(), timeoutMs: 20_000 });
    expect(await askForWord(model, "m")).toContain("answered");
    expect(count).toBe(2);
  });
});

describe("the names of models", () => {
  it.each([
    "gpt-4.1 o3 gpt-5-mini llama3.1:8b qwen3 mistral-small gemma3 deepseek-r1 phi4 claude-sonnet-4 gemini-2.5-pro test-model",
  ])("are for chat: %s", (names) => {
    expect(names.split(" ").filter((name) => !isChatModel(name))).toEqual([]);
  });

  it.each([
    "nomic-embed-text text-embedding-3-small mxbai-embed-large bge-m3 BAAI/bge-large all-minilm whisper-1 tts-1 dall-e-3 gpt-image-1 gpt-4o-transcribe omni-moderation-latest gpt-4o-realtime-preview gpt-4o-audio-preview e5-mistral sora-2",
  ])("are for other work: %s", (names) => {
    expect(names.split(" ").filter(isChatModel)).toEqual([]);
  });
});
