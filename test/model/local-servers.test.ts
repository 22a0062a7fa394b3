import type { RequestListener } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { findLocalServers, USUAL_PORTS } from "#model/check-server.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});
async function openai(models: readonly string[] | null): Promise<OpenAIServer> {
  const server = await startOpenAIServer({ models });
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
