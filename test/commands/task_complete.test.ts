import { describe, expect, it } from "@jest/globals";
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

  it("closes the turn and changes nothing itself", () => {
    expect(taskComplete).toMatchObject({ closesTurn: true, effect: "pure", annotations: { readOnly: true } });
  });
});
