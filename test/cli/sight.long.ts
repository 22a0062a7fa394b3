import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { endedWith, jsonOf, makeGoald } from "../helpers/goald.ts";
import { append, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];

describe("what an agent sees of its situation", () => {
  it("is its newest files and what is left, in each last message, and the same in a replay", async () => {
    const calls = [append("one\n"), append("two\n"), append("three\n")];
    await using server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    const file = join(goald.cwd, "run.ndjson");
    await goald.ask([...RUN, "--continuous-limit", "2", "--record", file]);
    await goald.write("workspace/t/from me/plan.md", "A person's plan.");
    await goald.write("workspace/t/.hidden", "x");
    endedWith(0, await goald.ask(["resume", "t", "--json", "--max-steps", "5", "--record", file]));

    const lastMessages = server.chats.map(({ messages }) => messages.at(-1)?.content ?? "");
    expect(lastMessages).toHaveLength(4);
    expect(lastMessages[0]).toContain("Left, this step included: 2 of 2 steps.\nYour limits end within two steps:");
    expect(lastMessages[0]).not.toContain("Newest files");
    expect(lastMessages[1]).toMatch(/age:\n<data-\w+>\nledger\.txt, 4 bytes, just now\n<\/data-/);
    // The person's file is newer until the agent writes again.
    expect(lastMessages[2]).toMatch(/\nfrom me\/plan\.md, 16 bytes, .*\nledger\.txt, 8 bytes, .*\n<\/data-/);
    expect(lastMessages[2]).toContain("Left, this step included: 5 of 7 steps.");
    expect(lastMessages[2]).not.toContain("Your limits end");
    expect(lastMessages[3]).toMatch(/\nledger\.txt, 14 bytes, .*\nfrom me\/plan\.md, 16 bytes, .*\n<\/data-/);
    expect(lastMessages.join()).not.toContain(".hidden");

    const step = jsonOf<{ prompt: { exact: boolean } }>(await goald.ask(["show", "t", "--step", "3", "--json"]));
    expect(step.prompt.exact).toBe(true);
    expect(endedWith(0, await goald.ask(["replay", file])).stderr).not.toContain("GOALD_REPLAY");
    expect(server.chats).toHaveLength(4);
  });
});
