/** ask-model.ts -- sends one request to the OpenAI model, over real HTTP to a scripted server. */
import type { ModelAnswer } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel, type OpenAIModelSettings } from "#model/openai-model.ts";
import { type Answer, type OpenAIServer, type OpenAIServerOptions, startOpenAIServer } from "./openai-server.ts";

/** A planted key: it may appear only in the Authorization header. */
export const KEY = "sk-planted-4fQ9wZ7xLm2";

let servers: OpenAIServer[] = [];

/** Returns the servers that were started since the last `closeServers`. */
export const openServers = (): readonly OpenAIServer[] => servers;

export async function start(options: OpenAIServerOptions): Promise<OpenAIServer> {
  const server = await startOpenAIServer(options);
  servers.push(server);
  return server;
}

export async function closeServers(): Promise<void> {
  await Promise.all(servers.map(({ close }) => close()));
  servers = [];
}

export async function ask(baseUrl: string, settings: Partial<OpenAIModelSettings> = {}): Promise<ModelAnswer> {
  const model = createOpenAIModel({ baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000, ...settings });
  const messages = [{ role: "user" as const, content: "Which command?" }];
  return model.complete({ model: "gpt-test", messages }, new AbortController().signal);
}

export async function answerTo(answer: Answer, settings: Partial<OpenAIModelSettings> = {}): Promise<ModelAnswer> {
  return ask((await start({ reply: [answer] })).baseUrl, settings);
}
