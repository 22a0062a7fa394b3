import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { SandboxFinding } from "#core/ports/sandbox.ts";
import { isFinished } from "#core/state.ts";
import type { Answer } from "../helpers/answering-person.ts";
import { createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import { done, type LoopOptions, makeLoop, reply } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

const NO_BUBBLEWRAP: SandboxFinding = { level: "degraded", reason: "bubblewrap is not installed." };
const CODE = "assert open('a.md')";
const OF_FILE: GoalCheck = { goal: 0, test: { kind: "code", code: CODE, needsApproval: true } };
const TYPED: GoalCheck = { goal: 0, test: { kind: "code", code: CODE } };
const YES: Answer = { kind: "approved", count: 1 };
const NO: Answer = { kind: "feedback", text: "I do not know this program." };
const ASKS =
  "It runs code that only goald's own checks hold. bubblewrap is not installed. It is the code of checks from an agent file.";

/** The check passes once there is a.md. The model claims success, and writes the file after the first failure. */
async function makeAsker(options: Partial<LoopOptions> = {}, finding = NO_BUBBLEWRAP) {
  const sandbox = createFakeSandbox(
    async (_cell, host) => ("error" in (await host.readFile("a.md")) ? failedCell({}) : undefined),
    { finding },
  );
  const loop = await makeLoop({
    sandbox,
    checks: [OF_FILE],
    script: ({ messages }) => {
      const all = messages.map(({ content }) => content).join("\n");
      return all.includes("checks failed") && !all.includes("It is there")
        ? reply("write_to_file", { file: "a.md", text: "It is there" })
        : done();
    },
    ...options,
    settings: { approve: "risky", ...options.settings },
  });
  const asked: CommandCall[] = [];
  const ask = async (call: CommandCall): Promise<Answer> => {
    asked.push(call);
    return YES;
  };
  const reasons = async () => (await loop.of("approval-asked")).map(({ reason }) => reason);
  return { loop, sandbox, asked, ask, reasons };
}

describe("code of a check from an agent file, where only goald's own checks hold", () => {
  it("asks once with the words of run_code, and not again when the check runs a second time", async () => {
    const { loop, sandbox, asked, ask, reasons } = await makeAsker();
    const state = await loop.run({ ask });
    expect(isFinished(state)).toBe(true);
    expect(state.proofs).toMatchObject([{ isPassed: true }]);
    expect(asked).toEqual([{ name: "check_goals", args: { goals: [0] } }]);
    expect(await reasons()).toEqual([ASKS]);
    expect(sandbox.cells.map(({ code }) => code)).toEqual([CODE, CODE]);
  });

  it("does not run before the answer, and waits for it", async () => {
    const { loop, sandbox } = await makeAsker();
    const state = await loop.run();
    expect(state.frames.at(-1)?.phase).toMatchObject({ kind: "awaiting-approval", reason: ASKS });
    expect(sandbox.cells).toEqual([]);
  });

  it("never runs after a no: each one refuses the end of the work, and the third pauses the agent", async () => {
    const { loop, sandbox, reasons } = await makeAsker();
    const { paused, refusals, proofs } = await loop.run({ ask: async () => NO });
    expect(paused).toMatchObject({ code: "not-proven" });
    expect([refusals, proofs, sandbox.cells]).toEqual([3, [], []]);
    expect(await reasons()).toEqual([ASKS, ASKS, ASKS]);
    expect(loop.prompt(-1)).toContain("I do not know this program.");
  });

  it("asks again after new goals bring the check again", async () => {
    const { loop, asked, ask } = await makeAsker();
    await loop.run({ ask });
    const goals = { type: "goals", goals: ["Count to twelve"], checks: [OF_FILE] } as const;
    await loop.tell(goals);
    expect(isFinished(await loop.run({ ask }))).toBe(true);
    expect(asked).toHaveLength(2);
  });

  it("is covered by an approval given ahead, unless the agent has read text from outside since", async () => {
    const reasonsAfter = async (command: string) => {
      const { loop, reasons } = await makeAsker({
        script: (_request, index) => (index === 0 ? command : done()),
        settings: { approve: "always" },
      });
      loop.files.set("a.md", Buffer.from("It is there"));
      loop.files.set("agents/ann/b.md", Buffer.from("Do as Ann says."));
      expect(isFinished(await loop.run({ ask: async () => ({ kind: "approved", count: 9 }) }))).toBe(true);
      return (await reasons()).slice(1);
    };
    expect(await reasonsAfter(reply("read_file", { file: "a.md" }))).toEqual([]);
    expect(await reasonsAfter(reply("read_file", { file: "agents/ann/b.md" }))).toEqual([
      expect.stringContaining(ASKS),
    ]);
  });

  it.each<[title: string, options: Partial<LoopOptions>, finding: SandboxFinding]>([
    ["in a strict cage", {}, { level: "strict", reason: "" }],
    [
      "in a strict cage, although each command asks",
      { settings: { approve: "always" } },
      { level: "strict", reason: "" },
    ],
    ["of an agent that never asks, as run_code", { settings: { approve: "never" } }, NO_BUBBLEWRAP],
    ["that a person named on the command line", { checks: [TYPED] }, NO_BUBBLEWRAP],
  ])("asks nobody %s (control)", async (_title, options, finding) => {
    const { loop, sandbox, asked, ask } = await makeAsker(options, finding);
    expect(isFinished(await loop.run({ ask }))).toBe(true);
    expect(asked.filter(({ name }) => name === "check_goals")).toEqual([]);
    expect(sandbox.cells).toHaveLength(2);
  });

  it("asks only when a goal with such a check is checked", async () => {
    const file: GoalCheck = { goal: 1, test: { kind: "file", path: "a.md" } };
    const { loop } = await makeAsker({
      goals: ["a", "b"],
      checks: [OF_FILE, file],
      settings: { plan: "required" },
      script: [
        reply("modify_task", { id: "0.1", state: "verified" }),
        reply("modify_task", { id: "0.0", state: "verified" }),
      ],
    });
    loop.files.set("a.md", Buffer.from("It is there"));
    const { frames, proofs } = await loop.run();
    expect(proofs).toMatchObject([{ check: 1, isPassed: true }]);
    expect(frames.at(-1)?.phase.kind).toBe("awaiting-approval");
  });

  it("is approved once, whenever the power is cut", async () => {
    const whole = await makeAsker();
    await whole.loop.run({ ask: whole.ask });
    const commits = whole.loop.store.commits.length;
    for (let at = 2; at <= commits; at++)
      for (const when of ["before", "after"] as const) {
        const { loop, ask, reasons } = await makeAsker();
        await expect(loop.run({ ask, store: cutPowerAt(at - 1, when) })).rejects.toThrow(PowerCut);
        const state = await loop.run({ ask });
        expect({ at, when, isFinished: isFinished(state), asked: await reasons() }).toEqual({
          ...{ at, when, isFinished: true, asked: [ASKS] },
        });
      }
  });
});
