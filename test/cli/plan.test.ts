import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, jsonOf } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import type { ChatRequest } from "../helpers/openai-answers.ts";
import { nameIn } from "../helpers/subagent-model.ts";
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

describe("goald plan without a daemon", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    const big: CommandCall = {
      name: "add_task",
      args: {
        parent: "0",
        goal: "Write",
        subtasks: Array.from({ length: 45 }, (_none, at) => ({ goal: `Part ${at}` })),
      },
    };
    const reply = (request: ChatRequest): string => numberedModel(nameIn(request) === "Big" ? [big] : CALLS)(request);
    home = await makeDaemonHome([], { reply });
    endedWith(6, await home.goald.ask([...RUN, "--max-steps", "2"]));
    for (const flags of [["Big"], ["Plain", "--commands", "files"]])
      endedWith(
        6,
        await home.goald.ask(["run", "-g", "g", "--approve", "never", "--max-steps", "1", "--name", ...flags]),
      );
    endedWith(0, await home.goald.ask(["down"]));
  });
  afterEach(async () => expect(await home.goald.read(".goald/daemon.json")).toBeUndefined());
  afterAll(async () => home[Symbol.asyncDispose]());

  it("draws the plan of an agent that does not run", async () => {
    expect(endedWith(0, await home.goald.ask(["plan", "t"])).stdout).toBe(DRAWN);
  });

  it("reports that there is no plan, and how to get one", async () => {
    const { stdout } = endedWith(0, await home.goald.ask(["plan", "plain"]));
    expect(stdout).toBe(
      "plain has no plan, and no commands for one (--commands files).\nOffer them: goald resume plain --commands files,plan\n",
    );
    const view = jsonOf(await home.goald.ask(["plan", "plain", "--json"]));
    expect([view, problemsOfView("plan", view)]).toEqual([
      { agent: "plain", turn: 1, plan: null, current: null, isRead: true },
      "",
    ]);
  });

  it("collapses a large plan, and draws all of it with --all", async () => {
    const { goald } = home;
    const { stdout } = endedWith(0, await goald.ask(["plan", "big"]));
    expect(stdout).toContain(
      "\n    [ ] 0.0.37 Part 37 (open)\n    ... 7 tasks: 7 open\nSee all 47 tasks: goald plan big --all\n",
    );
    const all = endedWith(0, await goald.ask(["plan", "big", "--all"])).stdout;
    expect(all).toContain("\n    [ ] 0.0.44 Part 44 (open)\n");
    expect(all).not.toContain("...");
  });

  it.each<[args: readonly string[], code: number, message: RegExp, hint: RegExp]>([
    [["nobody"], 3, /found none called "nobody"/, /There are: /],
    [["t", "--set", "0.1"], 2, /'0\.1' is invalid\. Expected a task and a state/, /--help/],
    [["t", "--set", "0.1=done"], 2, /States: open, in_progress, completed, verified, abandoned/, /--help/],
    [["t", "--set", "one=open"], 2, /Expected the id of a task, such as 0\.1\.2.*got "one"/, /goald plan t/],
    [["t", "--drop", "0.7"], 2, /There is no task 0\.7: task 0 has the subtasks 0\.0 to 0\.2/, /goald plan t/],
    [["t", "--add", "\u001b[2J"], 2, /A task's goal has 1 to 500 characters, got 0/, /goald plan t/],
    [["t", "--add", "x".repeat(501)], 2, /1 to 500 characters, got 501/, /goald plan t/],
    [
      ["t", "--set", "0.1=abandoned", "--add", "x", "--under", "0.1"],
      2,
      /Task 0\.1 is abandoned\. Set it to open/,
      /goald plan t/,
    ],
    [["t", "--under", "0.1"], 2, /--under says where --add adds its tasks/, /--add/],
    [["plain", "--add", "x"], 7, /plain has no commands for a plan/, /goald resume plain --commands files,plan/],
  ])("rejects an invalid call and delivers nothing: %j", async (args, code, message, hint) => {
    const { goald } = home;
    const ended = endedWith(code, await goald.ask(["plan", ...args, "--json"]));
    expect(ended.stdout).toBe("");
    expect(errorOf(ended)).toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
    expect(jsonOf(await goald.ask(["plan", "t", "--json"]))).toMatchObject({ isRead: true });
  });

  it("says so when nothing changes", async () => {
    const { stdout } = endedWith(0, await home.goald.ask(["plan", "t", "--set", "0=in_progress"]));
    expect(stdout).toBe("Nothing changes: the tasks have these states already. t is paused: step-limit (step 2).\n");
  });
});
