import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import type { ModelAnswer } from "#core/ports/model.ts";
import { ChatStream } from "#model/chat-stream.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { askModel, createOpenAIModel } from "../helpers/openai-model.ts";
import {
  type Answer,
  answerTo,
  ask,
  chunk,
  closeServers,
  failure,
  openServers,
  SSE,
  type Streaming,
  start,
} from "../helpers/openai-server.ts";

afterEach(async () => {
  jest.useRealTimers();
  await closeServers();
});

const TEXT = `{"thoughts": {"text": "Zażółć 🎾 gęślą"}, "command": {"name": "do_nothing", "args": {}}}`;
const CALL = { id: "call_1", type: "function", function: { name: "do_nothing", arguments: '{"a": "b c d e f g h"}' } };
const COMMAND = `{"name":"${CALL.function.name}","args":${CALL.function.arguments}}`;

const PACKED = { ...SSE, "content-encoding": "gzip" };
const events = (body: string): Answer => ({ status: 200, headers: SSE, body });
const ending = (kind: Streaming["ending"]): Answer => ({ text: TEXT, streamed: kind ? { ending: kind } : {} });
const piece = (content: string, finishReason: string | null = null): string => chunk({ content }, finishReason);
const END = `${chunk({}, "stop")}data: [DONE]\n\n`;

/** The answer, and the text as it was told piece by piece. */
async function listen(answer: Answer, onText = (_told: string) => {}): Promise<[ModelAnswer, string]> {
  const { baseUrl } = await start({ reply: [answer] });
  let told = "";
  const answered = await askModel(createOpenAIModel({ baseUrl }), {}, (text) => {
    told += text;
    onText(told);
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
    const usage = { inputTokens: 7, outputTokens: 2, cachedTokens: 0, estimated: false };
    expect(answer).toEqual({ kind: "replied", text: TEXT, finishReason: "stop", usage });
    expect(told).toBe(streamed === "document" ? "" : TEXT);
    expect(openServers()[0]?.violations).toEqual([]);
  });

  const last = (more: object = {}) => ({ choices: [{ index: 0, delta: {}, finish_reason: "error", ...more }] });
  it.each<[where: string, last: object, code: string]>([
    ["beside the choices", { ...last(), error: { code: 502 } }, "server-error"],
    ["in the choice", last({ error: { code: 429 } }), "rate-limited"],
    ["in its finish_reason only", last(), "server-error"],
    ["in vLLM's finish_reason only", last({ finish_reason: "abort" }), "server-error"],
  ])("that ended in an error %s is a failure, even if it looks complete", async (_where, last, code) => {
    const body = `${piece(TEXT)}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
    expect(await answerTo(events(body))).toMatchObject({ kind: "failed", code });
    const [choice] = (last as { choices: object[] }).choices;
    const whole = { ...last, choices: [{ ...choice, message: { content: TEXT } }] };
    expect(await answerTo({ status: 200, body: whole })).toMatchObject({ kind: "failed", code });
  });

  it("of tool calls is assembled from its pieces", async () => {
    const toolCalls = [CALL, { ...CALL, id: "call_2" }];
    const answer = await answerTo({ text: null, finishReason: "tool_calls", toolCalls });
    const text = `{"commands":[${COMMAND},${COMMAND}]}`;
    expect(answer).toMatchObject({ text, finishReason: "tool_calls" });
    // Some servers give each call the number 0, also without an id, or send the name again, or end with an empty call.
    const piece = (id: string, args = CALL.function.arguments) =>
      chunk({ tool_calls: [{ index: 0, id, function: { ...CALL.function, arguments: args } }] });
    const rest = chunk({ tool_calls: [{ index: 0, function: { arguments: CALL.function.arguments } }] });
    const namedAgain = piece("1", '{"a"') + piece("1", ': "b c d e f g h"}') + piece("2");
    const withoutId = piece("") + piece("") + chunk({ tool_calls: [{ index: 9, function: { name: "" } }] });
    for (const each of [namedAgain, withoutId, piece("1", "") + rest + piece("2", "") + rest])
      expect(await answerTo(events(each + END))).toMatchObject({ text });
  });

  it("of more than 64 tool calls has the first 64, and keeps no piece of the others", () => {
    const stream = new ChatStream(undefined, Number.POSITIVE_INFINITY);
    const take = (index: number, args: string) => {
      const call = { index, id: `${index}`, function: { name: "do_nothing", arguments: args } };
      stream.take(chunk({ tool_calls: [call] }).slice("data: ".length));
    };
    for (let index = 0; index < 64; index++) take(index, "{}");
    // What is kept counts towards the 8 MB of a reply, and more is an error.
    for (let piece = 0; piece < 9; piece++) take(64, "x".repeat(1024 * 1024));
    expect(stream.completion()).toMatchObject({ choices: [{ message: { tool_calls: { length: 64 } } }] });
  });

  it("is passed to onText piece by piece before its end", async () => {
    const gate = Promise.withResolvers<void>();
    const pause = { after: 2, until: gate.promise };
    const seen: string[] = [];
    const [answer] = await listen({ text: TEXT, streamed: { pause } }, (told) => {
      seen.push(told);
      if (told.length === 24) gate.resolve();
    });
    expect(seen).toContain(TEXT.slice(0, 24));
    expect(answer).toMatchObject({ kind: "replied", text: TEXT });
  });

  /** One event without its end. */
  const line = (content: string, finishReason: string | null = "stop") => piece(content, finishReason).trimEnd();
  it.each<[string, string]>([
    ["single line ends between events", `${line("a")}\n${line("b")}`],
    ["carriage returns, and no blank line", `${line("a", null)}\r\r: ping\r\r${line("b")}\r\rdata: [DONE]`],
    ["a single [DONE] line behind the last event", `${line("ab")}\r\ndata: [DONE]\r\n`],
    ["several data lines", `data: {"choices": [{"finish_reason": "stop",\ndata: "delta": {"content": "ab"}}]}\n\n`],
    ["a message in place of a delta", `${line("ab").replace("delta", "message")}\n\n`],
    ["no blank behind the colon", `${line("ab").replace("data: ", "data:")}\n\ndata:[DONE]\n\n`],
    ["events without data", `data:\n\n${line("a", null)}\n\ndata: \n\n${line("b")}\n\n`],
    ["a byte order mark", `\ufeff${line("ab")}\n\n`],
  ])("is read with %s", async (_title, body) => {
    expect(await answerTo(events(body))).toMatchObject({ kind: "replied", text: "ab" });
  });

  it("is complete with its finish_reason, even if the connection breaks", async () => {
    const cut = { status: 200, body: piece("ab", "stop"), headers: { ...SSE, "content-length": "9999" } };
    expect(await answerTo(cut, { idleTimeoutMs: 600 })).toMatchObject({ kind: "replied", text: "ab" });
    expect(await answerTo(events(piece("ab", "model_length")))).toMatchObject({ finishReason: "length" });
  });
});

describe("an invalid stream", () => {
  const later = { afterMs: null };
  it.each<[string, Answer, string, RegExp]>([
    ["ends without finish_reason", ending("no-finish"), "incomplete-reply", /finish_reason/],
    ["is cut", ending("cut"), "incomplete-reply", /cut off/],
    ["holds an error", ending("error"), "server-error", /fell over/],
    ["holds data that is no JSON", ending("garbage"), "broken-reply", /not JSON/],
    ["ends before it begins", events(": hello\n\n"), "incomplete-reply", /without a choice/],
    ["holds nothing but its end", events("data: [DONE]\n\n"), "incomplete-reply", /without a choice/],
    ["is empty", events(""), "broken-reply", /empty/],
    ["is a web page", events("<html>Log in</html>"), "broken-reply", /Log in/],
    ["falls silent", ending("silence"), "timeout", /nothing, or only white space, came for 300 ms/],
    ["is a refusal", { text: null, refusal: "I will not." }, "refused", /I will not/],
  ])("%s: a failure", async (_title, answer, code, words) => {
    const retry = code === "refused" ? null : later;
    const expected = { kind: "failed", code, retry, message: expect.stringMatching(words) };
    expect(await answerTo(answer, code === "timeout" ? { idleTimeoutMs: 300 } : {})).toMatchObject(expected);
    expect(openServers()[0]?.chats).toHaveLength(1);
  });

  it.each([
    [{ message: "slow down", code: 429 }, "rate-limited"],
    [{ message: "slow down", code: "rate_limit_exceeded" }, "rate-limited"],
    [{ message: "You exceeded your current quota.", type: "insufficient_quota", code: null }, "quota-exhausted"],
    [{ message: "no", code: "invalid_api_key" }, "unauthorized"],
    [{ message: "no", type: "authentication_error" }, "unauthorized"],
    [{ message: "busy", type: "overloaded_error" }, "server-error"],
  ])("with the status or its name in an error %j is classified by it", async (error, code) => {
    const streamed: Streaming = { ending: "error", error };
    expect(await answerTo({ text: TEXT, streamed })).toMatchObject({ code });
  });

  it.each<[string, Answer]>([
    ["40 MB of events", events(piece("x".repeat(1000)).repeat(40_000))],
    ["one event of 40 MB", events(`data: ${"x".repeat(40_000_000)}`)],
    ["a gzip bomb of events", { status: 200, body: gzipSync(": ping\n".repeat(10_000_000)), headers: PACKED }],
  ])("of %s is not read to its end", async (_title, answer) => {
    expect(await answerTo(answer)).toMatchObject({ code: "reply-too-large", retry: null });
  });
});

it("a refused stream is sent to other models, and an unclear refusal counts if the bare request works", async () => {
  const server = await start({ reply: () => failure(400, "No.") });
  const model = createOpenAIModel({ baseUrl: server.baseUrl });
  expect(await askModel(model)).toMatchObject({ code: "unsupported" });
  expect(await askModel(model)).toMatchObject({ code: "bad-request", retry: null });
  await askModel(model);
  await askModel(model, { model: "other" });
  expect(server.chats.map(({ stream }) => stream)).toEqual([true, undefined, true, true]);
});

/** Asks a server that writes this stream. */
async function answerToStream(
  write: (outgoing: ServerResponse) => Promise<void>,
  settings: { readonly timeoutMs: number; readonly idleTimeoutMs: number },
): Promise<ModelAnswer> {
  await using server = await listenOnLoopback((incoming, outgoing) => {
    incoming.resume();
    outgoing.on("error", () => undefined);
    outgoing.writeHead(200, SSE);
    void write(outgoing);
  });
  return await ask(`${server.origin}/v1`, settings);
}

/** Asks a server that writes `begin`, and then `text` until the client closes the connection. */
const answerToEndless = (begin: string, text: string): Promise<ModelAnswer> =>
  answerToStream(
    async (outgoing) => {
      outgoing.write(begin);
      const closed = once(outgoing, "close").then(() => true);
      do outgoing.write(text);
      while (!(await Promise.race([closed, sleep(20, false)])));
    },
    // A busy machine may take its time until output has begun.
    { timeoutMs: begin === "" ? 300 : 10_000, idleTimeoutMs: 150 },
  );

const choice = (index: number | undefined, content: string, finishReason: string | null = null): object => ({
  ...(index === undefined ? {} : { index }),
  delta: { content },
  finish_reason: finishReason,
});
const pieces = (...choices: readonly object[]): string => `data: ${JSON.stringify({ choices })}\n\n`;

describe("of several choices in one stream", () => {
  it.each<[title: string, stream: string]>([
    [
      "in turns",
      pieces(choice(0, "a")) + pieces(choice(1, "X")) + pieces(choice(0, "b")) + pieces(choice(1, "Y", "stop")),
    ],
    ["in one piece", pieces(choice(1, "X"), choice(0, "a")) + pieces(choice(0, "b"), choice(1, "Y"))],
    ["with the second one first", pieces(choice(1, "X", "stop")) + pieces(choice(0, "ab"))],
    ["without numbers", pieces(choice(undefined, "a"), choice(undefined, "X")) + pieces(choice(undefined, "b"))],
  ])("only the first is read: %s", async (_title, stream) => {
    expect(await answerTo(events(stream + END))).toMatchObject({ kind: "replied", text: "ab" });
  });

  it("the second one alone is not a reply", async () => {
    expect(await answerTo(events(pieces(choice(1, "X", "stop"))))).toMatchObject({ code: "incomplete-reply" });
  });
});

const thought = { role: "assistant", content: null, reasoning_content: "First I weigh what there is." };
it.each<[kind: string, answer: (finishReason: string) => Answer]>([
  ["stream", (reason) => events(chunk(thought) + chunk({}, reason))],
  ["document", (reason) => ({ status: 200, body: { choices: [{ message: thought, finish_reason: reason }] } })],
])("reasoning without an answer is an empty reply, for which a reason can be given: %s", async (_kind, answer) => {
  for (const finishReason of ["stop", "length"])
    expect(await answerTo(answer(finishReason))).toMatchObject({ kind: "replied", text: "", finishReason });
});

it("a filtered reply is a refusal, even when its command is complete", async () => {
  const command = '{"command": {"name": "do_nothing", "args": {}}}';
  const stream = `${piece(command)}${piece("", "content_filter")}data: [DONE]\n\n`;
  expect(await answerTo(events(stream))).toMatchObject({ kind: "failed", code: "refused" });
});

describe("a stream that brings no output is silent", () => {
  const calling = (text: string): object => ({ tool_calls: [{ index: 0, id: "c", function: { arguments: text } }] });
  const thinking = (text: string): object => ({ reasoning_details: [{ type: "reasoning.text", index: 0, text }] });
  const [EMPTY, BLANK, OUTPUT] = [piece(""), piece(" "), piece("a")];
  it.each<[of: string, begin: string, text: string, message: RegExp]>([
    ["comments before the first output", "", ": ping\n\n", /no reply had begun after 300 ms/],
    ["comments after it", OUTPUT, ": ping\n\n", /nothing, or only white space, came for 150 ms/],
    ["empty pieces", OUTPUT, EMPTY, /nothing, or only white space, came for 150 ms/],
    ["blanks before the first output", "", BLANK, /no reply had begun after 300 ms/],
    ["blanks after it", OUTPUT, BLANK, /only white space, came for 150 ms/],
    ["line breaks as reasoning", chunk({ reasoning_content: "a" }), chunk({ reasoning_content: "\n" }), /white space/],
    ["blanks in the arguments of a call", chunk(calling("{")), chunk(calling("  ")), /only white space/],
    ["blank parts of reasoning", chunk(thinking("a")), chunk(thinking(" ")), /only white space, came for 150 ms/],
    ["empty events", OUTPUT, "data: {}\n\n", /nothing, or only white space, came for 150 ms/],
    ["one endless line", `${OUTPUT}data: `, "abc", /nothing, or only white space, came for 150 ms/],
  ])("of %s", async (_of, begin, text, message) => {
    const answer = await answerToEndless(begin, text);
    expect(answer).toMatchObject({ kind: "failed", code: "timeout", message: expect.stringMatching(message) });
  });

  it("of events that follow a complete reply, which stays complete", async () => {
    expect(await answerToEndless(piece("ab", "stop"), EMPTY)).toMatchObject({ kind: "replied", text: "ab" });
  });
});

describe("a slow stream that brings output", () => {
  it("keeps a long run of white space in its text", async () => {
    const text = `if x:\n${" ".repeat(3_000)}y()`;
    const stream = [...text].map((letter) => piece(letter)).join("");
    expect(await answerTo(events(stream + END))).toMatchObject({ kind: "replied", text });
  });

  it("may last longer than the wait for its beginning", async () => {
    // The silence between two pieces passes where the test says so.
    jest.useFakeTimers({ doNotFake: ["Date", "nextTick", "performance", "queueMicrotask", "setImmediate"] });
    const [first = "", ...others] = "abcdefghijkl";
    const answered = Promise.withResolvers<ServerResponse>();
    await using server = await listenOnLoopback((incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(200, SSE).write(piece(first));
      answered.resolve(outgoing);
    });
    const model = createOpenAIModel({ baseUrl: `${server.origin}/v1`, timeoutMs: 100, idleTimeoutMs: 100 });
    const outgoing = answered.promise;
    const answer = await askModel(model, {}, () => {
      jest.advanceTimersByTime(70);
      const letter = others.shift();
      void outgoing.then((to) => (letter ? to.write(piece(letter)) : to.end(END)));
    });
    expect(answer).toMatchObject({ kind: "replied", text: "abcdefghijkl" });
  });
});
