/** prose-loop.ts -- an agent whose replies are prose with code: the real loop, a model over HTTP, and a sandbox of functions. */
import type { ReplyForm } from "#core/agent-settings.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { type CellBehaviour, createFakeSandbox } from "./fake-sandbox.ts";
import { type Loop, type LoopOptions, makeLoop } from "./loop.ts";
import type { Answer, ChatRequest } from "./openai-answers.ts";
import { type OpenAIServer, startOpenAIServer } from "./openai-server.ts";

export interface ProseLoop {
  readonly loop: Loop;
  readonly server: OpenAIServer;
  /** Contents of the messages of one request, from 1. */
  request(number: number): readonly string[];
  /** The result that a request shows last. */
  lastResult(number: number): string;
}

let servers: OpenAIServer[] = [];
export async function closeProseLoops(): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
}

export const python = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;

/** `replies`: one for each request, or a model that reads the request. `cells`: behaviours by code. */
export async function makeProseLoop(
  form: ReplyForm,
  replies: readonly string[] | ((request: ChatRequest, index: number) => Answer),
  cells: Readonly<Record<string, CellBehaviour>>,
  options: Partial<LoopOptions> = {},
): Promise<ProseLoop> {
  const server = await startOpenAIServer({ reply: replies });
  servers.push(server);
  const { baseUrl } = server;
  const model = createOpenAIModel({ baseUrl, apiKey: "key", http: createHttp(), timeoutMs: 20_000 });
  const sandbox = createFakeSandbox(cells);
  const loop = await makeLoop({ script: [], model, sandbox, ...options, settings: { form, ...options.settings } });
  const request = (number: number): readonly string[] =>
    server.chats[number - 1]?.messages.map(({ content }) => content) ?? [];
  return { loop, server, request, lastResult: (number) => request(number).at(-2) ?? "" };
}
