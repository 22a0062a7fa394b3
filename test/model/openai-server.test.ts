import { describe, expect, it } from "@jest/globals";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const good = { model: "m", messages: [{ role: "user", content: "hi" }] };
const post = (url: string, body: unknown) =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("the test server", () => {
  it.each<[string, unknown]>([
    ["a misspelt parameter", { ...good, temprature: 1 }],
    ["a temperature of 99", { ...good, temperature: 99 }],
    ["no model", { messages: good.messages }],
    ["no messages", { ...good, messages: [] }],
    ["an unknown role", { ...good, messages: [{ role: "narrator", content: "x" }] }],
    ["an empty message", { ...good, messages: [{ role: "user", content: "" }] }],
    ["a field of our own in a message", { ...good, messages: [{ role: "user", content: "x", step: 1 }] }],
    ["no JSON", undefined],
  ])("refuses and records %s", async (_title, body) => {
    await using server = await startOpenAIServer({ reply: "unheard" });
    expect((await post(server.baseUrl, body)).status).toBe(400);
    expect(server.violations).toHaveLength(1);
    expect(server.chats).toEqual([]);
  });

  it("accepts a valid request and passes only the prompt to the model", async () => {
    await using server = await startOpenAIServer({
      reply: ({ messages }, index) => `${index}: you said ${messages.at(-1)?.content}`,
    });
    const answers = [];
    for (const _ of [1, 2]) answers.push(await (await post(server.baseUrl, good)).json());
    expect(answers).toMatchObject([
      { choices: [{ message: { content: "0: you said hi" }, finish_reason: "stop" }] },
      { choices: [{ message: { content: "1: you said hi" } }] },
    ]);
    expect(server.violations).toEqual([]);
  });

  it("records a request beyond its script and a reply function that throws", async () => {
    await using short = await startOpenAIServer({ reply: ["one"] });
    expect((await post(short.baseUrl, good)).status).toBe(200);
    expect((await post(short.baseUrl, good)).status).toBe(500);
    expect(short.violations).toEqual(["the script has 1 answers, and this is request 2"]);
    await using broken = await startOpenAIServer({
      reply: () => {
        throw new Error("oops");
      },
    });
    expect((await post(broken.baseUrl, good)).status).toBe(500);
    expect(broken.violations).toEqual([expect.stringContaining("oops")]);
  });
});
