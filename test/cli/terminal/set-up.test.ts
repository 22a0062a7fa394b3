import { describe, expect, it } from "@jest/globals";
import { readBudget } from "#cli/run-options.ts";
import { askForAgent, askForTerms, askToContinue } from "#cli/terminal/set-up.ts";
import { DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import { scriptedLines } from "../../helpers/scripted-lines.ts";

const last = { name: "Foo", role: "an AI", goals: ["one", "two"] };

function openScreen(lines: readonly string[], typedAhead: readonly string[] = []) {
  const input = scriptedLines(lines, typedAhead);
  const said: string[] = [];
  return { screen: { input: () => input, say: (line: string) => said.push(line) }, said, asked: input.asked };
}
async function answer(lines: readonly string[], typedAhead: readonly string[] = []) {
  const { screen, ...seen } = openScreen(lines, typedAhead);
  return { agent: await askForAgent(screen), ...seen };
}

describe("setting up a new agent", () => {
  it("asks for a name, a role and goals, in this order", async () => {
    const { agent, asked } = await answer(["Foo", "an AI", "one", "two", ""]);
    expect(agent).toEqual(last);
    expect(asked.map((question) => question.replace(/ \[.*/, ""))).toEqual([
      "AI name",
      "Foo is",
      "Goal 1: ",
      "Goal 2: ",
      "Goal 3: ",
    ]);
  });

  it("takes Enter for the defaults, shows the goals that they are, and they are valid", async () => {
    const { agent, said, asked } = await answer(["", " ", ""]);
    expect(agent).toEqual(DEFAULT_AGENT);
    expect(asked[0]).toContain(DEFAULT_AGENT.name);
    expect(asked[1]).toContain(DEFAULT_AGENT.role);
    for (const goal of DEFAULT_AGENT.goals) expect(said.join("\n")).toContain(goal);
    expect(validateAgent(DEFAULT_AGENT)).toEqual(DEFAULT_AGENT);
  });

  it("stops asking after five goals", async () => {
    const { agent, asked } = await answer(["Foo", "an AI", "1", "2", "3", "4", "5", "6"]);
    expect(agent?.goals).toEqual(["1", "2", "3", "4", "5"]);
    expect(asked).toHaveLength(7);
  });

  it("refuses goals that were pasted behind the fifth, in words", async () => {
    const five = ["Foo", "an AI", "1", "2", "3", "4", "5"];
    const { agent, said } = await answer(five, ["six", "", "sev\u001b[2Jen"]);
    expect(agent?.goals).toEqual(["1", "2", "3", "4", "5"]);
    expect(said.join("\n")).toContain("An agent has up to 5 goals. Left out:\n  six\n  seven\n");
    expect((await answer(five, ["", " "])).said.join("\n")).not.toContain("Left out");
  });

  it("asks again for what cannot be used, and says why", async () => {
    const { agent, said } = await answer([
      "x".repeat(81),
      "Foo",
      "r".repeat(2_001),
      "an AI",
      "g".repeat(2_001),
      "one",
      "two",
      "",
    ]);
    expect(agent).toEqual(last);
    expect(said.join("\n")).toMatch(/got 81.*got 2,001.*Goal 1 must/s);
  });

  it("takes control characters out of what was pasted", async () => {
    const { agent } = await answer(["F\u001b[31moo", "an AI\u0007", "\u001b[200~one\u001b[201~", "two", ""]);
    expect(agent).toEqual(last);
  });

  it.each([0, 1, 2, 3])("is left when the person leaves after %i answers", async (count) => {
    expect((await answer(["Foo", "an AI", "one"].slice(0, count))).agent).toBeUndefined();
  });
});

describe("going on with the last agent", () => {
  it("shows who it is, without control characters", async () => {
    const { screen, said } = openScreen(["y"]);
    await askToContinue(screen, { name: "Foo\u001b[2J", role: "an AI", goals: ["one", "two"] });
    const text = said.join("\n");
    for (const part of ["Foo", "an AI", "Goal 1: one", "Goal 2: two"]) expect(text).toContain(part);
    expect(text).not.toContain("\u001b");
  });
});

describe("when an agent asks, and what it may spend", () => {
  const budget = { initial: "5", read: readBudget };
  const ask = async (lines: readonly string[], asked: Parameters<typeof askForTerms>[1]) => {
    const { screen, ...seen } = openScreen(lines);
    return { terms: await askForTerms(screen, asked), ...seen };
  };

  it.each([
    ["all", "always"],
    ["risky", "risky"],
    ["none", "never"],
    ["", "risky"],
  ] as const)("%j means %s where risky commands ask by default", async (line, approve) => {
    const { terms, asked } = await ask([line], { approve: "risky" });
    expect(terms).toEqual({ approve });
    expect(asked).toEqual([expect.stringContaining("[risky]")]);
  });

  it.each([
    ["", 5],
    ["0.50", 0.5],
    ["none", Number.POSITIVE_INFINITY],
  ])("%j dollars are a budget of %s", async (line, usd) => {
    expect((await ask(["", line], { approve: "always", budget })).terms).toEqual({ approve: "always", budget: usd });
  });

  it("are asked again after what cannot be used, with the reason", async () => {
    const { terms, said } = await ask(["always", "?", "all", "much", "-1", "?", "2"], { approve: "always", budget });
    expect(terms).toEqual({ approve: "always", budget: 2 });
    expect(said.join("\n")).toMatch(/Answer all, risky or none.*risky {2}before.*more than 0.*more than 0.*pauses/s);
  });

  it("are not asked for when options say it", async () => {
    expect(await ask([], {})).toEqual({ terms: {}, said: [], asked: [] });
  });

  it.each([[[]], [["all"]]])("are left after %j", async (lines) => {
    expect((await ask(lines, { approve: "always", budget })).terms).toBeUndefined();
  });
});
