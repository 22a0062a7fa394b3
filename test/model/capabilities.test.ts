import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import { openJsonCache } from "#config/private-file.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { createTermsKeeper, FULL_TERMS, type SentParts, stepDown } from "#model/capabilities.ts";
import { withMargin } from "#model/chat-stream.ts";
import { mergeIntoTurns } from "#model/openai-model.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { useFolder } from "../helpers/folder.ts";
import { askModel, createOpenAIModel } from "../helpers/openai-model.ts";
import {
  type Answer,
  chunk,
  closeServers,
  failure,
  openServers,
  type RawAnswer,
  SSE,
  start,
} from "../helpers/openai-server.ts";

afterEach(closeServers);

const CAP = 1_000;
const SENT: SentParts = {
  mode: "json_schema",
  parts: new Set(["stream", "stream_options", "temperature"]),
  turns: false,
  cap: null,
  isBare: false,
};
const WORD = "seven eight ";
const fastApi = (parameter: string) => ({ detail: [{ loc: ["body", parameter], msg: "Extra", input: {} }] });

/** A client of a server with these answers. */
async function client(answers: readonly Answer[], settings: object = {}): Promise<LanguageModel> {
  const { baseUrl } = await start({ reply: answers });
  return createOpenAIModel({ baseUrl, ...settings });
}
const ask = (model: LanguageModel): Promise<ModelAnswer> => askModel(model, { maxTokens: CAP });
const chats = () => openServers().flatMap((server) => server.chats);
/** Both names of the cap in each request. */
const caps = () => chats().map((chat) => `${chat.max_completion_tokens ?? "none"}, ${chat.max_tokens ?? "none"}`);

/** A stream that repeats one delta `times` times, and then ends with a short reply and this usage. */
function streamOf(delta: object, times: number, usage?: object): RawAnswer {
  const end = usage ? `data: ${JSON.stringify({ choices: [], usage })}\n\n` : "";
  const body = `${chunk(delta).repeat(times)}${chunk({ content: "done" })}${chunk({}, "stop")}${end}data: [DONE]\n\n`;
  return { status: 200, headers: SSE, body };
}

describe("the cap of a reply", () => {
  it.each<[server: string, RawAnswer]>([
    ["OpenAI's older models", failure(400, "Unrecognized request argument supplied: max_completion_tokens")],
    ["FastAPI", { status: 422, body: fastApi("max_completion_tokens") }],
    ["a server that names nothing", failure(400, "Bad request")],
  ])("is sent as max_completion_tokens, and as max_tokens to %s from then on", async (_server, refusal) => {
    const model = await client([refusal, "ok", "ok"]);
    expect(await ask(model)).toMatchObject({ kind: "failed", code: "unsupported", retry: { isChanged: true } });
    expect(await ask(model)).toMatchObject({ kind: "replied" });
    await ask(model);
    expect(caps()).toEqual([`${CAP}, none`, `none, ${CAP}`, `none, ${CAP}`]);
  });

  it.each<[server: string, message: string, most: number]>([
    ["OpenAI", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", 16_384],
    ["Groq", "`max_completion_tokens` must be less than or equal to `8192`", 8_192],
    ["Anthropic", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", 8_192],
    ["DeepSeek", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192],
  ])("stays below the maximum that %s names", (_server, message, replyTokens) => {
    const sent: SentParts = { ...SENT, cap: { name: "max_completion_tokens", tokens: 100_000 } };
    const terms = { ...FULL_TERMS, replyTokens };
    expect(stepDown(FULL_TERMS, sent, rejects(message))).toEqual({ kind: "change", terms });
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
    expect(await ask(model)).toMatchObject({ kind: "failed", code: "cap-ignored", retry: { isChanged: true } });
    const second = await ask(model);
    const message = expect.stringContaining("at most 1000 tokens (max_tokens), and sent at least 12");
    expect(second).toMatchObject({ code: "cap-ignored", retry: null, message });
    if (second.kind !== "failed") throw new Error("It was not cut off.");
    expect(second.usage?.outputTokens).toBeGreaterThan(withMargin(CAP));
    expect(second.usage?.outputTokens).toBeLessThan(withMargin(CAP) + 50);
    expect(caps()).toEqual([`${CAP}, none`, `none, ${CAP}`]);
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

  const thinking = { reasoning_content: " thinking".repeat(50) };
  const blanks = (count: number) => ({ content: " ".repeat(count) });
  const word = { content: "word" };
  it.each<[what: string, within: RawAnswer, beyond: RawAnswer]>([
    ["long words", streamOf(thinking, CAP / 50), streamOf(thinking, (4 * CAP) / 50)],
    ["long runs of white space", streamOf(blanks(128), CAP), streamOf(blanks(256), CAP)],
    ["words in the margin", streamOf(word, withMargin(CAP) - 2), streamOf(word, withMargin(CAP) + 2)],
  ])("is not cut off when its %s are within the cap", async (_what, within, beyond) => {
    expect(await ask(await client([within]))).toMatchObject({ kind: "replied" });
    expect(await ask(await client([beyond]))).toMatchObject({ kind: "failed", code: "cap-ignored" });
  });
});

describe("a complete reply that exceeds its cap", () => {
  const long = { text: "ok", usage: { prompt_tokens: 7, completion_tokens: 60_000 } };

  it.each<[how: string, streamed: object]>([
    ["in one document", { streamed: "document" }],
    ["as a stream of hidden reasoning", {}],
  ])("%s is kept, and the server's behaviour is named once no other name is left", async (_how, streamed) => {
    const model = await client(Array(2).fill({ ...long, ...streamed }));
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

  const details = { completion_tokens_details: { reasoning_tokens: 500 } };
  it.each<[title: string, usage: object]>([
    ["only in the total", { prompt_tokens: 10, completion_tokens: 20, total_tokens: 530 }],
    ["only in the details", { prompt_tokens: 10, completion_tokens: 20, ...details }],
    ["in those of the completion", { prompt_tokens: 10, completion_tokens: 520, total_tokens: 530, ...details }],
  ])("is found when reasoning is counted %s", async (_title, usage) => {
    expect(await ask(await client([{ text: "ok", usage }]))).toMatchObject({ usage: { outputTokens: 520 } });
  });
});

it("the effort of reasoning is sent as set, and left out once the server refuses it", async () => {
  const refusal = failure(400, "Unsupported parameter: 'reasoning_effort' is not supported with this model.");
  const model = await client([refusal, "ok"], { reasoningEffort: "low" });
  expect(await ask(model)).toMatchObject({ code: "unsupported" });
  await ask(model);
  expect(chats().map((chat) => chat.reasoning_effort)).toEqual(["low", undefined]);
});

const STOP = ["\nOBSERVATION"];
const RUNS_ON = "I add.\nACTION 1:\n1 + 1\nOBSERVATION 1:\n3\nTHOUGHT 2:";
const CUT = "I add.\nACTION 1:\n1 + 1";

/** Asks as often as there are answers. */
async function askToStop(...answers: readonly Answer[]): Promise<readonly ModelAnswer[]> {
  const model = await client(answers);
  const replies: ModelAnswer[] = [];
  for (const _ of answers) replies.push(await askModel(model, { mode: "react", stop: STOP }));
  return replies;
}

describe("the texts that end a reply", () => {
  it("are sent without a response format, cut a reply that runs on, and all of it counts", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 40 };
    const cut = { text: CUT, finishReason: "stop" };
    const replies = await askToStop(RUNS_ON, { text: RUNS_ON, finishReason: "length", usage });
    expect(replies).toMatchObject([cut, { ...cut, usage: { outputTokens: 40 } }]);
    expect(chats()[0]).toMatchObject({ stop: STOP });
    expect(chats()[0]).not.toHaveProperty("response_format");
    expect(openServers()[0]?.violations).toEqual([]);
  });

  it("do not cut in the reasoning before the reply, also where that was cut off itself", async () => {
    const thought = "<think>Then\nOBSERVATION 1 comes";
    const half = { text: thought, finishReason: "length" };
    expect(await askToStop(`${thought}.</think>${RUNS_ON}`, half)).toMatchObject([
      { text: `${thought}.</think>${CUT}` },
      half,
    ]);
  });

  it("are not in a request without them, whose reply stays whole (control)", async () => {
    expect(await askModel(await client([RUNS_ON]), { mode: "code" })).toMatchObject({ text: RUNS_ON });
    expect(chats()[0]).not.toHaveProperty("stop");
  });

  it.each(["Unsupported parameter: 'stop' is not supported with this model.", "stop sequences are not allowed"])(
    "are left out from then on where a server rejects them: %s",
    async (message) => {
      const replies = await askToStop(failure(400, message), RUNS_ON, RUNS_ON);
      expect(chats().map(({ stop, stream }) => [stop, stream])).toEqual(
        [STOP, undefined, undefined].map((stop) => [stop, true]),
      );
      const refused = { kind: "failed", code: "unsupported", retry: { isChanged: true } };
      expect(replies).toMatchObject([refused, { text: CUT }, { text: CUT }]);
    },
  );

  it("stay when the server rejects something else (control)", async () => {
    await askToStop(failure(400, "Unknown field stream_options"), CUT);
    expect(chats().map(({ stop }) => stop)).toEqual([STOP, STOP]);
  });
});

const at = useFolder();
const rejects = (message: string, status = 400) => ({ status, body: JSON.stringify({ error: { message } }) });
const clock = fakeClock();
const keeper = (server = "http://a/v1") => createTermsKeeper(server, clock, openJsonCache(at(), "model-servers.json"));

describe("the terms of a model server", () => {
  it("persist per server and model in their own file", async () => {
    await keeper().learnFromRejection("m", SENT, rejects("json_schema is not supported"));
    await keeper("http://b/v1").learnFromRejection("m", SENT, rejects("stream is not supported"));
    await keeper().noteContext("n", 4096);
    expect(await keeper().of("m")).toEqual({ ...FULL_TERMS, mode: "json_object" });
    expect(await keeper().of("n")).toEqual({ ...FULL_TERMS, contextTokens: 4096 });
    expect(await keeper("http://b/v1").of("m")).toEqual({ ...FULL_TERMS, without: ["stream"] });
    expect(await keeper("http://c/v1").of("m")).toEqual(FULL_TERMS);
    expect((await stat(at("model-servers.json"))).mode & 0o777).toBe(0o600);
  });

  it("expire after a week", async () => {
    await keeper().learnFromRejection("m", SENT, rejects("json_schema is not supported"));
    await clock.advance(7 * 24 * 3_600_000 - 1_000);
    expect((await keeper().of("m")).mode).toBe("json_object");
    await clock.advance(2_000);
    expect((await keeper().of("m")).mode).toBe("json_schema");
  });

  it.each([
    ...["", "no JSON", "[]", '{"version": 2}'],
    '{"version":1,"servers":{"http://a/v1":{"m":{"terms":{"mode":"x"}}}}}',
  ])("are ignored in a file with %j", async (content) => {
    await writeFile(at("model-servers.json"), content);
    expect(await keeper().of("m")).toEqual(FULL_TERMS);
    await keeper().learnFromRejection("m", SENT, rejects("json_schema is not supported"));
    expect((await keeper().of("m")).mode).toBe("json_object");
  });

  it("are kept in memory if the file cannot be written", async () => {
    await rm(at(), { recursive: true });
    const terms = keeper();
    await terms.learnFromRejection("m", SENT, rejects("json_schema is not supported"));
    expect((await terms.of("m")).mode).toBe("json_object");
  });

  it("do not keep a trial that failed", async () => {
    const terms = keeper();
    expect(await terms.learnFromRejection("m", SENT, rejects("No."))).toBe(true);
    expect((await terms.of("m")).mode).toBe("plain");
    expect(await keeper().of("m")).toEqual(FULL_TERMS);
    expect(await terms.learnFromRejection("m", { ...SENT, mode: "plain", isBare: true }, rejects("No."))).toBe(false);
    expect(await terms.of("m")).toEqual(FULL_TERMS);
    await terms.learnFromRejection("m", SENT, rejects("No."));
    await terms.taken("m");
    expect((await keeper().of("m")).mode).toBe("plain");
  });

  it("that a trial tries hold for a request that was sent before it", async () => {
    const { baseUrl } = await start({ reply: ({ stream }) => (stream ? failure(400, "Bad request") : "ok") });
    const model = createOpenAIModel({ baseUrl });
    const refused = { code: "unsupported", retry: { isChanged: true } };
    expect(await Promise.all([ask(model), ask(model)])).toMatchObject([refused, refused]);
    expect(await Promise.all([ask(model), ask(model)])).toMatchObject([{ kind: "replied" }, { kind: "replied" }]);
  });

  it("count a reply that the server could not read itself as unreadable, and not as a rejection", async () => {
    const unread = failure(400, "Failed to generate JSON.", "json_validate_failed");
    const model = await client([unread, unread, "ok"]);
    for (const _ of [1, 2, 3]) await askModel(model, { mode: "plan" });
    const json = { response_format: { type: "json_object" }, stream: true };
    expect(chats()).toMatchObject([json, json, { stream: true }]);
    expect(chats()[2]).not.toHaveProperty("response_format");
  });

  it("count only consecutive unreadable replies in the current mode", async () => {
    const terms = keeper();
    for (const isReadable of [false, true, false]) await terms.noteReply("m", "json_schema", isReadable);
    expect((await terms.of("m")).mode).toBe("json_schema");
    await terms.noteReply("m", "json_schema", false);
    expect((await terms.of("m")).mode).toBe("json_object");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "json_schema", false);
    expect((await terms.of("m")).mode).toBe("json_object");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "json_object", false);
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "plain", false);
    expect((await terms.of("m")).mode).toBe("plain");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "plan", false);
    expect((await terms.of("m")).without).toEqual(["json_object"]);
    expect(JSON.parse(await readFile(at("model-servers.json"), "utf8"))).toMatchObject({ version: 1 });
  });
});

describe("the message of a rejection", () => {
  const FIRST_KEYS = "Invalid schema: Objects provided via 'anyOf' must not share identical first keys.";
  const TOO_MANY_STATES = "The schema produces a constraint that has too many states for serving. response_format";
  const NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0.5 with this model.";
  it.each<[string, number, string, object]>([
    ["Groq", 400, "This model does not support response format `json_schema`.", { mode: "json_object" }],
    ["OpenAI", 400, "Invalid schema for response_format 'reply': In context=()", { mode: "json_object" }],
    ["OpenAI, of first keys", 400, FIRST_KEYS, { mode: "json_object" }],
    ["DeepSeek", 400, "This response_format type is unavailable now", { mode: "json_object" }],
    ["LM Studio", 400, "'response_format.type' must be 'text'", { mode: "plain" }],
    ["vLLM", 400, "The guided decoding backend failed to compile the grammar", { mode: "json_object" }],
    ["Gemini", 400, TOO_MANY_STATES, { mode: "json_object" }],
    ["OpenRouter", 404, "No endpoints found that can handle the requested parameters.", { mode: "plain" }],
    ["a template", 500, "Conversation roles must alternate user/assistant/user/assistant/...", { turns: true }],
    ["OpenAI o-series", 400, NO_TEMPERATURE, { without: ["temperature"] }],
    ["a proxy", 400, "Unknown field stream_options", { without: ["stream_options"] }],
    ["an organization", 400, "Your organization must be verified to stream this model.", { without: ["stream"] }],
    ["a server without streams", 400, "Streaming is not supported by this model.", { without: ["stream"] }],
  ])("of %s is understood", (_title, status, message, change) => {
    const terms = { ...FULL_TERMS, ...change };
    expect(stepDown(FULL_TERMS, SENT, rejects(message, status))).toEqual({ kind: "change", terms });
  });

  it.each<[string, object]>([
    ["the parameter that it names", { error: { message: "Unsupported value.", param: "stream" } }],
    ["FastAPI's list", fastApi("stream")],
    ["Mistral's list", { object: "error", message: fastApi("stream"), param: null, code: null }],
  ])("is understood by %s", (_title, body) => {
    const terms = { ...FULL_TERMS, without: ["stream"] };
    expect(stepDown(FULL_TERMS, SENT, { status: 400, body: JSON.stringify(body) })).toEqual({ kind: "change", terms });
  });

  it.each<[string, number, string]>([
    ["a busy server", 503, "response_format is fine, I am not"],
    ["a broken stream", 500, "stream closed"],
    ["a missing model", 404, "The model does not exist"],
  ])("of %s is not", (_title, status, message) => {
    expect(stepDown(FULL_TERMS, SENT, rejects(message, status)).kind).toBe("none");
  });

  it("does not come from the request that FastAPI echoes", () => {
    const detail = [{ loc: ["body", "messages"], msg: "bad", input: { stream: true, response_format: {} } }];
    expect(stepDown(FULL_TERMS, SENT, { status: 422, body: JSON.stringify({ detail }) }).kind).toBe("unnamed");
  });

  it("about a part that was not sent changes nothing", () => {
    const bare: SentParts = { ...SENT, parts: new Set(), mode: "plain", isBare: true };
    expect(stepDown(FULL_TERMS, bare, rejects("stream, temperature, response_format")).kind).toBe("unnamed");
  });

  it.each([
    ["the JSON of an action", "plan", "json_object", "response_format is not supported", { without: ["json_object"] }],
    [
      "an earlier call",
      "tools",
      "tools",
      "A call is missing a thought_signature, required for tools.",
      { turns: true },
    ],
  ] as const)("about %s leaves the mode of other replies and the tools", (_about, mode, part, message, change) => {
    const sent: SentParts = { ...SENT, mode, parts: SENT.parts.union(new Set([part])) };
    const terms = { ...FULL_TERMS, ...change };
    expect(stepDown(FULL_TERMS, sent, rejects(message))).toEqual({ kind: "change", terms });
  });

  it("never undoes what another agent learned meanwhile", () => {
    const plain = { ...FULL_TERMS, mode: "plain" as const };
    expect(stepDown(plain, SENT, rejects("json_schema"))).toEqual({ kind: "change", terms: plain });
  });
});

it("mergeIntoTurns joins neighbours and puts a user message before the first assistant", () => {
  const rules = { role: "system", content: "rules" } as const;
  const answer = { role: "assistant", content: "a" } as const;
  const user = (content: string) => ({ role: "user" as const, content });
  const turns = [rules, { role: "user", content: expect.any(String) }, answer, user("b\n\nc")];
  expect(mergeIntoTurns([rules, answer, user("b"), user("c")])).toEqual(turns);
});
