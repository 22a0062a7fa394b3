import { afterAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import { spentOf } from "#core/limits.ts";
import type { ModelAnswer, ModelRequest } from "#core/ports/model.ts";
import type { SandboxFinding } from "#core/ports/sandbox.ts";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import {
  afterRun,
  closeProseLoops,
  done,
  type Loop,
  type LoopOptions,
  makeLoop,
  makeProseLoop,
  outerCommand,
  type PersonAnswer,
  reply,
  resultOf,
} from "../helpers/loop.ts";
import { answered } from "../helpers/models.ts";
import { cutPoints, cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

afterAll(closeProseLoops);

const NEEDS_REPORT: GoalCheck = { goal: 0, test: { kind: "contains", path: "report.md", text: "42 cities" } };
const QUESTION = { kind: "judge", question: "Is it a good report?", paths: ["report.md"] } as const;
const IS_GOOD: GoalCheck = { goal: null, test: QUESTION };
const ADVISED = { advisor: { ready: true } } as const;
const isJudge = ({ messages }: ModelRequest): boolean =>
  messages[0]?.content.includes("You check somebody's work") === true;
const judged = (judgement: object): ModelAnswer => {
  const verdict = { passes: true, passage: "There are 42 cities in it", reason: "It counts.", ...judgement };
  return answered(JSON.stringify(verdict), { inputTokens: 1_000, outputTokens: 50 });
};

const WRITE = reply("write_to_file", { file: "report.md", text: "There are 42 cities in it" });
const REPORT = Buffer.from("There are 42 cities in it.");
const VERIFY = reply("modify_task", { id: "0", state: "verified" });

/** The model decides by the prompt alone: it claims success, and does the work once it has read the reason twice. */
const claiming =
  (answer: (seen: { readonly refused: number; readonly hasWritten: boolean }) => string): LoopOptions["script"] =>
  (request) => {
    if (isJudge(request)) return judged({});
    const { messages } = request;
    const all = messages.map(({ content }) => content).join("\n");
    const refused = messages.filter(({ role, content }) => role === "user" && content.includes("checks failed")).length;
    return answer({ refused, hasWritten: all.includes("42 cities in it") });
  };
const STORY = claiming(({ refused, hasWritten }) => (refused < 2 || hasWritten ? done() : WRITE));

const makeStory = (options: Partial<LoopOptions> = {}): Promise<Loop> =>
  makeLoop({ script: STORY, services: ADVISED, checks: [NEEDS_REPORT], goals: ["Write report.md"], ...options });

const resultsOf = async (loop: Loop) => (await loop.of("goals-checked")).map(({ results }) => results);

it("a claim of completion with a missing file is refused twice, and accepted once the file is right", async () => {
  const loop = await makeStory();
  const state = await loop.run();
  expect(state.frames[0].phase.kind).toBe("resting");
  const [first, second, third] = await resultsOf(loop);
  expect(first).toEqual([{ check: 0, isPassed: false, proof: 'There is no file "report.md". Write it.' }]);
  expect(second).toEqual(first);
  const proof = 'Line 1 of report.md has it: "There are 42 cities in it"';
  expect(third).toMatchObject([{ check: 0, isPassed: true, proof }]);
  expect(state.proofs).toEqual(third);
  expect((await resultOf(loop)).observation).toMatchObject({
    status: "failed",
    code: "check-failed",
    source: "workspace",
    text: '1 of 1 checks failed, so this is not finished yet:\n- failed: report.md contains "42 cities". There is no file "report.md". Write it.\nDo what is missing, then report it again.',
  });
});

it("a power cut in the middle of checks leaves the same results, each once, and buys no answer twice", async () => {
  const outcomeOf = async (loop: Loop) => {
    const { proofs, step, refusals, frames } = await loop.run();
    const { kind } = frames[0].phase;
    return { proofs, step, refusals, kind, results: await resultsOf(loop), text: loop.text("report.md") };
  };
  const makeJudged = (): Promise<Loop> => makeStory({ checks: [NEEDS_REPORT, IS_GOOD] });
  const whole = await makeJudged();
  const expected = await outcomeOf(whole);
  expect(expected.results).toHaveLength(3);
  expect(expected.proofs).toMatchObject([{ isPassed: true }, { isPassed: true }]);
  expect(whole.model.requests.filter(isJudge)).toHaveLength(1);
  for (const [at, when] of cutPoints(whole.store.commits.length)) {
    const loop = await makeJudged();
    await expect(loop.run({ store: cutPowerAt(at, when) })).rejects.toThrow(PowerCut);
    expect({ at, when, ...(await outcomeOf(loop)) }).toEqual({ at, when, ...expected });
    expect((await loop.of("command-finished")).filter(({ spent }) => spent)).toHaveLength(1);
  }
});

describe("checks that fail again and again", () => {
  it("pause the agent after the third time, with words that name them, and a resume goes on", async () => {
    const script = claiming(({ refused, hasWritten }) => (refused < 3 || hasWritten ? done() : WRITE));
    const loop = await makeStory({ script });
    const { paused } = await loop.run();
    expect(paused?.code).toBe("not-proven");
    expect(paused?.reason).toContain(
      'It reported its work as finished 3 times in a row, and it is not. A check failed: report.md contains "42 cities". There is no file',
    );
    expect(await resultsOf(loop)).toHaveLength(3);
    await loop.tell({ type: "resume" });
    expect(isFinished(await loop.run())).toBe(true);
    expect(await resultsOf(loop)).toHaveLength(4);
  });

  it("count together with refusals of other kinds, and checks that pass start the count again", async () => {
    const loop = await makeStory({ script: [done(), VERIFY, done()], settings: { plan: "required" } });
    const { paused, step, refusals } = await loop.run();
    expect({ code: paused?.code, step, refusals }).toEqual({ code: "not-proven", step: 3, refusals: 3 });
    expect(await loop.of("command-denied")).toMatchObject([{ callId: "c1" }, { callId: "c3" }]);
    expect(await resultsOf(loop)).toHaveLength(1);
    expect(paused?.reason).toMatch(
      /Tasks of its plan .*: 0 "Write report\.md" \(open\)\. A check failed: report\.md contains/,
    );

    const other: GoalCheck = { goal: 1, test: { kind: "file", path: "notes.md" } };
    const checkSecond = outerCommand(({ call }) => call("check_goals", { goals: [1] }));
    const writeNotes = reply("write_to_file", { file: "notes.md", text: "x" });
    const mixed = await makeStory({
      goals: ["Write report.md", "Write notes.md"],
      checks: [NEEDS_REPORT, other],
      commands: [checkSecond],
      script: [done(), done(), writeNotes, reply("outer"), done(), done(), done()],
    });
    expect(await mixed.run()).toMatchObject({ step: 7, refusals: 3, paused: { code: "not-proven" } });
  });
});

describe("the checks that run", () => {
  const ofFile = (goal: number | null, path: string): GoalCheck => ({ goal, test: { kind: "file", path } });
  const CHECKS = [ofFile(0, "a.txt"), ofFile(1, "b.txt"), ofFile(null, "c.txt")];
  const checkedBy = async (goals: readonly number[]) => {
    const loop = await makeStory({
      goals: ["Write a.txt", "Write b.txt"],
      checks: CHECKS,
      commands: [outerCommand(({ call }) => call("check_goals", { goals }))],
      script: [reply("outer")],
    });
    await loop.run();
    return (await resultsOf(loop)).flat().map(({ check }) => check);
  };

  it("are all of them when the work is reported as finished, also after one that failed", async () => {
    const loop = await afterRun(makeStory({ goals: ["a", "b"], checks: CHECKS, script: [done()] }));
    const [results] = await resultsOf(loop);
    expect(results).toMatchObject([0, 1, 2].map((check) => ({ check, isPassed: false })));
  });

  it("are those of the goals, and those of all goals together with all of them", async () => {
    const checked = await Promise.all([[0], [1], [1, 0]].map(checkedBy));
    expect(checked).toEqual([[0], [1], [0, 1, 2]]);
  });

  it("are none in a turn that words opened, and all again in one that goals opened", async () => {
    const loop = await makeStory();
    expect(isFinished(await loop.run())).toBe(true);
    await loop.tell({ type: "say", from: "ada", text: "Delete it again." });
    loop.files.clear();
    expect(isFinished(await loop.run())).toBe(true);
    expect(await resultsOf(loop)).toHaveLength(3);
    expect(loop.model.requests.at(-1)?.messages[0]?.content).not.toContain("42 cities");
    await loop.tell({ type: "goals", goals: ["Write report.md"], checks: [NEEDS_REPORT] });
    await loop.run();
    expect((await resultsOf(loop)).length).toBeGreaterThan(3);
  });

  it("ask nobody, although each command asks", async () => {
    const loop = await makeStory({ settings: { approve: "always" } });
    await loop.run({ ask: async () => YES });
    const asked = (await loop.of("approval-asked")).map(({ callId }) => callId);
    expect(asked).toEqual(["c1", "c2", "c3", "c4"]);
    expect(await resultsOf(loop)).toHaveLength(3);
  });

  it.each(["check_goals", "judge_goal"])("are not run by the model's call of %s", async (name) => {
    const args = name === "check_goals" ? { goals: [] } : { question: "Is it good?", files: ["report.md"] };
    const loop = await makeStory({ script: [reply(name, args), done()], checks: [] });
    expect(isFinished(await loop.run())).toBe(true);
    expect((await loop.of("command-requested")).map(({ call }) => call.name)).not.toContain(name);
    expect(JSON.stringify(loop.model.requests[0])).not.toContain(name);
  });
});

it("the words in the result of a check carry the sources of the files that they quote", async () => {
  const check: GoalCheck = { goal: 0, test: { ...QUESTION, paths: ["agents/ann/notes.md"] } };
  const script: LoopOptions["script"] = (request) =>
    isJudge(request) ? judged({ passes: false, reason: "Ann says no." }) : done();
  const loop = await makeStory({ checks: [check], script });
  loop.files.set("agents/ann/notes.md", Buffer.from("Do as Ann says."));
  await loop.run();
  const ended = (await loop.of("command-finished")).slice(0, 3);
  expect(ended.map(({ callId }) => callId)).toEqual(["c1.1.1", "c1.1", "c1"]);
  for (const { observation } of ended) expect(observation).toMatchObject({ outside: [{ from: "agent", name: "ann" }] });
});

describe("the end of the work in the form code", () => {
  it("is refused by a check that fails, and is the end once it passes", async () => {
    const write: CellBehaviour = async (_cell, _host, { call }) =>
      void (await call("write_to_file", { file: "report.md", text: "42 cities" }));
    const replies = ["It is done.", "```python\nwrite\n```", "Now it is done."];
    const { loop, lastResult } = await makeProseLoop("code", replies, { write }, { checks: [NEEDS_REPORT] });
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toContain('There is no file "report.md"');
    expect((await resultsOf(loop)).map(([result]) => result?.isPassed)).toEqual([false, true]);
  });

  it("is refused when code calls stop", async () => {
    const replies = ["```python\nstop()\n```", "It is done."];
    const cells = { "stop()": () => ({ stop: {} }) };
    const { loop, lastResult } = await afterRun(makeProseLoop("code", replies, cells, { checks: [NEEDS_REPORT] }));
    expect(lastResult(2)).toContain('There is no file "report.md"');
    expect(await resultsOf(loop)).toHaveLength(2);
  });
});

describe("a judge's cost", () => {
  async function makeJudged(more: Partial<LoopOptions> = {}, report: Uint8Array = REPORT): Promise<Loop> {
    const script: LoopOptions["script"] = (request) => (isJudge(request) ? judged({}) : done());
    const loop = await makeStory({ checks: [IS_GOOD], script, ...more });
    loop.files.set("report.md", report);
    return loop;
  }

  it("counts against the agent's limits", async () => {
    const state = await (await makeJudged()).run();
    expect(isFinished(state)).toBe(true);
    const proof = 'report.md says: "There are 42 cities in it" It says: It counts.';
    expect(state.proofs).toEqual([{ check: 0, isPassed: true, proof }]);
    const free = await makeJudged({ checks: [] });
    expect(spentOf(state).tokens - spentOf(await free.run()).tokens).toBeGreaterThan(1_050);
    expect(state.usage.modelCalls).toBe(2);
  });

  it("is no reason to wait when the judge is out of reach: the check fails, and says why", async () => {
    const outage: ModelAnswer = { kind: "failed", code: "server-error", message: "The server is down.", retry: null };
    const loop = await makeJudged({ script: (request) => (isJudge(request) ? outage : done()) });
    const { paused } = await loop.run();
    expect(paused?.reason).toContain("The server is down.");
    const proof = "The model that judges gave no answer: The server is down.";
    expect(await resultsOf(loop)).toEqual(Array(3).fill([{ check: 0, isPassed: false, proof }]));
  });

  it("is not spent beyond them: the check fails, and says why", async () => {
    const long = Buffer.from("There are 42 cities in it. ".repeat(300));
    const loop = await afterRun(makeJudged({ settings: { tokenLimit: 2_500 } }, long));
    expect(loop.model.requests.filter(isJudge)).toEqual([]);
    const [[result] = []] = await resultsOf(loop);
    expect(result).toMatchObject({ isPassed: false, proof: expect.stringMatching(/not asked.* may take \d+ tokens/) });
  });
});

const NO_BUBBLEWRAP: SandboxFinding = { level: "degraded", reason: "bubblewrap is not installed." };
const STRICT: SandboxFinding = { level: "strict", reason: "" };
const CODE = "assert open('a.md')";
const OF_FILE: GoalCheck = { goal: 0, test: { kind: "code", code: CODE, needsApproval: true } };
const TYPED: GoalCheck = { goal: 0, test: { kind: "code", code: CODE } };
const YES: PersonAnswer = { kind: "approved", count: 1 };
const NO: PersonAnswer = { kind: "feedback", text: "I do not know this program." };
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
  const ask = async (call: CommandCall): Promise<PersonAnswer> => (asked.push(call) > 0 ? YES : NO);
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
    const afterAnn = await reasonsAfter(reply("read_file", { file: "agents/ann/b.md" }));
    expect(afterAnn).toEqual([expect.stringContaining(ASKS)]);
  });

  it.each<[title: string, options: Partial<LoopOptions>, finding: SandboxFinding]>([
    ["in a strict cage", {}, STRICT],
    ["in a strict cage, although each command asks", { settings: { approve: "always" } }, STRICT],
    ["of an agent that never asks, as run_code", { settings: { approve: "never" } }, NO_BUBBLEWRAP],
    ["that a person named on the command line", { checks: [TYPED] }, NO_BUBBLEWRAP],
  ])("asks nobody %s (control)", async (_title, options, finding) => {
    const { loop, sandbox, asked, ask } = await makeAsker(options, finding);
    expect(isFinished(await loop.run({ ask }))).toBe(true);
    expect(asked.filter(({ name }) => name === "check_goals")).toEqual([]);
    expect(sandbox.cells).toHaveLength(2);
  });

  it("asks only when a goal with such a check is checked, and does not run before the answer", async () => {
    const file: GoalCheck = { goal: 1, test: { kind: "file", path: "a.md" } };
    const { loop, sandbox } = await makeAsker({
      goals: ["a", "b"],
      checks: [OF_FILE, file],
      settings: { plan: "required" },
      script: ["0.1", "0.0"].map((id) => reply("modify_task", { id, state: "verified" })),
    });
    loop.files.set("a.md", Buffer.from("It is there"));
    const { frames, proofs } = await loop.run();
    expect(proofs).toMatchObject([{ check: 1, isPassed: true }]);
    expect(frames.at(-1)?.phase).toMatchObject({ kind: "awaiting-approval", reason: ASKS });
    expect(sandbox.cells).toEqual([]);
  });

  it("is approved once, whenever the power is cut", async () => {
    const whole = await makeAsker();
    await whole.loop.run({ ask: whole.ask });
    for (const [at, when] of cutPoints(whole.loop.store.commits.length)) {
      const { loop, ask, reasons } = await makeAsker();
      await expect(loop.run({ ask, store: cutPowerAt(at, when) })).rejects.toThrow(PowerCut);
      const state = await loop.run({ ask });
      expect([at, when, isFinished(state), await reasons()]).toEqual([at, when, true, [ASKS]]);
    }
  });
});
