import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import { type Price, spentOf } from "#core/limits.ts";
import { createHttp } from "#http/http.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { makeLoop, reply } from "../helpers/loop.ts";
import { embeddingList } from "../helpers/openai-answers.ts";
import { type Answer, type EmbeddingRequest, type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { cutPowerAfter, PowerCut } from "../helpers/power-cut.ts";

/** One US dollar per token of an embedding; the model is free. */
const EMBEDDING: Price = { input: 1_000_000, cachedInput: 1_000_000, output: 0 };
const FREE: Price = { input: 0, cachedInput: 0, output: 0 };
const TOKENS = 40;
const reads = Array.from({ length: 9 }, (_, at) => reply("read_file", { file: `${at}.txt` }));

/** Every request for embeddings costs 40 tokens. */
const charged = (request: EmbeddingRequest): Answer => ({
  status: 200,
  body: { ...embeddingList(request, 8), usage: { prompt_tokens: TOKENS, total_tokens: TOKENS } },
});
const serve = (embeddings: (request: EmbeddingRequest, index: number) => Answer | undefined): Promise<OpenAIServer> =>
  startOpenAIServer({ embeddings });
const requestsOf = (server: OpenAIServer): number =>
  server.requests.filter(({ path }) => path === "/v1/embeddings").length;

/** An agent that remembers with the embeddings of this server. */
async function remembering(server: OpenAIServer, settings: Partial<AgentSettings>) {
  const store = { memories: async () => [], memory: async () => undefined, saveVectors: async () => undefined };
  const embedder = createOpenAIEmbedder({ baseUrl: server.baseUrl, apiKey: "k", http: createHttp(), model: "e" });
  return makeLoop({
    script: (_request, index) => ({
      kind: "replied",
      text: reads[index] ?? "",
      finishReason: "stop",
      usage: { inputTokens: 100, outputTokens: 10, cachedTokens: 0, estimated: false },
    }),
    memory: openLongTermMemory({ store, embedder, report: () => undefined }),
    embeddingModel: "e",
    priceOf: (model) => (model === "e" ? EMBEDDING : FREE),
    settings: { stepLimit: 3, ...settings },
  });
}

describe("embeddings for an agent's recalls", () => {
  it("count in the agent's own tokens and money, with the request that they came before", async () => {
    await using server = await serve(charged);
    const loop = await remembering(server, {});
    const state = await loop.run();
    const bought = requestsOf(server);
    expect(bought).toBeGreaterThan(1);
    expect(state.usage).toMatchObject({ inputTokens: 3 * 100 + bought * TOKENS, modelCalls: 3 });
    expect(state.costUsd).toBeCloseTo(bought * TOKENS, 6);
    const asked = await loop.of("model-asked");
    expect(asked.reduce((sum, { spent }) => sum + (spent?.usage.inputTokens ?? 0), 0)).toBe(bought * TOKENS);
    const { inputTokens = 0 } = asked[0]?.spent?.usage ?? {};
    expect(asked[0]?.spent).toEqual({
      usage: { inputTokens, outputTokens: 0, cachedTokens: 0, estimated: false },
      costUsd: inputTokens,
      modelCalls: 0,
    });
  });

  it("are still counted after the process died during the request to the model", async () => {
    await using server = await serve(charged);
    const loop = await remembering(server, { stepLimit: 1 });
    await expect(loop.run({ prepare: cutPowerAfter("ask") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    expect(state.costUsd).toBeCloseTo(requestsOf(server) * TOKENS, 6);
  });

  it("are counted after they were made, and then pause an agent that has reached its limit", async () => {
    await using server = await serve(charged);
    const loop = await remembering(server, { budgetUsd: 1 });
    const state = await loop.run();
    expect(state.paused?.code).toBe("budget");
    expect(requestsOf(server)).toBeGreaterThan(0);
    expect(spentOf(state).usd).toBe(requestsOf(server) * TOKENS);
    expect(state.usage.modelCalls).toBe(0);
  });

  it("cost nothing when the server turned the request away", async () => {
    await using server = await serve(() => ({ status: 401, body: { error: { message: "no" } } }));
    const loop = await remembering(server, {});
    const state = await loop.run();
    expect(requestsOf(server)).toBeGreaterThan(0);
    expect(state.costUsd).toBe(0);
    expect(state.usage.modelCalls).toBe(3);
  });
});
