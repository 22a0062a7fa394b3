import { describe, expect, it } from "@jest/globals";
import { endedWith, linesOf, makeGoald } from "../helpers/goald.ts";
import { append, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

describe("the log of a real run", () => {
  it("has one line for each step of an agent, also when selected by name", async () => {
    await using server = await startOpenAIServer({
      reply: numberedModel([append("a\n"), append("b\n")]),
      embeddings: null,
    });
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    endedWith(0, await other.ask(["run", "--name", "Foo Bar", "--role", "r", "-g", "g", "--continuous"]));
    const lines = linesOf(endedWith(0, await other.ask(["logs", "foo bar", "--json"])));
    const steps = lines.filter(({ step }) => typeof step === "number");
    expect(steps.map(({ step, agent, status }) => [step, agent, status])).toEqual([
      [1, "foo-bar", "ok"],
      [2, "foo-bar", "ok"],
      [3, "foo-bar", "ok"],
    ]);
    expect(endedWith(0, await other.ask(["logs", "foo-bar", "--step", "2"])).stdout).toMatch(
      /^\S+Z {2}info {3}foo-bar {2}step 2 {2}.*\n$/,
    );
    endedWith(3, await other.ask(["logs", "nobody"]));
  });
});
