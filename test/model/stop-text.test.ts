import { afterEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { closeServers, start } from "../helpers/ask-model.ts";
import type { Answer } from "../helpers/openai-server.ts";

afterEach(closeServers);

const STOP = ["\nOBSERVATION"];
const RUNS_ON = "I add.\nACTION 1:\n1 + 1\nOBSERVATION 1:\n3\nTHOUGHT 2:";
const CUT = "I add.\nACTION 1:\n1 + 1";

/** Asks as often as there are answers. */
async function asked(answers: readonly Answer[], stop: readonly string[] | undefined = STOP) {
  const server = await start({ reply: answers });
  const model = createOpenAIModel({ baseUrl: server.baseUrl, apiKey: "k", http: createHttp(), timeoutMs: 20_000 });
  const request = { model: "gpt-test", messages: [{ role: "user" as const, content: "Add." }], mode: "react" as const };
  const replies = [];
  for (const _ of answers)
    replies.push(await model.complete({ ...request, ...(stop ? { stop } : {}) }, new AbortController().signal));
  return { replies, chats: server.chats, violations: server.violations };
}

const refusal = (message: string): Answer => ({ status: 400, body: { error: { message } } });

describe("the texts that end a reply", () => {
  it("are sent, and no response format with them", async () => {
    const { replies, chats, violations } = await asked([CUT]);
    expect(chats[0]).toMatchObject({ stop: STOP });
    expect(chats[0]).not.toHaveProperty("response_format");
    expect(replies[0]).toMatchObject({ text: CUT, finishReason: "stop" });
    expect(violations).toEqual([]);
  });

  it("cut a reply that runs on, even one that reached its limit, and all of it counts", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 40 };
    const { replies } = await asked([RUNS_ON, { text: RUNS_ON, finishReason: "length", usage }]);
    expect(replies[0]).toMatchObject({ text: CUT, finishReason: "stop" });
    expect(replies[1]).toMatchObject({ text: CUT, finishReason: "stop", usage: { outputTokens: 40 } });
  });

  it("do not cut in the reasoning before the reply", async () => {
    const { replies } = await asked([`<think>Then\nOBSERVATION 1 comes.</think>${RUNS_ON}`]);
    expect(replies[0]).toMatchObject({ text: `<think>Then\nOBSERVATION 1 comes.</think>${CUT}` });
  });

  it("do not cut reasoning that was cut off itself", async () => {
    const text = "<think>Then\nOBSERVATION 1 comes";
    const { replies } = await asked([{ text, finishReason: "length" }]);
    expect(replies[0]).toMatchObject({ text, finishReason: "length" });
  });

  it("are not in a request without them, whose reply stays whole (control)", async () => {
    const server = await start({ reply: [RUNS_ON] });
    const model = createOpenAIModel({ baseUrl: server.baseUrl, apiKey: "k", http: createHttp(), timeoutMs: 20_000 });
    const messages = [{ role: "user" as const, content: "Add." }];
    const reply = await model.complete({ model: "gpt-test", messages, mode: "code" }, new AbortController().signal);
    expect(server.chats[0]).not.toHaveProperty("stop");
    expect(reply).toMatchObject({ text: RUNS_ON });
  });

  it.each(["Unsupported parameter: 'stop' is not supported with this model.", "stop sequences are not allowed"])(
    "are left out from then on where a server rejects them: %s",
    async (message) => {
      const { replies, chats } = await asked([refusal(message), RUNS_ON, RUNS_ON]);
      expect(chats.map((chat) => chat.stop)).toEqual([STOP, undefined, undefined]);
      expect(chats.map((chat) => chat.stream)).toEqual([true, true, true]);
      expect(replies).toMatchObject([
        { kind: "failed", code: "unsupported", retry: { isChanged: true } },
        { text: CUT },
        { text: CUT },
      ]);
    },
  );

  it("stay when the server rejects something else (control)", async () => {
    const { chats } = await asked([refusal("Unknown field stream_options"), CUT]);
    expect(chats.map((chat) => chat.stop)).toEqual([STOP, STOP]);
  });
});
