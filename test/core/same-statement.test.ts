import { describe, expect, it } from "@jest/globals";
import { compareWords, isAboutResult, statementOf } from "#core/same-statement.ts";

const step = (thought: string, file: string, result: string): string =>
  `Thought: ${thought}\nCommand: read_file {"file":"${file}"}\nResult (ok): ${result}`;
const GATE = step("I look at the gate.", "gate.md", "The code of the gate is 7731.");
const isSame = (one: string, other: string): boolean => {
  const [a, b] = [statementOf(one), statementOf(other)];
  return a.whole === b.whole || (a.act !== null && a.act === b.act);
};

describe("two rows say the same", () => {
  it.each([
    ["case", "THE code of the gate is 7731", "The code of the gate is 7731"],
    ["white space", "The code  of the\ngate is 7731 ", "The code of the gate is 7731"],
    ["the end of a sentence", "The code of the gate is 7731.", "The code of the gate is 7731"],
    ["the form of a character", "The ﬁle of the gate", "The file of the gate"],
    ["the words of a step's thought", GATE, step("Which code was it?", "gate.md", "The code of the gate is 7731.")],
    ["the count of a step", GATE, step("Step 31: the gate again", "gate.md", "The code of the gate is 7731.")],
  ])("when they differ in %s", (_what, one, other) => {
    expect(isSame(one, other)).toBe(true);
  });

  it.each([
    ["a number", "The code of the gate is 7731", "The code of the gate is 7732"],
    ["the point of a number", "The gate is 1.5 m wide", "The gate is 15 m wide"],
    ["a sign", "It is -5 degrees", "It is 5 degrees"],
    ["one word of many", `${"word ".repeat(50)} yes`, `${"word ".repeat(50)} no`],
    ["the order of the words", "Ada pays Ben", "Ben pays Ada"],
    ["a question", "The shop opens at nine?", "The shop opens at nine."],
    ["the file of a step", GATE, step("I look at the gate.", "door.md", "The code of the gate is 7731.")],
    ["the result of a step", GATE, step("I look at the gate.", "gate.md", "The code of the gate is 5005.")],
    ["a number in a step's thought", GATE, step("The alarm is 1234.", "gate.md", "The code of the gate is 7731.")],
    ["a negation in a step's thought", GATE, step("That is not right.", "gate.md", "The code of the gate is 7731.")],
    ["all that a thought has", "Thought: Ada is the boss.", "Thought: Ben is the boss."],
    ["words beyond 8,000 characters", `${"a ".repeat(5_000)}yes`, `${"a ".repeat(5_000)}no`],
  ])("not when they differ in %s", (_what, one, other) => {
    expect(isSame(one, other)).toBe(false);
  });
});

describe("a correction is about the result of a step", () => {
  it.each([
    ["when it shares more words with it", "The code of the gate is 5005.", GATE, true],
    ["not when it is about the thought", "Carla leads it", step("Ada leads the project", "a.md", "Nothing"), false],
    ["not when it is about neither", "Something else", GATE, false],
    ["not when the row has no result", "The code of the gate is 5005.", "The code of the gate is 7731.", false],
  ])("%s", (_when, correction, text, expected) => {
    expect(isAboutResult(correction, text)).toBe(expected);
  });
});

it("compares words only of rows with the same numbers", () => {
  const compare = compareWords("The code of the gate is 7731");
  expect(compare("The code of that gate is 7731")).toBeGreaterThan(0.7);
  expect(compare("The code of the gate is 7732")).toBe(0);
  expect(compare("Bread 7731")).toBeLessThan(0.7);
});
