import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import { type Command, succeed, wait } from "#core/command.ts";
import type { EventOf } from "#core/event.ts";
import { type Price, spentOf } from "#core/limits.ts";
import type { Services } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { createOpenAIImages, createOpenAISpeech } from "#model/openai-media.ts";
import { afterRun, done, type Loop, makeLoop, reply, testCommand, WRITES } from "../helpers/loop.ts";
import { answered } from "../helpers/models.ts";
import {
  type Answer,
  type EmbeddingRequest,
  embeddingList,
  failure,
  type OpenAIServer,
  startOpenAIServer,
  timeoutMsFor,
} from "../helpers/openai-server.ts";
import { cutPowerAfter, PowerCut } from "../helpers/power-cut.ts";
import { MEDIA_KEY, type MediaServer, pictureAnswer, png, startMediaServer, wav } from "../helpers/service-servers.ts";

/** Cost of pictures and speech, with the real loop and commands against servers of the real protocol. */

/** The loop's own requests are free, so that every dollar is the cost of a picture. */
const FREE: Price = { input: 0, cachedInput: 0, output: 0 };
const PAINTER: Price = { input: 5, cachedInput: 1.25, output: 40 };
const TOLD = { input_tokens: 20, output_tokens: 4_160, total_tokens: 4_180 };
const COST = (20 * 5 + 4_160 * 40) / 1e6;
/** Highest cost of a picture of 1024 by 1024 pixels and a prompt of four tokens. */
const MOST = { tokens: 4_164, usd: (4 * 5 + 4_160 * 40) / 1e6 };
const picture = (usage?: object): Answer => {
  const { body, ...answer } = pictureAnswer(png(8, 8)) as { status: number; body: object };
  return { ...answer, body: { ...body, ...(usage ? { usage } : {}) } };
};
const answeringWith = (image: Answer): Promise<MediaServer> => startMediaServer({ image: () => image });
const paints = (...files: string[]): readonly string[] =>
  files.map((file) => reply("generate_image", { prompt: "a red ball", file }));

interface Way {
  readonly settings?: Partial<AgentSettings>;
  readonly price?: Price | null;
  readonly script?: readonly string[];
  readonly commands?: readonly Command[];
  /** The answer of the picture server; a stalled one shortens the timeout. */
  readonly answer?: Answer;
}
function servicesOf({ baseUrl }: MediaServer, timeoutMs = timeoutMsFor(undefined)): Partial<Services> {
  const given = { baseUrl, apiKey: MEDIA_KEY, http: createHttp(), timeoutMs };
  return {
    images: createOpenAIImages({ ...given, model: "gpt-image-1" }),
    speech: createOpenAISpeech({ ...given, model: "gpt-4o-mini-transcribe" }),
  };
}
const painting = (server: MediaServer, way: Way = {}) => {
  const { settings = {}, price = PAINTER, script = paints("a"), commands = [], answer } = way;
  return makeLoop({
    script: [...script, done()].map((text) => answered(text)),
    commands,
    settings,
    priceOf: () => FREE,
    servicePriceOf: () => price,
    services: { images: { ready: true }, speech: { ready: true } },
    serving: servicesOf(server, timeoutMsFor(answer)),
  });
};
/** The first command that finished. */
const ended = async (loop: Loop) => (await loop.of("command-finished"))[0] as EventOf<"command-finished">;

const BUYS = { annotations: { ...WRITES, idempotent: false, openWorld: true }, timeoutMs: 20_000 };

describe("the cost of pictures", () => {
  it("is added to the agent's spending as the server reports it", async () => {
    await using server = await answeringWith(picture(TOLD));
    const loop = await painting(server, { script: paints("a", "b") });
    const state = await loop.run();
    expect(server.images).toHaveLength(2);
    expect(state.usage).toEqual({
      modelCalls: 5,
      inputTokens: 3 * 100 + 2 * 20,
      outputTokens: 3 * 10 + 2 * 4_160,
      cachedTokens: 0,
      estimated: false,
    });
    expect(state.costUsd).toBeCloseTo(2 * COST, 9);
    expect(state.lost).toEqual({ tokens: 0, usd: 0 });
    const usage = { inputTokens: 20, outputTokens: 4_160, cachedTokens: 0, estimated: false };
    expect((await ended(loop)).spent).toEqual({ usage, costUsd: expect.closeTo(COST, 9), modelCalls: 1 });
  });

  it("is limited by what is left: the request is not sent, and the model is told why", async () => {
    await using server = await answeringWith(picture(TOLD));
    const loop = await painting(server, { settings: { budgetUsd: 0.1664 } });
    const state = await loop.run();
    expect(server.requests).toHaveLength(0);
    expect((await ended(loop)).observation).toMatchObject({
      status: "failed",
      code: "limit",
      text: expect.stringMatching(/^Nothing was sent: It may cost 0\.166\d USD, and 0\.1664 are left for it\./),
    });
    expect(await ended(loop)).not.toHaveProperty("spent");
    expect(spentOf(state).usd).toBe(0);
    const enough = await afterRun(painting(server, { settings: { budgetUsd: 0.167 } }));
    expect((await ended(enough)).observation.status).toBe("ok");
  });

  it.each<[title: string, answer: Answer, price: Price | null, tokens: number, usd: number]>([
    ["zero for a rejected request", failure(400, "No."), PAINTER, 0, 0],
    ["zero for too many requests", failure(429, "Later."), PAINTER, 0, 0],
    ["the maximum when no end was seen", { fault: "stall" }, PAINTER, MOST.tokens, MOST.usd],
    ["the maximum in tokens alone when no end was seen at an unknown price", { fault: "stall" }, null, MOST.tokens, 0],
    ["as reported when no picture came", { status: 200, body: { data: [], usage: TOLD } }, PAINTER, 4_180, COST],
    ["the maximum when it is not reported and the price is known", picture(), PAINTER, MOST.tokens, MOST.usd],
    ["the maximum when its form is unknown", picture({ input_tokens: -1 }), PAINTER, MOST.tokens, MOST.usd],
    // Pictures may be billed by the piece.
    ["zero when it is not reported and the price is unknown", picture(), null, 0, 0],
    ["in tokens alone when it is reported and the price is unknown", picture(TOLD), null, 4_180, 0],
    ["zero on a free server that reports nothing", picture(), FREE, 0, 0],
  ])("is counted for an agent with a budget: %s", async (_title, answer, price, tokens, usd) => {
    await using server = await answeringWith(answer);
    const loop = await painting(server, { price, answer, settings: { budgetUsd: 1 } });
    const state = await loop.run();
    expect(server.images).toHaveLength(1);
    expect(spentOf(state).tokens).toBe(tokens + 220);
    expect(spentOf(state).usd).toBeCloseTo(usd, 9);
  });

  it("is reserved once after a crash, and the picture is not requested again", async () => {
    await using server = await answeringWith(picture(TOLD));
    const loop = await painting(server);
    await expect(loop.run({ prepare: cutPowerAfter("execute") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    expect(server.images).toHaveLength(1);
    const [started] = await loop.of("command-started");
    expect(started?.reserved).toEqual({ tokens: 10_240, usd: expect.closeTo(0.2696, 9) });
    expect(state.lost).toEqual({ tokens: 10_240, usd: expect.closeTo(0.2696, 9) });
    expect(state.costUsd).toBe(0);
    expect((await ended(loop)).reconciled).toBe(true);
  });
});

describe("the cost of speech", () => {
  const listening = async (usage: object) => {
    const server = await startMediaServer({ speech: () => ({ status: 200, body: { text: "hello", usage } }) });
    const price: Price = { input: 3, cachedInput: 3, output: 5 };
    const loop = await painting(server, { price, script: [reply("read_audio_from_file", { file: "a.wav" })] });
    loop.files.set("a.wav", wav());
    await using _server = server;
    return spentOf(await loop.run());
  };

  it("is counted as reported in tokens, and as the maximum when minutes are reported and the price is known", async () => {
    const told = await listening({ type: "tokens", input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 });
    expect(told).toMatchObject({ tokens: 1_320, usd: expect.closeTo(0.0035, 9) });
    const minutes = await listening({ type: "duration", seconds: 60 });
    expect(minutes).toMatchObject({ tokens: 18_220, usd: expect.closeTo(0.058, 9) });
  });

  it("is zero for a file that is not a recording, which is not sent", async () => {
    await using server = await startMediaServer();
    const loop = await painting(server, { script: [reply("read_audio_from_file", { file: "a.wav" })] });
    loop.files.set("a.wav", new TextEncoder().encode("no sound"));
    expect(spentOf(await loop.run()).tokens).toBe(220);
    expect(server.requests).toHaveLength(0);
  });
});

it("a command that makes several pictures stays within the limits, unfinished ones included", async () => {
  const album = testCommand(
    "make_album",
    async (_args, { use, signal }) => {
      const made = await Promise.allSettled([1, 2, 3, 4].map(() => use("images").generate("b", "1024x1024", signal)));
      return succeed(made.map(({ status }) => status).join(" "));
    },
    { ...BUYS, needs: ["images"] },
  );
  await using server = await answeringWith(picture(TOLD));
  const way = { commands: [album], script: [reply("make_album")], settings: { budgetUsd: 0.34 } };
  const loop = await painting(server, way);
  const state = await loop.run();
  expect((await ended(loop)).observation.text).toBe("fulfilled fulfilled rejected rejected");
  expect(server.images).toHaveLength(2);
  expect(state.costUsd).toBeCloseTo(2 * COST, 9);
});

it("a command that needs pictures and answers gives tokens that are set aside for one to no other", async () => {
  const schema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] } as const;
  /** Asks a question that would fit all that is left, makes three pictures, and asks a short question. */
  const book = testCommand(
    "make_book",
    async (_args, { use, signal }) => {
      const ask = (words: number) => {
        const material = [{ label: "a", text: "word ".repeat(words) }];
        return use("advisor").ask({ role: "smart", words: "judge", material, schema }, signal);
      };
      const long = await Promise.allSettled([ask(24_000)]);
      const pictures = [1, 2, 3].map(() => use("images").generate("a red ball", "1024x1024", signal));
      const all = [...long, ...(await Promise.allSettled(pictures)), ...(await Promise.allSettled([ask(10)]))];
      return succeed(all.map((one) => (one.status === "fulfilled" ? "yes" : one.reason.message)).join("\n"));
    },
    { ...BUYS, timeoutMs: 60_000, needs: ["images", "advisor"] },
  );
  await using server = await answeringWith(picture(TOLD));
  const loop = await makeLoop({
    script: ({ messages }, index) => {
      const isQuestion = messages.some(({ content }) => content.includes("You check somebody's work"));
      return answered(isQuestion ? '{"answer":"It is."}' : index === 0 ? reply("make_book") : done());
    },
    commands: [book],
    // 110 are spent, 10,240 are for pictures, and 20,000 are for answers.
    settings: { tokenLimit: 110 + 10_240 + 20_000 },
    priceOf: () => FREE,
    servicePriceOf: () => PAINTER,
    services: { advisor: { ready: true }, images: { ready: true } },
    serving: servicesOf(server),
  });
  await loop.run();
  expect((await loop.of("command-started"))[0]).toMatchObject({ reserved: { tokens: 30_240 } });
  expect(String((await ended(loop)).observation.text).split("\n")).toEqual([
    expect.stringMatching(/^The question was not asked: It may take 2\d{4} tokens, and 20000 are left for it\./),
    "yes",
    "yes",
    expect.stringMatching(/^Nothing was sent: It may take 4164 tokens, and 1912 are left for it\./),
    "yes",
  ]);
  expect(server.images).toHaveLength(2);
});

it("a command that buys a picture and then waits is charged once, when the wait begins", async () => {
  const show = testCommand(
    "show_picture",
    async (_args, { use, signal }) => {
      await use("images").generate("a ball", "1024x1024", signal);
      return wait("time", "2999-01-01T00:00:00.000Z");
    },
    { ...BUYS, needs: ["images"] },
  );
  await using server = await answeringWith(picture(TOLD));
  const loop = await painting(server, { commands: [show], script: [reply("show_picture")] });
  const state = await loop.run();
  expect(await loop.of("command-waiting")).toHaveLength(1);
  expect(server.images).toHaveLength(1);
  expect(spentOf(state).usd).toBeCloseTo(COST, 9);
});

/** One US dollar per token of an embedding; the model is free. */
const EMBEDDING: Price = { input: 1_000_000, cachedInput: 1_000_000, output: 0 };
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
  const at = { baseUrl: server.baseUrl, apiKey: "k", http: createHttp() };
  const embedder = createOpenAIEmbedder({ ...at, timeoutMs: 60_000, model: "e" });
  return makeLoop({
    script: (_request, index) => answered(reads[index] ?? ""),
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
    const usage = { inputTokens, outputTokens: 0, cachedTokens: 0, estimated: false };
    expect(asked[0]?.spent).toEqual({ usage, costUsd: inputTokens, modelCalls: 0 });
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

const quotaServing: Partial<Services> = {
  downloads: { get: async (url) => ({ url, contentType: "", bytes: new Uint8Array(40), holdsSecret: false }) },
  repositories: {
    clone: async (url, folder) => {
      writeFileSync(join(folder, "a"), "");
      return { url, commit: "c", branch: null, files: 1, bytes: 40, remarks: [] };
    },
  },
};
const get = (file: string) => reply("download_file", { url: `https://example.com/${file}`, file });
const goals = ["Get https://example.com/a, https://example.com/b, https://example.com/c and https://example.com/r.git"];

it("the quota of downloads counts over the agent's life, and refuses before anything more is saved", async () => {
  const clone = reply("clone_repository", { repository_url: "https://example.com/r.git", clone_path: "r" });
  const loop = await makeLoop({
    script: [get("a"), clone, get("b"), reply("delete_file", { file: "a" }), get("c"), done()],
    services: { downloads: { ready: true }, repositories: { ready: true } },
    serving: quotaServing,
    goals,
    downloadLimitBytes: 100,
  });
  const state = await loop.run();
  const results = await loop.results();
  const codes = results.map(({ code, status }) => code ?? status);
  expect(codes).toEqual(["ok", "ok", "quota-exceeded", "ok", "quota-exceeded", "ok"]);
  expect(results[2]?.text).toContain("120 bytes of 100 bytes in its life (half of quota.megabytes)");
  expect(state.downloadedBytes).toBe(120);
  expect([loop.files.has("b"), loop.files.has("c")]).toEqual([false, false]);
});
