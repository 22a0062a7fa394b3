import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { ModelAnswer } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const choice = (index: number | undefined, content: string, finishReason: string | null = null): object => ({
  ...(index === undefined ? {} : { index }),
  delta: { content },
  finish_reason: finishReason,
});
const chunk = (...choices: readonly object[]): string => event({ choices });
const END = `${chunk({ index: 0, delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;

/** Asks a server that writes this stream. */
async function answerTo(
  write: (outgoing: ServerResponse) => void | Promise<void>,
  settings: { readonly timeoutMs?: number; readonly idleTimeoutMs?: number } = {},
): Promise<ModelAnswer> {
  await using server = await listenOnLoopback((incoming, outgoing) => {
    incoming.resume();
    outgoing.on("error", () => undefined);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    void write(outgoing);
  });
  const baseUrl = `${server.origin}/v1`;
  const model = createOpenAIModel({ baseUrl, apiKey: "k", http: createHttp(), timeoutMs: 20_000, ...settings });
  const messages = [{ role: "user" as const, content: "x" }];
  return await model.complete({ model: "m", messages }, new AbortController().signal);
}

/** Repeats a text until the client closes the connection. */
async function repeat(outgoing: ServerResponse, text: string): Promise<void> {
  const closed = once(outgoing, "close");
  for (let isOver = false; !isOver; ) {
    outgoing.write(text);
    isOver = await Promise.race([closed.then(() => true), sleep(20, false)]);
  }
}

describe("of several choices in one stream", () => {
  it.each<[title: string, stream: string]>([
    ["in turns", chunk(choice(0, "a")) + chunk(choice(1, "X")) + chunk(choice(0, "b")) + chunk(choice(1, "Y", "stop"))],
    ["in one piece", chunk(choice(1, "X"), choice(0, "a")) + chunk(choice(0, "b"), choice(1, "Y"))],
    ["with the second one first", chunk(choice(1, "X", "stop")) + chunk(choice(0, "ab"))],
    ["without numbers", chunk(choice(undefined, "a"), choice(undefined, "X")) + chunk(choice(undefined, "b"))],
  ])("only the first is read: %s", async (_title, stream) => {
    expect(await answerTo((outgoing) => void outgoing.end(stream + END))).toMatchObject({
      kind: "replied",
      text: "ab",
    });
  });

  it("the second one alone is not a reply", async () => {
    const stream = `${chunk(choice(1, "X"))}${chunk(choice(1, "", "stop"))}data: [DONE]\n\n`;
    expect(await answerTo((outgoing) => void outgoing.end(stream))).toMatchObject({ code: "incomplete-reply" });
  });
});

describe("a filtered reply", () => {
  it("is a refusal, even when its command is complete", async () => {
    const command = '{"command": {"name": "do_nothing", "args": {}}}';
    const stream = `${chunk(choice(0, command))}${chunk(choice(0, "", "content_filter"))}data: [DONE]\n\n`;
    expect(await answerTo((outgoing) => void outgoing.end(stream))).toMatchObject({ kind: "failed", code: "refused" });
  });
});

describe("a stream that brings no output is silent", () => {
  const QUICK = { timeoutMs: 300, idleTimeoutMs: 150 };
  const piece = (delta: object): string => chunk({ index: 0, delta });
  const calling = (text: string): object => ({
    tool_calls: [{ index: 0, id: "c", type: "function", function: { arguments: text } }],
  });
  const thinking = (text: string): object => ({
    reasoning_details: [{ type: "reasoning.text", format: "unknown", index: 0, text }],
  });
  const EMPTY = piece({ content: "" });
  const BLANK = piece({ content: " " });
  it.each<[of: string, begin: string, text: string, message: RegExp]>([
    ["comments before the first output", "", ": ping\n\n", /no reply had begun after 300 ms/],
    ["comments after it", chunk(choice(0, "a")), ": ping\n\n", /nothing, or only white space, came for 150 ms/],
    ["empty pieces", chunk(choice(0, "a")), EMPTY, /nothing, or only white space, came for 150 ms/],
    ["blanks before the first output", "", BLANK, /no reply had begun after 300 ms/],
    ["blanks after it", chunk(choice(0, "a")), BLANK, /only white space, came for 150 ms/],
    ["line breaks as reasoning", piece({ reasoning_content: "a" }), piece({ reasoning_content: "\n" }), /white space/],
    ["blanks in the arguments of a call", piece(calling("{")), piece(calling("  ")), /only white space/],
    ["blank parts of reasoning", piece(thinking("a")), piece(thinking(" ")), /only white space, came for 150 ms/],
    ["empty events", chunk(choice(0, "a")), event({}), /nothing, or only white space, came for 150 ms/],
    ["one endless line", `${chunk(choice(0, "a"))}data: `, "abc", /nothing, or only white space, came for 150 ms/],
  ])("of %s", async (_of, begin, text, message) => {
    const answer = await answerTo(async (outgoing) => {
      outgoing.write(begin);
      await repeat(outgoing, text);
    }, QUICK);
    expect(answer).toMatchObject({ kind: "failed", code: "timeout", message: expect.stringMatching(message) });
  });

  it("of events that follow a complete reply, which stays complete", async () => {
    const answer = await answerTo(async (outgoing) => {
      outgoing.write(chunk(choice(0, "ab", "stop")));
      await repeat(outgoing, EMPTY);
    }, QUICK);
    expect(answer).toMatchObject({ kind: "replied", text: "ab" });
  });
});

describe("a slow stream that brings output", () => {
  it("keeps a long run of white space in its text", async () => {
    const text = `if x:\n${" ".repeat(3_000)}y()`;
    const stream = [...text].map((letter) => chunk(choice(0, letter))).join("");
    const answer = await answerTo((outgoing) => void outgoing.end(stream + END), { idleTimeoutMs: 10_000 });
    expect(answer).toMatchObject({ kind: "replied", text });
  });

  it("may last longer than the wait for its beginning", async () => {
    const pieces = Array.from({ length: 12 }, (_, at) => String.fromCharCode(97 + at));
    const answer = await answerTo(
      async (outgoing) => {
        for (const piece of pieces) {
          outgoing.write(chunk(choice(0, piece)));
          await sleep(40);
        }
        outgoing.end(END);
      },
      { timeoutMs: 320, idleTimeoutMs: 320 },
    );
    expect(answer).toMatchObject({ kind: "replied", text: pieces.join("") });
  });
});
