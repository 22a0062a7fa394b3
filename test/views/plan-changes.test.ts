import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import { planLines, proofLines } from "#views/plan-view.ts";
import { findStep } from "#views/step-view.ts";
import { asked, created, finished, log, replied, requested } from "../helpers/events.ts";

const by = { by: "agent", step: 1, callId: "c1.1" } as const;

async function viewOf(...events: readonly NewEvent[]) {
  const all = log(created(), asked(1), replied(1), requested("run_code", 1), ...events, finished(1));
  async function* each() {
    yield* all;
  }
  const found = await findStep(each(), 1, []);
  if (!found) throw new Error("the log has no step 1");
  return found.view;
}

describe("a step that changed the plan", () => {
  it("lists each change with the id, goal and state of its task, also those of calls inside, and the checks", async () => {
    const view = await viewOf(
      { type: "task-added", parent: "0.1", task: { goal: "Bake", subtasks: [{ goal: "Knead" }] }, ...by },
      { type: "task-added", parent: "0.1.0", task: { goal: "Wait" }, ...by },
      { type: "task-changed", id: "0.1.0", state: "verified", ...by },
      { type: "goals-checked", step: 1, callId: "c1.2", results: [{ check: 0, isPassed: true, proof: "It exists." }] },
      {
        type: "goals-checked",
        step: 1,
        callId: "c1.3",
        results: [{ check: 1, isPassed: false, proof: "It is short." }],
      },
    );
    expect(view.planChanges).toEqual([
      { seq: 5, id: "0.1.0", goal: "Bake", state: "open", isNew: true, subtasks: 1 },
      { seq: 6, id: "0.1.0.1", goal: "Wait", state: "open", isNew: true, subtasks: 0 },
      { seq: 7, id: "0.1.0", goal: "Bake", state: "verified", isNew: false, subtasks: 0 },
    ]);
    expect(planLines(view.planChanges)).toEqual([
      "Plan",
      "0.1.0 added, with 1 subtask: Bake",
      "0.1.0.1 added: Wait",
      "0.1.0 verified: Bake",
    ]);
    expect(proofLines(view.checks)).toEqual(["Checks of goals", "passed: It exists.", "failed: It is short."]);
  });

  it("shows the first fifty of many changes, and no heading when there are none", async () => {
    const many = Array.from(
      { length: 60 },
      (): NewEvent => ({ type: "task-added", parent: "0", task: { goal: "a" }, ...by }),
    );
    const lines = planLines((await viewOf(...many)).planChanges);
    expect([lines.length, lines.at(-1)]).toEqual([52, "… and 10 more changes"]);
    const none = await viewOf({ type: "task-added", parent: "0", task: { goal: "a" }, by: "person" });
    expect([planLines(none.planChanges), proofLines(none.checks)]).toEqual([[], []]);
  });
});
