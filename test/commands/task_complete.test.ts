import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import { fail, succeed } from "#core/command.ts";
import taskComplete from "../../commands/task_complete.ts";
import { call, makeDesk } from "./context.ts";

describe("task_complete", () => {
  it.each([
    ["All strings are in recommended_strings.txt. ", "All strings are in recommended_strings.txt."],
    [" \n", "The model gave no reason."],
  ])("returns the model's reason %j", async (reason, text) => {
    await using desk = await makeDesk();
    expect(await call(taskComplete, { reason }, desk.context)).toMatchObject({ status: "ok", text, source: "model" });
  });

  it("returns what came of the checks when one of them failed, and the reason when all passed", async () => {
    await using desk = await makeDesk();
    const asked: unknown[] = [];
    const run = (checked: Observation) => {
      const check = { goal: 1, test: { kind: "file", path: "a.md" } } as const;
      const agent = { ...desk.context.agent, goals: ["Write", "Read"], checks: [check] };
      const context = {
        ...desk.context,
        agent,
        call: async (...given: unknown[]) => {
          asked.push(given);
          return checked;
        },
      };
      return call(taskComplete, { reason: "Done." }, context);
    };
    expect(await run(succeed("All passed."))).toMatchObject({ status: "ok", text: "Done." });
    const failed = fail("check-failed", "1 of 1 checks failed.");
    expect(await run(failed)).toEqual(failed);
    expect(asked).toEqual([
      ["check_goals", { goals: [0, 1] }],
      ["check_goals", { goals: [0, 1] }],
    ]);
  });

  it("closes the turn and changes nothing itself", () => {
    expect(taskComplete).toMatchObject({ closesTurn: true, effect: "pure", annotations: { readOnly: true } });
  });
});
