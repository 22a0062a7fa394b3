import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, jsonOf, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { replyWith, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const DONE = { name: "task_complete", args: { reason: "It is in plan.md." } };
const RUN = ["run", "--name", "Foo", "--role", "r", "-g", "Write plan.md", "-g", "Be brief", "--continuous"];

describe("an agent with --check that claims too early to be done", () => {
  let goald: Goald;
  let server: OpenAIServer;
  beforeAll(async () => {
    const script = [DONE, write("plan.md", "A plan.\n"), DONE, write("plan.md", "A plan with *risks*.\n"), DONE];
    let index = 0;
    server = await startOpenAIServer({ reply: () => replyWith(script[index++] ?? DONE), embeddings: null });
    goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  });
  afterAll(async () => {
    await server.close();
    await goald[Symbol.asyncDispose]();
  });

  it("is refused twice with the reason, then done, and the run's output has the checks", async () => {
    const ended = endedWith(0, await goald.ask([...RUN, "--check", "1: plan.md contains *risks*", "--json"]));
    const lines = linesOf(ended);
    expect(lines.at(-1)).toMatchObject({
      ...{ type: "result", outcome: "completed", step: 5, checks: { passed: 1, failed: 0, notRun: 0 } },
    });
    const checked = lines.filter(({ type }) => type === "goals-checked");
    expect(checked.map(({ results }) => results)).toMatchObject([
      [{ check: 0, isPassed: false }],
      [{ check: 0, isPassed: false }],
      [{ check: 0, isPassed: true }],
    ]);
  });

  it("has the proof in its report, escaped, and a note on the goal without a check", async () => {
    const report = endedWith(0, await goald.ask(["show", "foo", "--report"])).stdout;
    expect(report).toContain('   - Check passed: plan.md contains "\\*risks\\*". ');
    expect(report).toContain("Goal 2 has no check, so goald does not judge whether it is reached: ");
    const facts = jsonOf(await goald.ask(["show", "foo", "--report", "--json"]));
    expect(problemsOfView("report", facts)).toBe("");
    expect(facts).toMatchObject({ checks: [{ goal: 0, isPassed: true, proof: expect.stringContaining("*risks*") }] });
  });

  it("has them in goald show and goald goals", async () => {
    expect(endedWith(0, await goald.ask(["show", "foo"])).stdout).toMatch(
      /\nCheck: {6}passed: plan\.md contains "\*risks\*"\. .* \(goal 1\)\n/,
    );
    const shown = jsonOf(await goald.ask(["show", "foo", "--json"]));
    expect(problemsOfView("show", shown)).toBe("");
    expect(shown).toMatchObject({ checks: [{ goal: 0, isPassed: true }] });
    expect(endedWith(0, await goald.ask(["goals", "foo"])).stdout).toBe(
      '1. Write plan.md\n2. Be brief\nCheck of goal 1: plan.md contains "*risks*"\n',
    );
  });

  it("has those of its next turn only, after goald run --continue", async () => {
    const args = ["run", "--continue", "foo", "-g", "Keep it", "--continuous", "--json"];
    const refused = await goald.ask([...args, "--check", "2: plan.md"]);
    expect(errorOf(endedWith(2, refused)).message).toContain("It is for goal 2");
    const ended = endedWith(0, await goald.ask([...args, "--check", "plan.md min 5", "--check", "plan.md"]));
    expect(linesOf(ended).at(-1)).toMatchObject({ checks: { passed: 2, failed: 0, notRun: 0 } });
  });

  it("keeps them in a fork, and loses them there with new goals", async () => {
    endedWith(0, await goald.ask(["fork", "foo", "--step", "2", "--name", "Same"]));
    endedWith(0, await goald.ask(["fork", "foo", "--step", "2", "--name", "Other", "--goal", "Rest"]));
    expect(jsonOf(await goald.ask(["show", "same", "--json"]))).toMatchObject({
      checks: [{ goal: 0, isPassed: false }],
    });
    expect(jsonOf(await goald.ask(["show", "other", "--json"]))).toMatchObject({ checks: [] });
    expect((await lookInto(goald, "same")).problems).toEqual([]);
  });
});

describe("checks on the command line", () => {
  let goald: Goald;
  beforeAll(async () => {
    goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
    await writeFile(
      join(goald.cwd, "agent.yaml"),
      "ai_name: Foo\nai_role: r\nai_goals: [Write plan.md]\nai_checks: [{file: plan.md}]\n",
    );
  });
  afterAll(async () => goald[Symbol.asyncDispose]());

  it.each<[title: string, args: readonly string[], said: RegExp]>([
    ["of no form", ["-g", "g", "--check", "make it good"], /^--check "make it good": this is not a form of a check\.$/],
    [
      "of a goal that is not there",
      ["-g", "g", "--check", "2: a.md"],
      /It is for goal 2, and the goals are only goal 1\.$/,
    ],
    ["without a goal", ["--check", "a.md"], /^--check proves a goal, and no goal was given\.$/],
  ])("are refused when they are %s", async (_title, args, said) => {
    const { message } = errorOf(endedWith(2, await goald.ask(["run", ...args, "--continuous", "--json"])));
    expect(message).toMatch(said);
  });

  it("say that the checks of a file are left out with its goals", async () => {
    const args = ["run", "--from", "agent.yaml", "-g", "Rest", "--continuous"];
    const left = await goald.ask([...args, "--check", "nothing to see"]);
    expect(left.stderr).not.toContain("its checks are for its own goals");
    const noted = await goald.ask(["run", "--from", "agent.yaml", "-g", "Rest", "--approve", "always"]);
    expect(noted.stderr).toContain("agent.yaml: its checks are for its own goals, so the goals given here have none.");
  });
});
