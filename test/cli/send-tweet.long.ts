import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { startXServer, X_ENVIRONMENT } from "../helpers/x-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const model = numberedModel([{ name: "send_tweet", args: { text: "Hello" } }]);

describe("a post by the real program", () => {
  it("is sent once and never again if kill -9 comes before the answer, and its outcome is unknown", async () => {
    await using x = await startXServer(() => ({ fault: "stall" }));
    await using server = await startOpenAIServer({ reply: model, embeddings: null });
    const env = { OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline", GOALD_TWITTER_BASE_URL: x.origin };
    await using goald = await makeGoald({ ...env, ...X_ENVIRONMENT });
    const running = goald.start(RUN);
    await x.asked(1);
    running.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
    await daemonOf(goald).kill();
    const ended = endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(x.requests).toHaveLength(1);
    expect(x.violations).toEqual([]);
    const { log, problems } = await lookInto(goald);
    const [sent] = log.filter((event) => event.type === "command-finished");
    expect(sent).toMatchObject({ observation: { status: "unknown", text: expect.stringContaining("Look before") } });
    expect(server.chats.at(-1)?.messages.some(({ content }) => content.includes("Look before you repeat"))).toBe(true);
    expect(problems).toEqual([]);
    // No key is in the files, the output, or the prompts.
    const all = [await keptIn(goald.home), ended.stdout, ended.stderr, JSON.stringify(server.chats)].join("\n");
    expect(all).toContain("send_tweet");
    for (const secret of Object.values(X_ENVIRONMENT)) expect(all).not.toContain(secret);
  });
});

/** Reads everything below the home as text. */
async function keptIn(home: string): Promise<string> {
  const names = await readdir(home, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "latin1")))).join("\n");
}
