import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import type { ModelAnswer, PromptMessage } from "#core/ports/model.ts";
import { activeFrame } from "#core/state.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { type Behaviour, languageModelContract } from "../contracts/models.ts";
import { afterRun, makeLoop } from "../helpers/loop.ts";
import { HANG, ledger, ledgerText, numberedModel, type ScriptedReply, scriptedModel } from "../helpers/models.ts";
import { askModel, createOpenAIModel } from "../helpers/openai-model.ts";
import {
  type Answer,
  answerTo,
  ask,
  closeServers,
  failure,
  KEY,
  openServers,
  type RawAnswer,
  start,
  startOpenAIServer,
} from "../helpers/openai-server.ts";

afterEach(closeServers);

const json = (body: unknown): RawAnswer => ({
  status: 200,
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

describe("a reply", () => {
  it("sends only the model, the messages and stream, with the key, once", async () => {
    const server = await start({ reply: "fine", apiKey: KEY });
    expect(await ask(server.baseUrl)).toMatchObject({ kind: "replied", text: "fine", finishReason: "stop" });
    const messages = [{ role: "user", content: "Which command?" }];
    const streaming = { stream: true, stream_options: { include_usage: true } };
    expect(server.chats).toEqual([{ model: "gpt-test", messages, ...streaming }]);
    expect(server.violations).toEqual([]);
    for (const header of ["openai-organization", "openai-project"])
      expect(server.requests[0]?.headers).not.toHaveProperty([header]);
  });

  it("sends temperature if set, and no key without one", async () => {
    const server = await start({ reply: "fine" });
    await ask(`${server.baseUrl}/`, { temperature: 0, apiKey: "" });
    expect(server.chats[0]).toMatchObject({ temperature: 0 });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  const TOOL_CALL = { id: "call_1", type: "function" };
  type Replied = Partial<Extract<ModelAnswer, { kind: "replied" }>>;
  const named = (name: string, args: string) => ({ ...TOOL_CALL, function: { name, arguments: args } });
  const call = named("do_nothing", "{}");
  const broken = named("do_nothing", "{'a");
  const [BROKEN, CALLS] = [broken, call].map((one) => JSON.stringify({ tool_calls: [one] })) as [string, string];
  const CUT = { text: "", finishReason: "length" };
  const used = failure(400, "Could not finish the message because max_tokens or model output limit was reached.");
  const SUM = '{ "sum": 12345678901234567890 }';
  const counted = (more: object): Answer => ({ text: "x", usage: { prompt_tokens: 7, completion_tokens: 2, ...more } });
  const usage = (cachedTokens: number) => ({
    usage: { inputTokens: 7, outputTokens: 2, cachedTokens, estimated: false },
  });
  const message = (of: object, finishReason = "stop"): RawAnswer =>
    json({ choices: [{ finish_reason: finishReason, message: of }] });
  const DONE = '{"command":{"name":"do_nothing","args":{}}}';
  const THOUGHT = `{"thoughts":{"text":"words"},${DONE.slice(1)}`;
  const BOTH = `{"commands":[{"name":"pay","args":${SUM}},{"name":"do_nothing","args":{}}]}`;
  const OLD_CALL = { content: null, function_call: call.function };
  const calling = (...toolCalls: (typeof call)[]) => ({ text: null, finishReason: "tool_calls", toolCalls });
  const commanding = (name: string, args: string) => ({ text: `{"command":{"name":"${name}","args":${args}}}` });
  const parts = [{ type: "thinking", thinking: [] }, ...["a", "b"].map((text) => ({ type: "text", text }))];
  const PLAIN = { "content-type": "text/plain" };
  const CACHED = [
    { prompt_tokens_details: { cached_tokens: 5 } },
    { prompt_cache_hit_tokens: 5, prompt_cache_miss_tokens: 2 },
    { cached_tokens: 5 },
    { cache_read_input_tokens: 5, cache_creation_input_tokens: 0 },
    { prompt_tokens_details: null, cached_tokens: 5 },
  ];

  it.each<[string, Answer, Replied]>([
    ["may be empty and keeps its finish reason", CUT, CUT],
    ["was cut off where the request is rejected because reasoning used up its maximum", used, CUT],
    ...CACHED.map((of): [string, Answer, Replied] => [`counts ${Object.keys(of)} as cached`, counted(of), usage(5)]),
    ["has no more of it from a cache than there was of it", counted({ cached_tokens: 900 }), usage(7)],
    ["has no usage when the server counts nothing", { text: "x", usage: null }, { usage: null }],
    ["has no usage when its numbers are none", counted({ prompt_tokens: "7", completion_tokens: -1 }), { usage: null }],
    ["of a tool call is a command, its arguments as sent", calling(named("pay", SUM)), commanding("pay", SUM)],
    ["of several tool calls has them in their order", calling(named("pay", SUM), call), { text: BOTH }],
    ["of a tool call without arguments has none", { text: null, toolCalls: [named("do_nothing", "")] }, { text: DONE }],
    ["of a tool call without JSON is kept as it came", { text: null, toolCalls: [broken] }, { text: BROKEN }],
    ["of text and tool calls has the text for thoughts", { text: "words", toolCalls: [call] }, { text: THOUGHT }],
    ["of text with JSON has the tool calls too", { text: "{}", toolCalls: [call] }, { text: `{}\n${CALLS}` }],
    ["of an old function call is that of a tool call", message(OLD_CALL, "function_call"), { text: DONE }],
    ["in parts is joined", message({ content: parts }), { text: "ab" }],
    ["under another type is still JSON", { ...message({ content: "plain" }), headers: PLAIN }, { text: "plain" }],
    ["may take its time", { text: "slow", delayMs: 300 }, { text: "slow" }],
  ])("%s", async (_title, answer, expected) => {
    expect(await answerTo(answer)).toMatchObject({ kind: "replied", ...expected });
  });
});

const later = { afterMs: null };
const MOVED: RawAnswer = { status: 307, headers: { location: "https://example.com/v1?key=1" } };
const packed = (body: string | Buffer): RawAnswer => ({ status: 200, headers: { "content-encoding": "gzip" }, body });
it.each<[string, Answer, string, object | null, RegExp]>([
  ["no choices", json({ object: "chat.completion", choices: [] }), "incomplete-reply", later, /without a choice/],
  ["a choice that is none", json({ choices: [null] }), "incomplete-reply", later, /without a choice/],
  ["an error with status 200", json({ error: { message: "it broke" } }), "server-error", later, /it broke/],
  ["a router's error with status 200", json({ error: { message: "slow", code: 429 } }), "rate-limited", later, /slow/],
  ["some other JSON", json({ hello: "world" }), "broken-reply", later, /not a chat completion.*hello/],
  ["a JSON list", json([1, 2]), "broken-reply", later, /no JSON object/],
  ["null", json(null), "broken-reply", later, /no JSON object/],
  ["nothing", json(undefined), "broken-reply", later, /It was empty/],
  ["a web page", { status: 200, body: "<title>Log in</title>" }, "broken-reply", later, /no JSON object.*Log in/],
  ["broken JSON", { ...json(1), body: '{"choices": [' }, "broken-reply", later, /no JSON object/],
  ["no finish_reason", { text: "half a rep", finishReason: null }, "incomplete-reply", later, /finish_reason/],
  ["an empty finish_reason", { text: "half a rep", finishReason: "" }, "incomplete-reply", later, /finish_reason/],
  ["no content and no reasoning", { text: null }, "incomplete-reply", later, /without text/],
  ["no message", json({ choices: [{ finish_reason: "stop" }] }), "incomplete-reply", later, /without text/],
  ["a refusal", { text: null, refusal: "I can't help with that." }, "refused", null, /I can't help with that/],
  ["a content filter", { text: null, finishReason: "content_filter" }, "refused", null, /content filter/],
  ["a body cut off", { fault: "cut" }, "incomplete-reply", later, /cut off/],
  ["a connection closed at once", { fault: "close" }, "connection-lost", later, /Is it still running/],
  ["no HTTP success and no body", { status: 500 }, "server-error", later, /answered 500/],
  ["a redirect", MOVED, "http-refused", null, /redirects to https:\/\/example.com\/v1;.*base URL/],
  ["10 MB of text", { text: "x".repeat(10_000_000) }, "reply-too-large", null, /at most 8388608/],
  ["10 MB of an error", { status: 405, body: "x".repeat(10_000_000) }, "bad-request", null, /at most 8388608 bytes/],
  ["a gzip bomb", packed(gzipSync(Buffer.alloc(64 << 20))), "reply-too-large", null, /at most/],
  ["gzip that is none", packed("not packed"), "incomplete-reply", later, /./],
])("an invalid reply is a failure: %s", async (_title, answer, code, retry, message) => {
  const failure = await answerTo(answer);
  expect(failure).toMatchObject({ kind: "failed", code, retry });
  const text = failure.kind === "failed" ? failure.message : "";
  expect(text).toMatch(message);
  expect(text).toContain("gpt-test");
  expect(text).toContain(openServers()[0]?.baseUrl);
  expect(text.length).toBeLessThan(800);
  expect(text).not.toMatch(/[\u0000-\u001f]/);
  expect(openServers()[0]?.chats).toHaveLength(1);
});

describe("a prompt of which the server counted too few tokens", () => {
  const running = [{ name: "llama" }, { name: "gpt-test:latest", context_length: 4_096 }];
  const messages = [{ role: "user" as const, content: "The harbour has many old ships. ".repeat(500) }];
  const completeWith = async (usage: object, options: object) => {
    const server = await start({ reply: [{ text: "ok", usage: { completion_tokens: 5, ...usage } }], ...options });
    return askModel(createOpenAIModel({ baseUrl: server.baseUrl }), { messages });
  };

  it("was cut by Ollama, which is a failure that names its context and what was spent", async () => {
    const answer = await completeWith({ prompt_tokens: 2_050 }, { running });
    expect(answer).toMatchObject({ kind: "failed", code: "context-overflow", limitTokens: 4_096 });
    expect(answer).toMatchObject({ usage: { inputTokens: 2_050, outputTokens: 5 } });
    expect(answer).toMatchObject({
      message: expect.stringMatching(/gpt-test with a context of 4,096.*OLLAMA_CONTEXT/),
    });
  });

  it.each<[title: string, usage: object, options: object]>([
    ["as many as the prompt has", { prompt_tokens: 3_500 }, { running }],
    ["all from its cache", { prompt_tokens: 50, cached_tokens: 3_450 }, { running }],
    ["of another server", { prompt_tokens: 2_050 }, {}],
    [
      "in a context that the prompt fits",
      { prompt_tokens: 50 },
      { running: [{ ...running[1], context_length: 5_400 }] },
    ],
    ["of a model that Ollama does not name", { prompt_tokens: 2_050 }, { running: running.slice(0, 1) }],
    ["without a usable list", { prompt_tokens: 2_050 }, { running: [null, { ...running[1], context_length: "4k" }] }],
  ])("is answered when it was not or nobody can tell: %s", async (_title, usage, options) => {
    expect(await completeWith(usage, options)).toMatchObject({ kind: "replied", text: "ok" });
  });
});

it("an abort in the middle of a body rejects with its reason and ends the connection", async () => {
  const server = await start({ reply: [{ fault: "stall-body" }] });
  const model = createOpenAIModel({ baseUrl: server.baseUrl });
  const controller = new AbortController();
  const reason = { why: "stop" };
  setTimeout(() => controller.abort(reason), 150);
  const request = { model: "m", messages: [{ role: "user" as const, content: "x" }] };
  await expect(model.complete(request, controller.signal)).rejects.toBe(reason);
});

it("asking a model and making vectors do not load the openai package", async () => {
  const script = `
    import { registerHooks } from "node:module";
    let loaded = 0;
    registerHooks({ resolve(name, context, next) { loaded += name === "openai" ? 1 : 0; return next(name, context); } });
    const { createOpenAIModel } = await import("#model/openai-model.ts");
    const { createOpenAIEmbedder } = await import("#model/openai-embedder.ts");
    const server = { baseUrl: "http://127.0.0.1:1/v1", apiKey: "k", timeoutMs: 1000, http: { to: () => async () => { throw new Error("no") } } };
    const model = createOpenAIModel(server);
    const { signal } = new AbortController();
    await model.complete({ model: "m", messages: [] }, signal);
    await createOpenAIEmbedder({ ...server, model: "m" }).embed(["x"], signal).catch(() => undefined);
    console.log(loaded);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    cwd: import.meta.dirname,
  });
  expect(stdout).toBe("0\n");
});

describe("the key", () => {
  const pieces = [KEY, KEY.slice(3), KEY.slice(0, 14), KEY.slice(-12), Buffer.from(`Bearer ${KEY}`).toString("base64")];
  const echoes = [
    ...pieces,
    `Bearer ${KEY}`,
    `${KEY.slice(0, 8)}*****${KEY.slice(-4)}`,
    `${KEY.slice(0, 7)}...${KEY.slice(-4)}`,
    JSON.stringify({ headers: { authorization: `Bearer ${KEY}` } }),
    encodeURIComponent(KEY),
    [...KEY].join("\u200b\u034f"),
    `${"x".repeat(190)} ${KEY}`,
  ];
  const ends = [KEY.slice(0, 8), KEY.slice(-4)];

  it.each(echoes)("is never in a message, even if the server echoes it: %j", async (echo) => {
    for (const status of [200, 400, 401, 403, 404, 429, 500]) {
      for (const body of [echo, { error: { message: `Bad key ${echo}.` } }, { error: echo }, { detail: [echo] }]) {
        const failure = await answerTo({ status, body });
        const text = JSON.stringify(failure).replaceAll(/\u200b|\u034f/g, "");
        expect(failure.kind).toBe("failed");
        for (const piece of [...pieces, ...ends]) expect(text).not.toContain(piece);
      }
    }
  });

  it("that was rejected hides the server's words, which may contain parts of it", async () => {
    const failure = await answerTo({ status: 401, body: { error: { message: "The key that ends in Lm2 is wrong" } } });
    expect(failure).toMatchObject({ message: expect.not.stringContaining("Lm2") });
  });

  it.each(["sk-with\nbreak-123", " sk-with-space", "sk-zażółć", "“sk-quoted”"])(
    "that fits into no header is refused unsent: %j",
    async (apiKey) => {
      const server = await start({ reply: "unheard" });
      const failure = await ask(server.baseUrl, { apiKey });
      const message = expect.stringContaining("OPENAI_API_KEY");
      expect(failure).toMatchObject({ code: "unauthorized", retry: null, message });
      expect(JSON.stringify(failure)).not.toContain(apiKey.slice(4));
      expect(server.requests).toEqual([]);
    },
  );

  it("is not sent to another origin", async () => {
    const thief = await start({ reply: "mine" });
    const location = `${thief.baseUrl}/chat/completions`;
    expect(await answerTo({ status: 308, headers: { location } })).toMatchObject({ code: "http-refused" });
    expect(thief.requests).toEqual([]);
  });

  it("in a base URL is refused, and messages show no query", async () => {
    for (const baseUrl of ["http://user:pass@127.0.0.1/v1", "127.0.0.1:1234", "", "ws://127.0.0.1/v1"])
      expect(() => createOpenAIModel({ baseUrl })).toThrow(expect.objectContaining({ code: "GOALD_CONFIG" }));
    const { baseUrl } = await start({ reply: [{ status: 500 }] });
    expect(JSON.stringify(await ask(`${baseUrl}?code=hidden`))).not.toContain("hidden");
  });
});

function answerOf(behaviour: Behaviour): Answer {
  if (behaviour === "hangs") return { fault: "stall" };
  return "says" in behaviour ? behaviour.says : { status: behaviour.refusesWith, body: { error: { message: "no" } } };
}

languageModelContract("the OpenAI model against a real server", async (script) => {
  const server = await startOpenAIServer({ reply: script.map(answerOf) });
  return {
    model: createOpenAIModel({ baseUrl: server.baseUrl }),
    seen: () => server.chats.map(({ messages }) => messages as readonly PromptMessage[]),
    close: server.close,
  };
});

const messages = [{ role: "user", content: "hi" }];
const good = { model: "m", messages };
it.each<[string, unknown]>([
  ["a misspelt parameter", { ...good, temprature: 1 }],
  ["a temperature of 99", { ...good, temperature: 99 }],
  ["no model", { messages }],
  ["no messages", { ...good, messages: [] }],
  ["an unknown role", { ...good, messages: [{ role: "narrator", content: "x" }] }],
  ["an empty message", { ...good, messages: [{ role: "user", content: "" }] }],
  ["a field of our own in a message", { ...good, messages: [{ role: "user", content: "x", step: 1 }] }],
  ["no JSON", undefined],
])("the test server refuses and records %s (control)", async (_title, body) => {
  const server = await start({ reply: "unheard" });
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  expect((await fetch(`${server.baseUrl}/chat/completions`, request)).status).toBe(400);
  expect([server.violations.length, server.chats]).toEqual([1, []]);
});

/** The loop and the client against a server that nobody here wrote (@copilotkit/aimock). */
const think = numberedModel(ledger(3));
let mock: LLMock;
beforeEach(async () => {
  mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  mock.on({ endpoint: "chat", predicate: () => true }, (request) => ({ content: think(request as never) }));
  await mock.start();
});
afterEach(() => mock.stop());

const client = () => ({ baseUrl: `${mock.url}/v1`, apiKey: "mock", http: createHttp(), timeoutMs: 20_000 });

const streamsOf = (mock: LLMock) => mock.getRequests().map(({ body }) => (body as { stream?: boolean } | null)?.stream);
const codesOf = (events: readonly RecordedEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === "model-failed" ? [event.code] : []));

describe("a foreign model server", () => {
  it("works with streams, from the first goal to the last", async () => {
    const loop = await makeLoop({ script: [], model: createOpenAIModel(client()) });
    const state = await loop.run();
    expect(activeFrame(state).phase.kind).toBe("resting");
    expect(loop.text("ledger.txt")).toBe(ledgerText(3));
    expect(state.usage).toMatchObject({ modelCalls: 4, estimated: false });
    expect(codesOf(await loop.events())).toEqual([]);
    expect(streamsOf(mock)).toEqual(Array(4).fill(true));
  });

  it("works without streams if it rejects them", async () => {
    mock.nextRequestError(400, { message: "stream is not supported", type: "invalid_request_error" });
    const loop = await afterRun(makeLoop({ script: [], model: createOpenAIModel(client()) }));
    expect(loop.text("ledger.txt")).toBe(ledgerText(3));
    expect(codesOf(await loop.events())).toEqual(["unsupported"]);
    expect(streamsOf(mock).at(-1)).toBeUndefined();
  });

  it("returns vectors", async () => {
    const embedder = createOpenAIEmbedder({ ...client(), model: "text-embedding-3-small" });
    const texts = ["rackets and strings", "a court of clay"];
    const [one, two] = await embedder.embed(texts, new AbortController().signal);
    expect(one?.length).toBeGreaterThan(100);
    expect(two?.length).toBe(one?.length);
  });
});

const failed = (code: string, retry: Extract<ModelAnswer, { kind: "failed" }>["retry"]): ModelAnswer => ({
  kind: "failed",
  code,
  message: "scripted",
  retry,
});
function replyOf(behaviour: Behaviour): ScriptedReply {
  if (behaviour === "hangs") return HANG;
  if ("says" in behaviour) return behaviour.says;
  return behaviour.refusesWith === 401 ? failed("unauthorized", null) : failed("rate-limited", { afterMs: null });
}

languageModelContract("the scripted model", async (script) => {
  const model = scriptedModel(script.map(replyOf));
  return { model, seen: () => model.requests.map(({ messages }) => messages), close: async () => undefined };
});
