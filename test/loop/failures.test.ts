import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { OutputMode, PauseCode } from "#core/event.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import { ledger, ledgerText, numberedModel, scriptedModel } from "../helpers/models.ts";
import { createOpenAIModel } from "../helpers/openai-model.ts";
import { type Answer, type ChatRequest, type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const KEY = "sk-planted-5Wn2cX8vTq1";

interface Given {
  /** The answer to the request with that index when it fails; undefined when it succeeds. */
  fails(request: ChatRequest, index: number): Answer | undefined;
  readonly fallbackModel?: string;
  readonly baseUrl?: (baseUrl: string) => string;
  readonly temperature?: number;
  readonly settings?: Partial<AgentSettings>;
}

/** The real loop and the real client against a real server, with a fake clock. */
async function startScenario({ fails, baseUrl = (url) => url, temperature, ...options }: Given) {
  const think = numberedModel(ledger(2));
  let isMended = false;
  const server: OpenAIServer = await startOpenAIServer({
    reply: (request, index) => (isMended ? undefined : fails(request, index)) ?? think(request),
    apiKey: KEY,
  });
  const given = temperature === undefined ? {} : { temperature };
  const model = createOpenAIModel({ baseUrl: baseUrl(server.baseUrl), apiKey: KEY, timeoutMs: 60_000, ...given });
  const loop = await makeLoop({ script: [], model, ...options });
  const mend = () => {
    isMended = true;
  };
  return { server, loop, mend, [Symbol.asyncDispose]: server.close };
}

/** Every command ran once, and the log is sound. */
async function expectOnce(loop: Loop): Promise<void> {
  expect(loop.text("ledger.txt")).toBe(ledgerText(2));
  const started = (await loop.of("command-started")).map(({ callId }) => callId);
  expect(new Set(started).size).toBe(started.length);
  expect(JSON.stringify(await loop.events())).not.toContain(KEY);
  expect((await loop.store.verify()).problems).toEqual([]);
}

const isDone = (state: AgentState): boolean => activeFrame(state).phase.kind === "resting";
const failures = async (loop: Loop): Promise<readonly string[]> =>
  (await loop.of("model-failed")).map(({ code }) => code);

const error = (status: number, message: string, code: string | null = null, headers = {}): Answer => ({
  status,
  headers,
  body: { error: { message, type: "x", param: null, code } },
});
const CUT: Answer = { text: '{"thoughts": {"text": "half of it', streamed: { ending: "cut" } };
const PAGE: Answer = { status: 200, body: "<html><h1>Log in</h1></html>" };
const TOO_LONG = "This model's maximum context length is 3,000 tokens. However, you requested 9000.";
const OVERFLOW = error(400, TOO_LONG, "context_length_exceeded");
const first = (times: number, answer: Answer) => (_request: ChatRequest, index: number) =>
  index < times ? answer : undefined;
const BACKGROUND = { background: true } as const;
const HOUR = { "retry-after": "3600" };
const seconds = (...all: readonly number[]): readonly number[] => all.map((each) => each * 1_000);

/** Failures that pass after `times` attempts; `slept` are the waits between attempts in milliseconds. */
it.each<[title: string, answer: Answer, times: number, code: string, slept: readonly number[]]>([
  ["408", error(408, "slow"), 3, "timeout", seconds(1, 2, 4)],
  ["409", error(409, "locked"), 3, "conflict", seconds(1, 2, 4)],
  ["429 until a time", error(429, "later", null, { "retry-after": "90" }), 1, "rate-limited", seconds(90)],
  ["429 until a far time", error(429, "later", null, HOUR), 2, "rate-limited", seconds(3600, 3600)],
  ["429 without a time", error(429, "too many"), 7, "rate-limited", seconds(1, 2, 4, 8, 16, 32, 60)],
  ["500", error(500, "oops"), 6, "server-error", seconds(1, 2, 4, 8, 16, 32)],
  ["503", error(503, "loading"), 1, "unavailable", seconds(1)],
  ["a reset", { fault: "close" }, 6, "connection-lost", seconds(1, 2, 4, 8, 16, 32)],
  ["a web page with status 200", PAGE, 2, "broken-reply", seconds(1, 2)],
  ["a stream cut off", CUT, 2, "incomplete-reply", seconds(1, 2)],
])("retries a temporary failure and continues after %s", async (_title, answer, times, code, slept) => {
  await using given = await startScenario({ fails: first(times, answer) });
  const { loop, server } = given;
  expect(isDone(await loop.run())).toBe(true);
  expect(await failures(loop)).toEqual(Array(times).fill(code));
  expect(loop.clock.slept).toEqual(slept);
  expect(server.chats).toHaveLength(times + 3);
  expect(server.violations).toEqual([]);
  await expectOnce(loop);
});

describe("pauses for lasting failures and continues after a resume", () => {
  it.each<[title: string, answer: Answer, tries: number, pause: PauseCode]>([
    ["401", error(401, `Incorrect API key provided: ${KEY}`, "invalid_api_key"), 1, "key-refused"],
    ["403", error(403, "Country not supported"), 1, "model-refused"],
    ["404 model_not_found", error(404, "The model does not exist", "model_not_found"), 1, "model-refused"],
    ["402", error(402, "Insufficient credits"), 1, "key-refused"],
    ["400 for good", error(400, "Invalid value."), 2, "model-refused"],
    ["500 for ever", error(500, "oops"), 7, "model-unreachable"],
    ["408 for ever", error(408, "slow"), 4, "model-unreachable"],
    ["429 for ever", error(429, "too many", null, HOUR), 8, "model-unreachable"],
    ["a reset for ever", { fault: "close" }, 7, "model-unreachable"],
    ["a web page for ever", PAGE, 3, "model-unreachable"],
    ["a cut stream for ever", CUT, 3, "model-unreachable"],
    ["an overflow that no shorter prompt helps", OVERFLOW, 2, "prompt-too-long"],
    ["refusals for ever", { text: null, refusal: "I will not." }, 3, "bad-replies"],
  ])("after %s", async (_title, answer, tries, pause) => {
    await using given = await startScenario({ fails: () => answer });
    const { loop, server, mend } = given;
    expect((await loop.run()).paused?.code).toBe(pause);
    expect(server.chats).toHaveLength(tries);
    mend();
    await loop.tell({ type: "resume" });
    expect(isDone(await loop.run())).toBe(true);
    await expectOnce(loop);
  });

  it("pauses after the first attempt for an unknown host", async () => {
    const baseUrl = () => "http://no-such-host.invalid/v1";
    await using given = await startScenario({ fails: () => undefined, baseUrl });
    expect((await given.loop.run()).paused).toMatchObject({ code: "model-unreachable" });
    expect(await failures(given.loop)).toEqual(["unknown-host"]);
  });

  it("pauses after seven attempts for a server that is down", async () => {
    await using given = await startScenario({ fails: () => undefined });
    await given.server.close();
    expect((await given.loop.run()).paused).toMatchObject({ code: "model-unreachable" });
    expect(await failures(given.loop)).toEqual(Array(7).fill("no-connection"));
  });

  it("pauses after eight attempts, whatever the failures are", async () => {
    const answers = [error(500, "a"), error(408, "b"), error(409, "c"), error(429, "d"), PAGE, CUT];
    await using given = await startScenario({ fails: (_request, index) => answers[index % answers.length] });
    const reason = expect.stringMatching(/^The model did not answer 8 times in a row\. .*408.*b/);
    expect((await given.loop.run()).paused).toMatchObject({ code: "model-unreachable", reason });
    expect(given.server.chats).toHaveLength(8);
  });
});

describe("an agent in the background whose server is out of order", () => {
  it.each<[title: string, answer: Answer, tries: number, code: string]>([
    ["500", error(500, "oops"), 7, "server-error"],
    ["503", error(503, "loading"), 7, "unavailable"],
    ["a reset", { fault: "close" }, 7, "connection-lost"],
    ["408", error(408, "slow"), 4, "timeout"],
    ["429 without a time", error(429, "too many"), 8, "rate-limited"],
  ])("retries every minute until the server works again, then continues: %s", async (_title, answer, tries, code) => {
    const times = tries + 20;
    await using given = await startScenario({ fails: first(times, answer), settings: BACKGROUND });
    const { loop, server } = given;
    const state = await loop.run();
    expect(isDone(state)).toBe(true);
    expect(state.outage).toBeNull();
    expect(activeFrame(state)).toMatchObject({ failedTries: [], modelFailures: 0 });
    expect(await failures(loop)).toEqual(Array(times).fill(code));
    for (const waited of loop.clock.slept.slice(tries)) expect(waited).toBeGreaterThanOrEqual(60_000);
    expect(loop.clock.slept.slice(tries - 1)).toEqual(Array(21).fill(60_000));
    expect(server.chats).toHaveLength(times + 3);
    await expectOnce(loop);
  });

  it.each<[string, Answer, isCharged: boolean]>([
    ["counts each attempt that the server may charge for", error(500, "oops"), true],
    ["does not count attempts that the server turned away", error(503, "loading"), false],
  ])("%s, also in a long outage", async (_title, answer, isCharged) => {
    await using given = await startScenario({ fails: first(40, answer), settings: BACKGROUND });
    const state = await given.loop.run();
    const [asked] = await given.loop.of("model-asked");
    expect(state.lost.tokens).toBe(isCharged ? 40 * (asked?.reservedTokens ?? 0) : 0);
    expect(state.usage.modelCalls).toBe(given.server.chats.length);
  });

  it("pauses at its deadline, and pauses for lasting failures", async () => {
    const settings = { ...BACKGROUND, deadline: "2026-11-20T09:00:00.000Z" };
    await using limited = await startScenario({ fails: () => error(503, "no"), settings });
    expect((await limited.loop.run()).paused).toMatchObject({ code: "time-limit" });

    const fails: Given["fails"] = (_request, index) =>
      index < 9 ? error(503, "no") : error(401, "no", "invalid_api_key");
    await using refused = await startScenario({ fails, settings: BACKGROUND });
    expect((await refused.loop.run()).paused).toMatchObject({ code: "key-refused" });
  });

  it("retries at once when a person resumes the agent", async () => {
    let isDown = true;
    const fails = () => (isDown ? error(503, "no", null, { "retry-after": "7200" }) : undefined);
    await using given = await startScenario({ fails, settings: BACKGROUND });
    const { loop } = given;
    const until = new Error("a person comes");
    const sleep = loop.clock.sleep;
    loop.clock.sleep = async (ms, signal) => {
      if (loop.clock.slept.length >= 9) throw until;
      return sleep.call(loop.clock, ms, signal);
    };
    await expect(loop.run()).rejects.toBe(until);
    loop.clock.sleep = sleep;
    isDown = false;
    const before = loop.clock.now().getTime();
    await loop.tell({ type: "resume" });
    expect(isDone(await loop.run())).toBe(true);
    expect(loop.clock.now().getTime() - before).toBeLessThan(7_200_000);
  });
});

const modesOf = async (loop: Loop): Promise<readonly string[]> =>
  (await loop.of("model-asked")).map(({ mode }) => mode);

describe("leaves out request features that the server rejects", () => {
  const formatOf = ({ response_format: format }: ChatRequest): string => format?.type ?? "plain";
  const BARE: Answer = { status: 400, body: "Bad Request" };
  const EXTRA = { status: 422, body: { detail: [{ loc: ["body", "stream_options"], msg: "extra" }] } };
  const TEMPERATURE = error(400, "Unsupported value: 'temperature'");
  const NO_STREAM = error(400, "stream is not supported");
  type Rejects = (request: ChatRequest) => Answer | false | undefined;
  it.each<[title: string, rejects: Rejects, modes: readonly string[], extra: number]>([
    [
      "json_schema, then json_object",
      (request) => formatOf(request) !== "plain" && error(400, `json_schema or json_object: ${formatOf(request)} no`),
      ["json_schema", "json_object", "plain"],
      2,
    ],
    ["streams", ({ stream }) => stream && NO_STREAM, ["json_schema"], 1],
    [
      "streams and response_format without a reason",
      (request) => (request.stream || request.response_format !== undefined) && BARE,
      ["json_schema", "plain"],
      1,
    ],
    ["the temperature", ({ temperature }) => temperature !== undefined && TEMPERATURE, ["json_schema"], 1],
    ["stream_options", (request) => request.stream_options !== undefined && EXTRA, ["json_schema"], 1],
  ])("when the server rejects %s", async (_title, rejects, modes, extra) => {
    await using given = await startScenario({ fails: (request) => rejects(request) || undefined, temperature: 0.5 });
    const { loop, server } = given;
    expect(isDone(await loop.run())).toBe(true);
    expect(server.chats).toHaveLength(3 + extra);
    expect([...new Set(await modesOf(loop))]).toEqual(modes);
    expect(server.violations).toEqual([]);
    expect(loop.clock.slept).toEqual([]);
    await expectOnce(loop);
  });

  it("merges messages so that roles alternate, also when the server rejects them with status 500", async () => {
    const inTurns = ({ messages }: ChatRequest): boolean =>
      messages.slice(1).every(({ role }, index) => role === (index % 2 === 0 ? "user" : "assistant"));
    const refusal = error(500, "Conversation roles must alternate user/assistant/user/assistant/...");
    await using given = await startScenario({ fails: (request) => (inTurns(request) ? undefined : refusal) });
    expect(isDone(await given.loop.run())).toBe(true);
    expect(await failures(given.loop)).toEqual(["unsupported"]);
    await expectOnce(given.loop);
  });

  it("leaves out a response format after two unreadable replies in a row", async () => {
    const fails: Given["fails"] = (request) =>
      formatOf(request) === "json_schema" ? "Certainly! I would begin." : undefined;
    await using given = await startScenario({ fails });
    expect(isDone(await given.loop.run())).toBe(true);
    expect((await modesOf(given.loop)).slice(0, 3)).toEqual(["json_schema", "json_schema", "json_object"]);
    await expectOnce(given.loop);
  });
});

const CHARS = 9_000;
const size = ({ messages }: ChatRequest): number => messages.reduce((sum, { content }) => sum + content.length, 0);
it.each<[string, Answer]>([
  ["an answer that names the limit", OVERFLOW],
  [
    "an answer without a number",
    error(400, "the request exceeds the available context size", "exceed_context_size_error"),
  ],
  ["status 413", { status: 413, body: "Payload too large" }],
])("a prompt that is too long is shortened, and stays short, after %s", async (_title, answer) => {
  const text = "word ".repeat(700);
  const server = await startOpenAIServer({
    reply: (request) => {
      if (size(request) > CHARS * 2) return answer;
      const { length } = request.messages;
      const isWritten = length > 5 && JSON.stringify(request.messages).includes("write_to_file:");
      return isWritten ? done() : reply("write_to_file", { file: `${length}.txt`, text });
    },
  });
  const model = createOpenAIModel({ baseUrl: server.baseUrl });
  const loop = await makeLoop({ script: [], model, settings: { stepLimit: 12 } });
  const state = await loop.run();
  await server.close();
  expect(state.paused?.code ?? "done").not.toBe("prompt-too-long");
  const codes = await failures(loop);
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(["context-overflow"]));
  expect(codes.length).toBeLessThanOrEqual(3);
  expect(state.step).toBeGreaterThan(3);
});

it("the response format is counted as part of the request, and left out when it does not fit", async () => {
  const first = async (contextTokens: number, mode: Exclude<OutputMode, "tools">) => {
    const scripted = scriptedModel([done()]);
    const terms = async () => ({ mode, contextTokens: null }) as const;
    const loop = await makeLoop({ script: [], model: { ...scripted, terms }, contextTokens });
    expect(isDone(await loop.run())).toBe(true);
    const [asked] = await loop.of("model-asked");
    return { mode: asked?.mode, reservedTokens: asked?.reservedTokens ?? 0, sent: scripted.requests[0]?.mode };
  };
  const bare = await first(8_000, "json_object");
  const whole = await first(8_000, "json_schema");
  expect(whole).toMatchObject({ mode: "json_schema", sent: "json_schema" });
  expect(whole.reservedTokens).toBeGreaterThan(bare.reservedTokens + 500);
  expect(await first(bare.reservedTokens + 100, "json_schema")).toEqual(bare);
});

describe("the fallback model", () => {
  const own = ({ model }: ChatRequest): boolean => model === "test-model";
  it.each<[string, Answer, number]>([
    ["takes over when the agent's own model is gone", error(404, "no such model", "model_not_found"), 1],
    ["takes over when the agent's own model refuses for good", error(403, "no access"), 1],
    ["takes over when the server's next time is in two hours", error(429, "later", null, { "retry-after": "7200" }), 1],
    ["takes over when the agent's own model fails three times", error(500, "oops"), 3],
  ])("%s", async (_title, answer, tries) => {
    const fails: Given["fails"] = (request) => (own(request) ? answer : undefined);
    await using given = await startScenario({ fails, fallbackModel: "spare" });
    const { loop, server } = given;
    const state = await loop.run();
    expect(isDone(state)).toBe(true);
    const models = server.chats.map(({ model }) => model);
    expect(models).toEqual([...Array(tries).fill("test-model"), "spare", "spare", "spare"]);
    expect(state.fallback?.model).toBe("spare");
    await expectOnce(loop);
  });

  it("is used for an hour, then the agent's own model is tried and kept when it answers", async () => {
    const answers = [error(404, "gone"), error(429, "later", null, { "retry-after": "4000" })];
    const fails: Given["fails"] = (_request, index) => answers[index];
    await using given = await startScenario({ fails, fallbackModel: "spare", settings: BACKGROUND });
    const state = await given.loop.run();
    expect(isDone(state)).toBe(true);
    const models = given.server.chats.map(({ model }) => model);
    expect(models).toEqual(["test-model", "spare", "test-model", "test-model", "test-model"]);
    expect(state.fallback).toBeNull();
  });

  it.each<[string, Answer, PauseCode, tries: number]>([
    ["is not used for failures of the server itself", error(401, "no"), "key-refused", 1],
    ["pauses the agent when it fails too", error(404, "gone"), "model-refused", 2],
  ])("%s", async (_title, answer, pause, tries) => {
    await using given = await startScenario({ fails: () => answer, fallbackModel: "spare" });
    expect((await given.loop.run()).paused?.code).toBe(pause);
    expect(given.server.chats).toHaveLength(tries);
  });
});
