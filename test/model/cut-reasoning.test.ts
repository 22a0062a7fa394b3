import { afterEach, describe, expect, it } from "@jest/globals";
import { answerTo, closeServers } from "../helpers/ask-model.ts";
import type { RawAnswer } from "../helpers/openai-answers.ts";

afterEach(closeServers);

const USAGE = { prompt_tokens: 7, completion_tokens: 4_000, completion_tokens_details: { reasoning_tokens: 3_990 } };
const HALF_BLOCK = "<think>First I list the files";

const inOneDocument = (message: object, finishReason: string, usage: object): RawAnswer => ({
  status: 200,
  body: { choices: [{ index: 0, message, finish_reason: finishReason }], usage },
});
function asStream(message: object, finishReason: string, usage: object): RawAnswer {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const end = `${chunk({}, finishReason)}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
  const headers = { "content-type": "text/event-stream" };
  return { status: 200, headers, body: chunk({ role: "assistant" }) + chunk(message) + end };
}

const WAYS = [
  ["in one document", inOneDocument],
  ["as a stream", asStream],
] as const;
const CUT = WAYS.flatMap(([way, send]) =>
  [
    ["with hidden reasoning and no content", { content: null }, ""],
    ["with hidden reasoning and an empty content", { content: "" }, ""],
    ["with shown reasoning and no content", { reasoning_content: "First I list the files" }, ""],
    ["with half a block of reasoning", { content: HALF_BLOCK }, HALF_BLOCK],
  ].map(([title, message, text]) => [`${title}, ${way}`, send, message as object, text as string] as const),
);

describe("a reply that was cut off within its reasoning", () => {
  it.each(CUT)(
    "%s is a reply, with the tokens that the server counts as reasoning",
    async (_title, send, message, text) => {
      expect(await answerTo(send(message, "length", USAGE))).toEqual({
        kind: "replied",
        text,
        finishReason: "length",
        usage: { inputTokens: 7, outputTokens: 4_000, cachedTokens: 0, estimated: false },
        reasoningTokens: 3_990,
      });
    },
  );

  it.each(WAYS)("says nothing about reasoning that the server does not count, %s", async (_way, send) => {
    const usage = { prompt_tokens: 7, completion_tokens: 4_000 };
    expect(await answerTo(send({ content: null }, "length", usage))).not.toHaveProperty("reasoningTokens");
  });

  it.each(WAYS)("is a failure when the model ended it itself without a text, %s (control)", async (_way, send) => {
    expect(await answerTo(send({ content: null }, "stop", USAGE))).toMatchObject({
      kind: "failed",
      code: "incomplete-reply",
    });
  });
});
