import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { nameIn, startAgent, subagentModel } from "../helpers/subagent-model.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

describe("sub-agents", () => {
  it("are listed, answered and stopped from the command line, as their parent is", async () => {
    const reply = subagentModel({ T: [startAgent("Ann")], Ann: [ASK, write("a.txt", "Blue")] });
    await using home = await makeDaemonHome([], { reply });
    const { goald } = home;
    endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
    await home.logged("command-waiting", 1, "t-ann");
    const [listed] = linesOf(endedWith(0, await goald.ask(["ps", "--json"])));
    expect(problemsOfView("ps", listed)).toBe("");
    expect(listed).toMatchObject({
      agents: [
        { id: "t", parent: null, state: "waiting: agent" },
        { id: "t-ann", parent: "t", state: "waiting: person", reason: "It asks: Red or blue?" },
      ],
    });
    expect((await goald.ask(["ps"])).stdout).toMatch(/STARTED BY[\s\S]*t-ann +Ann +t +waiting: person/);
    const shown = endedWith(0, await goald.ask(["show", "t-ann"])).stdout;
    expect(shown).toContain("Started by: t");
    expect(shown).toContain("It asks: Red or blue?");
    expect(shown).toMatch(/Answer it: .*goald .*say t-ann "…"/);
    expect((await goald.ask(["show", "t"])).stdout).toContain("Agent:      t-ann, waiting: person, at step 1");
    expect(errorOf(endedWith(7, await goald.ask(["approve", "t-ann", "--json"])))).toMatchObject({
      message: 't-ann is waiting for an answer, not an approval: "Red or blue?"',
      hint: expect.stringMatching(/^Answer with: .*goald .*say t-ann "…"$/),
    });
    expect(errorOf(await goald.ask(["rm", "-f", "t", "--json"])).hint).toContain("goald rm t-ann");

    expect(endedWith(0, await goald.ask(["stop", "t"])).stdout).toContain("Its agents stop with it: t-ann.");
    await home.logged("agent-paused", 1, "t-ann");
    endedWith(0, await goald.ask(["resume", "t", "-d"]));
    await home.logged("agent-resumed", 1, "t-ann");
    endedWith(0, await goald.ask(["say", "t-ann", "Blue."]));
    await home.logged("turn-finished");
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(JSON.stringify(log)).toContain("agents/t-ann/a.txt");
    expect(await goald.read("workspace/t/agents/t-ann/a.txt")).toBe("Blue");
    const models = home.server.chats.map(({ model }) => model);
    expect(new Set(models)).toEqual(new Set(["gpt-4.1", "gpt-4.1-mini"]));
    expect(home.server.violations).toEqual([]);
  });
});

describe("the memory of the parent", () => {
  it("is recalled as data, and not by an agent of nobody (control)", async () => {
    const learn = write("notes.txt", "The harbour of Zanzibar opens at nine.");
    const reply = subagentModel({ T: [learn, startAgent("Ann", "When does the harbour of Zanzibar open?")], Ann: [] });
    await using server = await startOpenAIServer({ reply, embeddings: null });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    endedWith(0, await goald.ask(["run", ...AGENT, "--continuous"]));
    const asked = server.chats.find((chat) => nameIn(chat) === "Ann");
    const shown = asked?.messages.slice(1).map(({ content }) => content) ?? [];
    expect(shown.join("\n")).toContain("opens at nine");
    expect(asked?.messages[0]?.content).not.toContain("opens at nine");
    const { log } = await lookInto(goald, "t-ann");
    expect(log.find(({ type }) => type === "model-asked")).toMatchObject({ outside: [{ from: "agent", name: "t" }] });
    const before = server.chats.length;
    const question = ["--goal", "When does the harbour of Zanzibar open?"];
    endedWith(0, await goald.ask(["run", "--name", "Bob", "--role", "r", ...question, "--continuous"]));
    expect(server.chats.length).toBeGreaterThan(before);
    expect(JSON.stringify(server.chats.slice(before))).not.toContain("opens at nine");
  });
});

describe("a question of a sub-agent", () => {
  it("is shown on the terminal of the run with the call that answers it, and both agents continue", async () => {
    const reply = subagentModel({ T: [startAgent("Ann")], Ann: [ASK] });
    await using home = await makeDaemonHome([], { reply });
    const terminal = home.goald.openTerminal(["run", ...AGENT, "--continuous"]);
    await terminal.see("t-ann asks: Red or blue?");
    await terminal.see('goald say t-ann "…"');
    const said = endedWith(0, await home.goald.ask(["say", "t-ann", "Blue."]));
    expect(said.stdout).toContain("It goes on with this as the answer to its question.");
    expect(endedWith(0, await terminal.ended).stdout).toContain("Ann (key t-ann) answers:");
  });
});
