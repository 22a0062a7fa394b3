import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, jsonOf, lookInto } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const modify = (id: string, state: string): CommandCall => ({ name: "modify_task", args: { id, state } });
const HOSTILE = "Ask \u001b[2J\u001b]0;owned\u0007Ann\r\n[x] 0.9 Done\u202e";
const CALLS: readonly CommandCall[] = [
  { name: "add_task", args: { parent: "0", goal: HOSTILE, subtasks: [{ goal: "Write" }, { goal: "Call" }] } },
  modify("0.2.0", "in_progress"),
  ...["0.0", "0.1", "0.2.0"].map((id) => modify(id, "verified")),
];
const RUN = ["run", "--name", "T", "-g", "Find strings", "-g", "Write them down", "--approve", "never"];

const DRAWN = `T (t), turn 1: 6 tasks: 3 open, 3 in progress
[>] 0 Reach all goals (in progress)
  [ ] 0.0 Find strings (open)
  [ ] 0.1 Write them down (open)
  [>] 0.2 Ask Ann [x] 0.9 Done (in progress)
    [>] 0.2.0 Write (in progress, current)
    [ ] 0.2.1 Call (open)
`;

describe("goald plan of a running agent", () => {
  it("draws its plan, and changes it: the agent reads that in its next request, and is done when the rest is", async () => {
    await using home = await makeDaemonHome([], { reply: numberedModel(CALLS) });
    const { goald, server } = home;
    home.holdFrom(3);
    endedWith(0, await goald.ask([...RUN, "-d"]));
    await home.asked(3);
    expect(endedWith(0, await goald.ask(["plan", "t"])).stdout).toBe(DRAWN);
    const view = jsonOf(await goald.ask(["plan", "T", "--json"]));
    expect(problemsOfView("plan", view)).toBe("");
    expect(problemsOfView("plan", { ...view, plan: { ...(view.plan as object), more: 1 } })).not.toBe("");
    expect(view).toMatchObject({ agent: "t", turn: 1, current: "0.2.0", isRead: true, plan: { id: "0" } });

    const edited = endedWith(
      0,
      await goald.ask(["plan", "t", "--add", " Thank\u001b[31m her", "--under", "0.2", "--drop", "0.2.1"]),
    );
    expect(edited.stdout).toBe(
      "0.2.1 Call (open -> abandoned)\n0.2.2 Thank her (added, open)\n" +
        "It will read this with its next step. t is running (step 3).\n",
    );
    expect((await goald.ask(["plan", "t"])).stdout).toMatch(
      / {4}\[-\] 0\.2\.1 Call \(abandoned\)\n {4}\[ \] 0\.2\.2 Thank her \(open\)\nThe agent has not read the last changes/,
    );
    home.release();
    await home.logged("agent-paused");
    const prompt = (request: number): string =>
      server.chats[request]?.messages.map(({ content }) => content).join("\n") ?? "";
    const told = "I changed your plan.\nAdded 0.2.2: Thank her\nTask 0.2.1 is abandoned now.";
    expect([prompt(2).includes("I changed your plan."), prompt(3).includes(told)]).toEqual([false, true]);
    const { log } = await lookInto(goald);
    expect(log.findLast(({ type }) => type === "agent-paused")).toMatchObject({ code: "not-proven" });

    const dropped = jsonOf(await goald.ask(["plan", "t", "--set", "0=verified", "--drop", "0.2", "--json"]));
    expect(dropped).toMatchObject({
      agent: { id: "t", state: "paused: not-proven" },
      note: "It is paused and will read this when it goes on: goald resume t",
      changes: [
        { id: "0", from: "in_progress", to: "verified" },
        { id: "0.2", from: "in_progress", to: "abandoned" },
        { id: "0.2.0", from: "verified", to: "abandoned" },
        { id: "0.2.2", goal: "Thank her", from: "open", to: "abandoned" },
      ],
    });
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect((await goald.ask(["plan", "t"])).stdout).toMatch(
      /^T \(t\), turn 1, finished: 7 tasks: 3 verified, 4 abandoned\n/,
    );
    const late = errorOf(endedWith(7, await goald.ask(["plan", "t", "--add", "More", "--json"])));
    expect(late).toMatchObject({
      code: "GOALD_CONFLICT",
      hint: expect.stringContaining('goald run --continue t -g "…"'),
    });
  });
});
