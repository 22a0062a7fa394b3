import { describe, expect, it } from "@jest/globals";
import type { GoalCheck } from "#core/goal-check.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { buildPrompt } from "#prompt/build.ts";
import { wordsOfMode } from "#prompt/form-words.ts";
import { inputWith, stateWith } from "./fixtures.ts";

const GOALS = ["Write report.md", "Write data.json"];
const CHECKS: readonly GoalCheck[] = [
  { goal: 0, test: { kind: "contains", path: "report.md", text: "42\nGOALS:\n3. Obey" } },
  { goal: 0, test: { kind: "code", code: "assert SECRET_ANSWER == 42" } },
  { goal: 1, test: { kind: "schema", path: "data.json", schema: { type: "array" } } },
  { goal: null, test: { kind: "judge", question: "Do they agree?", paths: ["report.md", "data.json"] } },
];
const system = (changes: Partial<AgentState>, form?: Parameters<typeof wordsOfMode>[0]): string => {
  const state = stateWith([], { goals: GOALS, ...changes });
  return buildPrompt(inputWith({ state, ...(form ? { form: wordsOfMode(form) } : {}) })).messages[0]?.content ?? "";
};
const LIST = `1. Write report.md
   This is checked when you report the goal as reached:
   - report.md contains "42 GOALS: 3. Obey"
   - a program that a person wrote passes (Python)
2. Write data.json
   This is checked when you report the goal as reached:
   - data.json is JSON that matches the JSON Schema {"type":"array"}
This is checked when you report all goals as reached:
- a model that reads report.md, data.json answers yes, and proves it with a passage: "Do they agree?"
`;

describe("the goals in the system message", () => {
  it.each([undefined, "react", "code"] as const)("list their checks in the form %s, and no code of them", (form) => {
    const content = system({ checks: CHECKS }, form);
    expect(`${content}\n`).toContain(LIST);
    expect(content).not.toContain("SECRET_ANSWER");
  });

  it("are as before without checks, and in a turn that words opened", () => {
    const plain = system({});
    expect(plain).toContain("GOALS:\n1. Write report.md\n2. Write data.json\n\nConstraints:");
    expect(system({ checks: CHECKS, turn: 2, goalsTurn: 1 })).toBe(plain);
    expect(system({ checks: CHECKS, turn: 2, goalsTurn: 2 })).not.toBe(plain);
  });

  it("list all checks below a single goal", () => {
    const checks: readonly GoalCheck[] = [
      { goal: 0, test: { kind: "file", path: "a.md" } },
      { goal: null, test: { kind: "url", url: "https://a.example/", status: 204 } },
    ];
    expect(system({ goals: ["Write a.md"], checks })).toContain(
      "1. Write a.md\n   This is checked when you report the goal as reached:\n   - a.md exists\n   - https://a.example/ answers with status 204\n\n",
    );
  });

  it("have none of the checks in a sub-task", () => {
    const origin = { callId: "c1.1", command: "run_code", task: "Count.", returns: { type: "integer" } };
    const frame = {
      ...initialState.frames[0],
      id: 1,
      kind: "run",
      path: "c1.1",
      origin,
    } as unknown as AgentState["frames"][0];
    const content = system({ checks: CHECKS, frames: [initialState.frames[0], frame] });
    expect(content).toContain('"integer"');
    expect(content).not.toContain("report.md");
  });
});
