import { describe, expect, it } from "@jest/globals";
import { checkWrite } from "#commands/call-result.ts";

const check = (write: object) => () => checkWrite("mine", write as never);

describe("a change of the plan that a command stages", () => {
  it.each<[string, object]>([
    ["a task", { kind: "task-added", parent: "0", task: { goal: "x".repeat(500) } }],
    ["a task with subtasks", { kind: "task-added", parent: "0.1", task: { goal: "a", subtasks: [{ goal: "b" }] } }],
    ["a state", { kind: "task-changed", id: "0.1", state: "abandoned" }],
    ["proofs", { kind: "goals-checked", results: [{ check: 0, isPassed: false, proof: "It is missing." }] }],
  ])("is accepted: %s", (_title, write) => {
    expect(check(write)).not.toThrow();
  });

  it.each<[string, object]>([
    ["a task without a parent", { kind: "task-added", task: { goal: "a" } }],
    ["no task", { kind: "task-added", parent: "0" }],
    [
      "a goal that is too long for the log's events",
      { kind: "task-added", parent: "0", task: { goal: "x".repeat(501) } },
    ],
    ["subtasks that are no list", { kind: "task-added", parent: "0", task: { goal: "a", subtasks: { goal: "b" } } }],
    ["a subtask without a goal", { kind: "task-added", parent: "0", task: { goal: "a", subtasks: [{}] } }],
    ["an id that is no text", { kind: "task-changed", id: 0, state: "open" }],
    ["an unknown state", { kind: "task-changed", id: "0", state: "done" }],
    ["results that are no list", { kind: "goals-checked", results: null }],
    ["a result without a proof", { kind: "goals-checked", results: [{ check: 0, isPassed: true }] }],
  ])("is refused: %s", (_title, write) => {
    expect(check(write)).toThrow(/^mine staged an invalid write: .{10}/);
  });
});
