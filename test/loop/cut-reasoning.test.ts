import { afterEach, describe, expect, it } from "@jest/globals";
import type { ReplyForm } from "#core/agent-settings.ts";
import { spentOf } from "#core/limits.ts";
import { isFinished } from "#core/state.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import type { Answer, ChatRequest } from "../helpers/openai-answers.ts";
import { closeProseLoops, makeProseLoop, python } from "../helpers/prose-loop.ts";

afterEach(closeProseLoops);

/** Tokens of reasoning before each reply. */
const REASONING = 9_000;
const roomOf = () => ({ contextTokens: 32_000, replyTokens: 4_000, windowTokens: 200_000 });
const capOf = (request: ChatRequest): number => request.max_completion_tokens ?? Number.POSITIVE_INFINITY;

/** A model that reasons before it answers, and answers only when the maximum of the request leaves tokens for that. */
function reasoning(answers: readonly string[], cutReply: object, reasoningTokens = REASONING) {
  let answered = 0;
  return (request: ChatRequest): Answer => {
    const cap = capOf(request);
    if (cap > reasoningTokens) return answers[answered++] ?? "";
    const usage = { completion_tokens: cap, completion_tokens_details: { reasoning_tokens: cap } };
    return { finishReason: "length", usage: { prompt_tokens: 1_000, ...usage }, ...cutReply };
  };
}

const FORMS: readonly (readonly [ReplyForm, readonly string[]])[] = [
  ["json", [done()]],
  ["tools", [done()]],
  ["plan", [JSON.stringify({ action: "modify_task", args: { id: "0", state: "verified" } }), '{"action":"finish"}']],
  ["react", [`THOUGHT 1:\nI end.\n\nACTION 1:\n${python("stop()")}`]],
  ["code", ["All is done."]],
];
const CUT_REPLIES: readonly (readonly [string, object])[] = [
  ["as a stream without text", { text: null }],
  ["in one document without text", { text: null, streamed: "document" }],
  ["as a stream with half a block of reasoning", { text: "<think>First I list.\nOBSERVATION: none" }],
  ["in one document with half a block of reasoning", { text: "<think>First I list", streamed: "document" }],
];

describe("a reply that was cut off within its reasoning", () => {
  it.each(FORMS.flatMap(([form, answers]) => CUT_REPLIES.map(([way, cut]) => [form, way, answers, cut] as const)))(
    "in the form %s, %s, gives the next reply more tokens, and says where they went",
    async (form, _way, answers, cut) => {
      const cells = { "stop()": () => ({ stop: {} }) };
      const { loop, server } = await makeProseLoop(form, reasoning(answers, cut), cells, { roomOf });
      expect(isFinished(await loop.run())).toBe(true);
      expect(server.chats.map(capOf)).toEqual([4_000, ...answers.map(() => 16_000)]);
      const events = await loop.events();
      expect(events.filter(({ type }) => type === "model-failed")).toEqual([]);
      const rejected = events.filter((event) => event.type === "reply-rejected");
      expect(rejected).toMatchObject([
        {
          problems: [
            expect.stringMatching(/cut off after 4000 tokens, 4000 of them reasoning, before an answer began/),
          ],
          reasoningTokens: 4_000,
        },
      ]);
      expect(server.violations).toEqual([]);
    },
  );

  it("pauses the agent at the largest maximum, with the tokens of reasoning and the setting that allows more", async () => {
    const model = reasoning([done()], { text: null }, 300_000);
    const { loop, server } = await makeProseLoop("json", model, {}, { roomOf });
    const { paused } = await loop.run();
    expect(server.chats.map(capOf)).toEqual([4_000, 16_000, 64_000]);
    expect(paused).toMatchObject({ code: "bad-replies" });
    expect(paused?.reason).toMatch(/Reasoning took 84000 tokens of replies that were cut off before an answer began/);
    expect(paused?.reason).toMatch(/setting models\.replyTokens \(GOALD_MODELS_REPLY_TOKENS\)/);
  });

  it("is not named in the pause after other unreadable replies (control)", async () => {
    const { loop } = await makeProseLoop("json", ["no", "not", "nothing"], {}, { roomOf });
    expect((await loop.run()).paused?.reason).toBe("3 replies in a row could not be read as one command in JSON.");
  });

  it("gives no more tokens after a whole block of reasoning that the model ended without an answer", async () => {
    const { loop, server } = await makeProseLoop("json", ["<think>I end.</think>", done()], {}, { roomOf });
    expect(isFinished(await loop.run())).toBe(true);
    expect(server.chats.map(capOf)).toEqual([4_000, 4_000]);
    const [rejected] = await loop.of("reply-rejected");
    expect(rejected).not.toHaveProperty("reasoningTokens");
  });

  it("counts with its whole maximum at a server that reports no usage", async () => {
    const cut = { kind: "replied", text: "", finishReason: "length", usage: null } as const;
    const loop = await makeLoop({ script: [cut, reply("do_nothing")], settings: { stepLimit: 1 }, roomOf });
    const state = await loop.run();
    expect(spentOf(state).tokens).toBeGreaterThan(4_000);
    expect(state.usage).toMatchObject({ outputTokens: 4_000, estimated: true });
  });
});
