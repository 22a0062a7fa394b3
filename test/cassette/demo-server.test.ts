import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readRecording } from "#cassette/demo-recording.ts";
import { startReplayServer } from "#cassette/demo-server.ts";
import { readCassette } from "#cassette/read-cassette.ts";
import { endedWith, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const post = (baseUrl: string, path: string, body: object): Promise<Response> =>
  fetch(`${baseUrl}${path}`, { method: "POST", body: JSON.stringify(body) });

describe("the demo's recording", () => {
  it("is a valid recording", () => {
    const { header, sessions } = readCassette("config/demo/recording.ndjson");
    expect(header.cassette).toBe(1);
    expect(sessions).toHaveLength(1);
    const { name, files, exchanges } = readRecording("config/demo/recording.ndjson");
    expect(name).toBe("Foo");
    expect(files.map(({ path }) => path)).toContain("reviews/natural-gut.md");
    const [model, ...others] = [/\/v1\/chat\/completions$/, /\/search\?q=/, /^https:\/\/[\w-]+\.example\//].map(
      (pattern) => exchanges.filter(({ request }) => pattern.test(request.url)).length,
    );
    expect([model, ...others]).toEqual([16, 1, 2]);
    expect(exchanges).toHaveLength(19);
  });

  it("rejects a request that does not contain the recorded prompt's parts", async () => {
    const { exchanges } = readRecording("config/demo/recording.ndjson");
    await using server = await startReplayServer(exchanges.filter(({ shown }) => shown !== undefined));
    const refused = await post(server.baseUrl, "/chat/completions", { messages: [] });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("does not show")]);
    expect((await post(server.baseUrl, "/embeddings", {})).status).toBe(404);
  });

  it("is streamed on request: the same text in pieces, with finish reason and usage", async () => {
    const { exchanges } = readRecording("config/demo/recording.ndjson");
    const ask = async (stream: boolean): Promise<string> => {
      await using server = await startReplayServer(exchanges);
      return (await post(server.baseUrl, "/chat/completions", { messages: [], stream })).text();
    };
    const [streamed, whole] = [await ask(true), await ask(false)];
    const events = streamed.split("\n\n").filter(Boolean);
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, "")));
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(JSON.parse(whole).choices[0].message.content);
    expect(chunks.at(-2).choices[0].finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } });
    expect(chunks.length).toBeGreaterThan(5);
  });
});

describe("a run against a replay server with the answers of a recorded run", () => {
  let goald: Goald;
  beforeAll(async () => {
    goald = await makeGoald();
    await using server = await startOpenAIServer({ reply: numberedModel(ledger(3)) });
    const env = { OPENAI_BASE_URL: server.baseUrl };
    endedWith(0, await goald.run([...RUN, "--record", "t.ndjson"], { env }));
  });
  afterAll(async () => {
    await goald[Symbol.asyncDispose]();
  });

  it("ends like the recorded run, with its embeddings too", async () => {
    const { exchanges } = readRecording(join(goald.cwd, "t.ndjson"));
    await using server = await startReplayServer(exchanges);
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    const ended = endedWith(0, await other.run(RUN));
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: "completed", step: 4 });
    expect(ended.stderr).not.toContain("Memory works offline");
    expect(await other.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it("fails when an answer is missing", async () => {
    const { exchanges } = readRecording(join(goald.cwd, "t.ndjson"));
    await using server = await startReplayServer(exchanges.filter(({ step }) => step < 3));
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    const ended = endedWith(10, await other.run(RUN));
    expect(ended.stdout).toContain("The recording ends before this request");
  });
});
