import { describe, expect, it } from "@jest/globals";
import { setUpAgent } from "#cli/terminal/set-up.ts";
import { DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import { scriptedLines } from "../../helpers/scripted-lines.ts";

const last = { name: "Foo", role: "an AI", goals: ["one", "two"] };

async function answer(lines: readonly string[], lastAgent?: typeof last, typedAhead: readonly string[] = []) {
  const input = scriptedLines(lines, typedAhead);
  const said: string[] = [];
  const setUp = await setUpAgent(input, (line) => said.push(line), lastAgent);
  return { setUp, said, asked: input.asked };
}
const fresh = (agent: object) => ({ kind: "new", agent });

describe("setting up a new agent", () => {
  it("asks for a name, a role and goals, in this order", async () => {
    const { setUp, asked } = await answer(["Foo", "an AI", "one", "two", ""]);
    expect(setUp).toEqual(fresh(last));
    expect(asked.map((question) => question.replace(/ \[.*/, ""))).toEqual([
      "AI name",
      "Foo is",
      "Goal 1: ",
      "Goal 2: ",
      "Goal 3: ",
    ]);
  });

  it("takes Enter for the defaults, shows the goals that they are, and they are valid", async () => {
    const { setUp, said, asked } = await answer(["", " ", ""]);
    expect(setUp).toEqual(fresh(DEFAULT_AGENT));
    expect(asked[0]).toContain(DEFAULT_AGENT.name);
    expect(asked[1]).toContain(DEFAULT_AGENT.role);
    for (const goal of DEFAULT_AGENT.goals) expect(said.join("\n")).toContain(goal);
    expect(validateAgent(DEFAULT_AGENT)).toEqual(DEFAULT_AGENT);
  });

  it("stops asking after five goals", async () => {
    const { setUp, asked } = await answer(["Foo", "an AI", "1", "2", "3", "4", "5", "6"]);
    expect(setUp).toMatchObject({ agent: { goals: ["1", "2", "3", "4", "5"] } });
    expect(asked).toHaveLength(7);
  });

  it("refuses goals that were pasted behind the fifth, in words", async () => {
    const five = ["Foo", "an AI", "1", "2", "3", "4", "5"];
    const { setUp, said } = await answer(five, undefined, ["six", "", "sev\u001b[2Jen"]);
    expect(setUp).toMatchObject({ agent: { goals: ["1", "2", "3", "4", "5"] } });
    expect(said.join("\n")).toContain("An agent has up to 5 goals. Left out:\n  six\n  seven\n");
    expect((await answer(five, undefined, ["", " "])).said.join("\n")).not.toContain("Left out");
  });

  it("asks again for what cannot be used, and says why", async () => {
    const { setUp, said } = await answer([
      "x".repeat(81),
      "Foo",
      "r".repeat(2_001),
      "an AI",
      "g".repeat(2_001),
      "one",
      "two",
      "",
    ]);
    expect(setUp).toEqual(fresh(last));
    expect(said.join("\n")).toMatch(/got 81.*got 2,001.*Goal 1 must/s);
  });

  it("takes control characters out of what was pasted", async () => {
    const { setUp } = await answer(["F\u001b[31moo", "an AI\u0007", "\u001b[200~one\u001b[201~", "two", ""]);
    expect(setUp).toEqual(fresh(last));
  });

  it.each([0, 1, 2, 3])("is left when the person leaves after %i answers", async (count) => {
    expect((await answer(["Foo", "an AI", "one"].slice(0, count))).setUp).toEqual({ kind: "left" });
  });
});

describe("going on with the last agent", () => {
  it("shows who it is, without control characters", async () => {
    const { said } = await answer(["y"], { name: "Foo\u001b[2J", role: "an AI", goals: ["one", "two"] });
    const text = said.join("\n");
    for (const part of ["Foo", "an AI", "Goal 1: one", "Goal 2: two"]) expect(text).toContain(part);
    expect(text).not.toContain("\u001b");
  });

  it.each(["y", "", "yes"])("is what %j means", async (line) => {
    expect((await answer([line], last)).setUp).toEqual({ kind: "go-on" });
  });

  it.each(["n", "N", " n ", "no", "NO"])("is not what %j means: a new one is set up", async (line) => {
    expect((await answer([line, "Bar", "", "one", ""], last)).setUp).toMatchObject({ agent: { name: "Bar" } });
  });

  it("is left at the end of input", async () => {
    expect((await answer([], last)).setUp).toEqual({ kind: "left" });
  });
});
