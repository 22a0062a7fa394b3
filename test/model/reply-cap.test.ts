import { afterEach, describe, expect, it } from "@jest/globals";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { withMargin } from "#model/reply-cap.ts";
import { type SentParts, stepDown } from "#model/step-down.ts";
import { FULL_TERMS } from "#model/terms.ts";
import { closeServers, KEY, openServers, start } from "../helpers/ask-model.ts";
import { failure, type RawAnswer } from "../helpers/openai-answers.ts";
import type { Answer } from "../helpers/openai-server.ts";

afterEach(closeServers);

const CAP = 1_000;
const SSE = { "content-type": "text/event-stream" };
const WORD = "seven eight ";

/** A client of a server with these answers. */
async function client(answers: readonly Answer[], settings: object = {}): Promise<LanguageModel> {
  const { baseUrl } = await start({ reply: answers });
  return createOpenAIModel({ baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000, ...settings });
}
const ask = (model: LanguageModel): Promise<ModelAnswer> =>
  model.complete(
    { model: "m", messages: [{ role: "user", content: "x" }], maxTokens: CAP },
    new AbortController().signal,
  );
const chats = () => openServers().flatMap((server) => server.chats);
const caps = () => chats().map((chat) => [chat.max_completion_tokens, chat.max_tokens]);

/** A stream that repeats one delta `times` times, and then ends with a short reply and this usage. */
function streamOf(delta: object, times: number, usage?: object): RawAnswer {
  const chunk = (piece: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: piece, finish_reason: finish }] })}\n\n`;
  const end = usage ? `data: ${JSON.stringify({ choices: [], usage })}\n\n` : "";
  const body = `${chunk(delta).repeat(times)}${chunk({ content: "done" })}${chunk({}, "stop")}${end}data: [DONE]\n\n`;
  return { status: 200, headers: SSE, body };
}

describe("the cap of a reply", () => {
  it("is sent as max_completion_tokens", async () => {
    await ask(await client(["ok"]));
    expect(caps()).toEqual([[CAP, undefined]]);
  });

  it.each<[server: string, RawAnswer]>([
    ["OpenAI's older models", failure(400, "Unrecognized request argument supplied: max_completion_tokens")],
    [
      "FastAPI",
      {
        status: 422,
        body: {
          detail: [{ type: "extra_forbidden", loc: ["body", "max_completion_tokens"], msg: "Extra inputs", input: 9 }],
        },
      },
    ],
    ["a server that names nothing", failure(400, "Bad request")],
  ])("is sent as max_tokens to %s, from then on", async (_server, refusal) => {
    const model = await client([refusal, "ok", "ok"]);
    expect(await ask(model)).toMatchObject({ kind: "failed", code: "unsupported", retry: { isChanged: true } });
    expect(await ask(model)).toMatchObject({ kind: "replied" });
    await ask(model);
    expect(caps()).toEqual([
      [CAP, undefined],
      [undefined, CAP],
      [undefined, CAP],
    ]);
  });

  const sent: SentParts = {
    mode: "plain",
    asObject: false,
    stream: true,
    streamOptions: true,
    temperature: false,
    toolChoice: false,
    strictTools: false,
    turns: false,
    reasoningEffort: false,
    stop: false,
    cap: { name: "max_completion_tokens", tokens: 100_000 },
    isBare: false,
  };
  it.each<[server: string, message: string, most: number]>([
    ["OpenAI", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", 16_384],
    ["Groq", "`max_completion_tokens` must be less than or equal to `8192`", 8_192],
    ["Anthropic", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", 8_192],
    ["DeepSeek", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192],
  ])("stays below the maximum that %s names", (_server, message, replyTokens) => {
    const rejected = { status: 400, body: JSON.stringify({ error: { message } }) };
    expect(stepDown(FULL_TERMS, sent, rejected)).toEqual({ kind: "change", terms: { ...FULL_TERMS, replyTokens } });
  });
});

describe("a stream that exceeds its cap", () => {
  it.each<[of: string, delta: object]>([
    ["text", { content: WORD }],
    ["reasoning", { reasoning_content: WORD }],
    ["reasoning under two names", { reasoning: WORD, reasoning_content: WORD }],
    ["arguments of a tool", { tool_calls: [{ index: 0, function: { arguments: WORD } }] }],
    ["ideographs", { content: "思考思考" }],
    ["white space", { content: " " }],
    ["hidden reasoning", { reasoning_details: [{ type: "reasoning.encrypted", data: "c2V2ZW4=" }] }],
  ])("of %s is cut off, and what came counts as spent", async (_of, delta) => {
    const model = await client([streamOf(delta, 20_000), streamOf(delta, 20_000)]);
    const first = await ask(model);
    expect(first).toMatchObject({ kind: "failed", code: "cap-ignored", retry: { isChanged: true } });
    const second = await ask(model);
    expect(second).toMatchObject({ kind: "failed", code: "cap-ignored", retry: null });
    expect(second).toMatchObject({
      message: expect.stringContaining("at most 1000 tokens (max_tokens), and sent at least 12"),
    });
    if (second.kind !== "failed") throw new Error("It was not cut off.");
    expect(second.usage?.outputTokens).toBeGreaterThan(withMargin(CAP));
    expect(second.usage?.outputTokens).toBeLessThan(withMargin(CAP) + 50);
    expect(caps()).toEqual([
      [CAP, undefined],
      [undefined, CAP],
    ]);
  });

  it("is judged by the server's own count where it sends one", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5_000 };
    const chunk = { choices: [{ index: 0, delta: { content: "a" } }], usage };
    const model = await client([{ status: 200, headers: SSE, body: `data: ${JSON.stringify(chunk)}\n\n` }]);
    expect(await ask(model)).toMatchObject({
      code: "cap-ignored",
      message: expect.stringContaining("at most 1000 tokens (max_completion_tokens), and reports 5000."),
      usage: { inputTokens: 7, outputTokens: 5_000, allowedTokens: CAP },
    });
  });

  it("is not cut off when its long words are within the cap", async () => {
    const prose = { reasoning_content: " thinking".repeat(50) };
    expect(await ask(await client([streamOf(prose, CAP / 50)]))).toMatchObject({ kind: "replied" });
    expect(await ask(await client([streamOf(prose, (4 * CAP) / 50)]))).toMatchObject({ kind: "failed" });
  });

  it("is not cut off when its long runs of white space are within the cap", async () => {
    const padding = { content: " ".repeat(128) };
    expect(await ask(await client([streamOf(padding, CAP)]))).toMatchObject({ kind: "replied" });
    const twice = { content: " ".repeat(256) };
    expect(await ask(await client([streamOf(twice, CAP)]))).toMatchObject({ kind: "failed", code: "cap-ignored" });
  });

  it("is not cut off within the margin of the estimate", async () => {
    const text = { content: "word" };
    expect(await ask(await client([streamOf(text, withMargin(CAP) - 2)]))).toMatchObject({ kind: "replied" });
    expect(await ask(await client([streamOf(text, withMargin(CAP) + 2)]))).toMatchObject({ kind: "failed" });
  });
});

describe("a complete reply that exceeds its cap", () => {
  const long = { text: "ok", usage: { prompt_tokens: 7, completion_tokens: 60_000 } };

  it.each<[how: string, streamed: object]>([
    ["in one document", { streamed: "document" }],
    ["as a stream of hidden reasoning", {}],
  ])("%s is kept, and the server's behaviour is named once no other name is left", async (_how, streamed) => {
    const model = await client([
      { ...long, ...streamed },
      { ...long, ...streamed },
    ]);
    const first = await ask(model);
    expect(first).toMatchObject({ kind: "replied", text: "ok", usage: { outputTokens: 60_000, allowedTokens: CAP } });
    expect(first).not.toHaveProperty("capIgnored");
    expect(await ask(model)).toMatchObject({
      kind: "replied",
      usage: { outputTokens: 60_000 },
      capIgnored: expect.stringContaining("at most 1000 tokens (max_tokens), and reports 60000."),
    });
  });

  it("is noted with the maximum of its request from the first token above it", async () => {
    const usageOf = async (completion_tokens: number) =>
      await ask(await client([{ text: "ok", usage: { prompt_tokens: 7, completion_tokens } }]));
    expect(await usageOf(CAP + 1)).toMatchObject({ usage: { outputTokens: CAP + 1, allowedTokens: CAP } });
    expect(await usageOf(CAP)).not.toHaveProperty("usage.allowedTokens");
  });

  it.each<[title: string, usage: object, outputTokens: number]>([
    ["only in the total", { prompt_tokens: 10, completion_tokens: 20, total_tokens: 530 }, 520],
    [
      "only in the details",
      { prompt_tokens: 10, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 500 } },
      520,
    ],
    [
      "in the tokens of the completion",
      {
        prompt_tokens: 10,
        completion_tokens: 520,
        total_tokens: 530,
        completion_tokens_details: { reasoning_tokens: 500 },
      },
      520,
    ],
  ])("is found when reasoning is counted %s", async (_title, usage, outputTokens) => {
    expect(await ask(await client([{ text: "ok", usage }]))).toMatchObject({ usage: { outputTokens } });
  });
});

describe("the effort of reasoning", () => {
  it("is sent as set, and left out once the server refuses it", async () => {
    const refusal = failure(400, "Unsupported parameter: 'reasoning_effort' is not supported with this model.");
    const model = await client([refusal, "ok"], { reasoningEffort: "low" });
    expect(await ask(model)).toMatchObject({ code: "unsupported" });
    await ask(model);
    expect(chats().map((chat) => chat.reasoning_effort)).toEqual(["low", undefined]);
  });
});
