import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { startXServer, X_ENVIRONMENT } from "../helpers/x-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const model = numberedModel([{ name: "send_tweet", args: { text: "Hello" } }]);

describe("a post by the real program", () => {
  it("that is killed -9 before the answer is sent once, never again, and its end is said to be unknown", async () => {
    await using x = await startXServer(() => ({ fault: "stall" }));
    await using server = await startOpenAIServer({ reply: model, embeddings: null });
    const env = { OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline", GOALD_TWITTER_BASE_URL: x.origin };
    await using goald = await makeGoald({ ...env, ...X_ENVIRONMENT });
    const running = goald.start(RUN);
    await x.asked(1);
    running.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
    endedWith(0, await goald.run(["resume", "t", "--json"]));
    expect(x.requests).toHaveLength(1);
    const { log, problems } = await lookInto(goald);
    const [sent] = log.filter((event) => event.type === "command-finished");
    expect(sent).toMatchObject({ observation: { status: "unknown", text: expect.stringContaining("Look before") } });
    expect(server.chats.at(-1)?.messages.some(({ content }) => content.includes("Look before you repeat"))).toBe(true);
    expect(problems).toEqual([]);
  });

  it("leaves no key in anything that is kept, and none in what the model reads", async () => {
    await using x = await startXServer();
    await using server = await startOpenAIServer({ reply: model, embeddings: null });
    const env = { OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline", GOALD_TWITTER_BASE_URL: x.origin };
    await using goald = await makeGoald({ ...env, ...X_ENVIRONMENT });
    const ended = endedWith(0, await goald.run(RUN));
    expect(x.posts).toEqual(["Hello"]);
    const names = await readdir(goald.home, { recursive: true, withFileTypes: true });
    const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const texts = await Promise.all(files.map((file) => readFile(file, "latin1")));
    const all = [...texts, ended.stdout, ended.stderr, JSON.stringify(server.chats)].join("\n");
    expect(all).toContain("send_tweet");
    for (const secret of Object.values(X_ENVIRONMENT)) expect(all).not.toContain(secret);
  });

  it("is not offered to the model as long as a key is missing", async () => {
    await using server = await startOpenAIServer({ reply: numberedModel([]), embeddings: null });
    const env = { OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline" };
    await using goald = await makeGoald({ ...env, ...X_ENVIRONMENT, TW_ACCESS_TOKEN_SECRET: undefined });
    endedWith(0, await goald.run(RUN));
    expect(JSON.stringify(server.chats)).not.toContain("send_tweet");
  });
});
