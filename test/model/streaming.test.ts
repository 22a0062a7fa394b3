import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { ModelAnswer } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel, type OpenAIModelSettings } from "#model/openai-model.ts";
import { answerTo, closeServers, KEY, openServers, start } from "../helpers/ask-model.ts";
import type { Answer } from "../helpers/openai-server.ts";
import type { Streaming } from "../helpers/openai-stream.ts";

afterEach(closeServers);

const TEXT = `{"thoughts": {"text": "Zażółć 🎾 gęślą"}, "command": {"name": "do_nothing", "args": {}}}`;
const CALL = { id: "call_1", type: "function", function: { name: "do_nothing", arguments: '{"a": "b c d e f g h"}' } };
const COMMAND = `{"name":"${CALL.function.name}","args":${CALL.function.arguments}}`;

const SSE = { "content-type": "text/event-stream" };
const live = (): AbortSignal => new AbortController().signal;
const ending = (kind: Streaming["ending"]): Answer => ({ text: TEXT, streamed: kind ? { ending: kind } : {} });

function chunk(content: string, finishReason: string | null = "stop"): string {
  return JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finishReason }] });
}

/** The answer, and the text as it was told piece by piece. */
async function listen(answer: Answer, settings: Partial<OpenAIModelSettings> = {}): Promise<[ModelAnswer, string]> {
  const { baseUrl } = await start({ reply: [answer] });
  const model = createOpenAIModel({ baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000, ...settings });
  let told = "";
  const request = { model: "gpt-test", messages: [{ role: "user" as const, content: "x" }] };
  const answered = await model.complete(request, new AbortController().signal, (piece) => {
    told += piece;
  });
  return [answered, told];
}

describe("a streamed reply", () => {
  it.each<[string, Streaming | "document"]>([
    ["in pieces", {}],
    ["in one piece", { pieces: [TEXT] }],
    ["byte by byte, with split letters", { bytewise: true, pieces: [TEXT.slice(0, 30), TEXT.slice(30)] }],
    ["with comments, event names and CRLF", { fussy: true }],
    ["without its last mark", { ending: "no-done" }],
    ["from a server that does not stream", "document"],
  ])("%s is the same reply, with its usage", async (_title, streamed) => {
    const [answer, told] = await listen({ text: TEXT, streamed, usage: { prompt_tokens: 7, completion_tokens: 2 } });
    expect(answer).toEqual({
      kind: "replied",
      text: TEXT,
      finishReason: "stop",
      usage: { inputTokens: 7, outputTokens: 2, cachedTokens: 0, estimated: false },
    });
    expect(told).toBe(streamed === "document" ? "" : TEXT);
    expect(openServers()[0]?.violations).toEqual([]);
  });

  it.each<[where: string, last: object, code: string]>([
    [
      "beside the choices",
      { choices: [{ index: 0, delta: {}, finish_reason: "error" }], error: { code: 502 } },
      "server-error",
    ],
    [
      "in the choice",
      { choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 429 } }] },
      "rate-limited",
    ],
    ["in its finish_reason only", { choices: [{ index: 0, delta: {}, finish_reason: "error" }] }, "server-error"],
  ])("that ended in an error %s is a failure, even if it looks complete", async (_where, last, code) => {
    const body = `data: ${chunk(TEXT, null)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
    expect(await answerTo({ status: 200, headers: SSE, body })).toMatchObject({ kind: "failed", code });
    const [choice] = (last as { choices: object[] }).choices;
    const whole = { ...last, choices: [{ ...choice, message: { content: TEXT } }] };
    expect(await answerTo({ status: 200, body: whole })).toMatchObject({ kind: "failed", code });
  });

  it("of tool calls is assembled from its pieces", async () => {
    const toolCalls = [CALL, { ...CALL, id: "call_2" }];
    const [answer] = await listen({ text: null, finishReason: "tool_calls", toolCalls });
    expect(answer).toMatchObject({ text: `{"commands":[${COMMAND},${COMMAND}]}`, finishReason: "tool_calls" });
  });

  it("is passed to onText piece by piece before its end", async () => {
    const gate = Promise.withResolvers<void>();
    const { baseUrl } = await start({
      reply: [{ text: TEXT, streamed: { pause: { after: 2, until: gate.promise } } }],
    });
    const model = createOpenAIModel({ baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000 });
    let told = "";
    const answered = model.complete({ model: "m", messages: [{ role: "user", content: "x" }] }, live(), (piece) => {
      told += piece;
      if (told.length === 24) gate.resolve();
    });
    await gate.promise;
    expect(told).toBe(TEXT.slice(0, 24));
    expect(await answered).toMatchObject({ kind: "replied", text: TEXT });
  });

  it.each<[string, string]>([
    ["single line ends between events", ["a", "b"].map((piece) => `data: ${chunk(piece)}`).join("\n")],
    [
      "carriage returns, and no blank line at its end",
      `data: ${chunk("a", null)}\r\r: ping\r\rdata: ${chunk("b")}\r\rdata: [DONE]`,
    ],
    ["a single [DONE] line behind the last event", `data: ${chunk("ab")}\r\ndata: [DONE]\r\n`],
    [
      "an event in several data lines",
      `data: {"choices": [{"finish_reason": "stop",\ndata: "delta": {"content": "ab"}}]}\n\n`,
    ],
    ["a message in place of a delta", `data: ${chunk("ab").replace("delta", "message")}\n\n`],
    ["no blank behind the colon", `data:${chunk("ab")}\n\ndata:[DONE]\n\n`],
    ["a byte order mark", `\ufeffdata: ${chunk("ab")}\n\n`],
  ])("is read with %s", async (_title, body) => {
    expect(await answerTo({ status: 200, body, headers: SSE })).toMatchObject({ kind: "replied", text: "ab" });
  });

  it("is complete with its finish_reason, even if the connection breaks", async () => {
    const body = `data: ${chunk("ab")}\n\n`;
    const cut = { status: 200, body, headers: { ...SSE, "content-length": "9999" } };
    expect(await answerTo(cut, { idleTimeoutMs: 200 })).toMatchObject({ kind: "replied", text: "ab" });
  });
});

describe("an invalid stream", () => {
  const later = { afterMs: null };
  it.each<[string, Answer, string, RegExp]>([
    ["ends without finish_reason", ending("no-finish"), "incomplete-reply", /finish_reason/],
    ["is cut", ending("cut"), "incomplete-reply", /cut off/],
    ["holds an error", ending("error"), "server-error", /fell over/],
    ["holds data that is no JSON", ending("garbage"), "broken-reply", /not JSON/],
    [
      "ends before it begins",
      { status: 200, body: ": hello\n\n", headers: SSE },
      "incomplete-reply",
      /without a choice/,
    ],
    [
      "holds nothing but its end",
      { status: 200, body: "data: [DONE]\n\n", headers: SSE },
      "incomplete-reply",
      /without a choice/,
    ],
    ["is empty", { status: 200, body: "", headers: SSE }, "broken-reply", /empty/],
    ["is a web page", { status: 200, body: "<html>Log in</html>", headers: SSE }, "broken-reply", /Log in/],
    ["falls silent", ending("silence"), "timeout", /nothing, or only white space, came for 300 ms/],
    [
      "holds only pings from the middle on",
      ending("pings"),
      "timeout",
      /nothing, or only white space, came for 300 ms/,
    ],
    ["is a refusal", { text: null, refusal: "I will not." }, "refused", /I will not/],
  ])("%s: a failure", async (_title, answer, code, words) => {
    const failure = await answerTo(answer, { idleTimeoutMs: 300 });
    expect(failure).toMatchObject({ kind: "failed", code, message: expect.stringMatching(words) });
    expect(failure).toMatchObject({ retry: code === "refused" ? null : later });
    expect(openServers()[0]?.chats).toHaveLength(1);
  });

  it("with a status in its error is classified by that status", async () => {
    const streamed: Streaming = { ending: "error", error: { message: "slow down", code: 429 } };
    expect(await answerTo({ text: TEXT, streamed })).toMatchObject({ code: "rate-limited" });
  });

  it("of only pings ends at the total timeout", async () => {
    const answer: Answer = { text: "", streamed: { ending: "pings" } };
    expect(await answerTo(answer, { idleTimeoutMs: 50, timeoutMs: 400 })).toMatchObject({
      code: "timeout",
      message: expect.stringMatching(/400 ms/),
    });
  });

  it.each<[string, Answer]>([
    [
      "40 MB of events",
      { status: 200, body: `data: ${chunk("x".repeat(1000), null)}\n\n`.repeat(40_000), headers: SSE },
    ],
    ["one event of 40 MB", { status: 200, body: `data: ${"x".repeat(40_000_000)}`, headers: SSE }],
    [
      "a gzip bomb of events",
      { status: 200, body: gzipSync(": ping\n".repeat(10_000_000)), headers: { ...SSE, "content-encoding": "gzip" } },
    ],
  ])("of %s is not read to its end", async (_title, answer) => {
    expect(await answerTo(answer)).toMatchObject({ code: "reply-too-large", retry: null });
  });
});

describe("a server that rejects streaming", () => {
  const refusal = (message: string, param: string | null = null): Answer => ({
    status: 400,
    body: { error: { message, type: "invalid_request_error", param, code: null } },
  });
  it.each<[string, Answer, object]>([
    ["by its parameter", refusal("Unsupported value.", "stream"), { stream: undefined, stream_options: undefined }],
    ["in words", refusal("Streaming is not supported by this model."), { stream: undefined }],
    [
      "with FastAPI's list",
      { status: 422, body: { detail: [{ loc: ["body", "stream"], msg: "Extra inputs", input: {} }] } },
      { stream: undefined },
    ],
    ["without a word", { status: 400, body: "Bad Request" }, { stream: undefined }],
    [
      "for its options only",
      refusal("Unknown parameter: 'stream_options'."),
      { stream: true, stream_options: undefined },
    ],
  ])("%s gets no streaming from then on", async (_title, answer, sent) => {
    const server = await start({ reply: (_request, index) => (index === 0 ? answer : "fine") });
    const model = createOpenAIModel({ baseUrl: server.baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000 });
    const request = { model: "m", messages: [{ role: "user" as const, content: "x" }] };
    expect(await model.complete(request, live())).toMatchObject({
      code: "unsupported",
      retry: { afterMs: 0, isChanged: true },
    });
    for (const _ of [1, 2])
      expect(await model.complete(request, live())).toMatchObject({ kind: "replied", text: "fine" });
    expect(server.chats).toHaveLength(3);
    for (const chat of server.chats.slice(1))
      expect({ stream: undefined, stream_options: undefined, ...chat }).toMatchObject(sent);
    expect(server.violations).toEqual([]);
  });

  it("gets it for other models, and an unclear rejection counts only if the bare request works", async () => {
    const server = await start({ reply: () => refusal("No.") });
    const model = createOpenAIModel({ baseUrl: server.baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 20_000 });
    const request = { model: "m", messages: [{ role: "user" as const, content: "x" }] };
    expect(await model.complete(request, live())).toMatchObject({ code: "unsupported" });
    expect(await model.complete(request, live())).toMatchObject({ code: "bad-request", retry: null });
    await model.complete(request, live());
    expect(server.chats.map(({ stream }) => stream)).toEqual([true, undefined, true]);
    await model.complete({ ...request, model: "other" }, live());
    expect(server.chats.at(-1)).toMatchObject({ stream: true });
  });
});
