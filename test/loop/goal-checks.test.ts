import { afterAll, describe, expect, it } from "@jest/globals";
import type { EventOf } from "#core/event.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import { spentOf } from "#core/limits.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import type { ModelAnswer, ModelRequest } from "#core/ports/model.ts";
import { isFinished } from "#core/state.ts";
import { done, type Loop, type LoopOptions, makeLoop, reply } from "../helpers/loop.ts";
import { outerCommand } from "../helpers/outer-command.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";
import { closeProseLoops, makeProseLoop } from "../helpers/prose-loop.ts";

afterAll(closeProseLoops);

const NEEDS_REPORT: GoalCheck = { goal: 0, test: { kind: "contains", path: "report.md", text: "42 cities" } };
const IS_GOOD: GoalCheck = {
  goal: null,
  test: { kind: "judge", question: "Is it a good report?", paths: ["report.md"] },
};
const ADVISED = { advisor: { ready: true } } as const;
const isJudge = ({ messages }: ModelRequest): boolean =>
  messages[0]?.content.includes("You check somebody's work") === true;
const judged = (judgement: object): ModelAnswer => ({
  kind: "replied",
  text: JSON.stringify({ passes: true, passage: "There are 42 cities in it", reason: "It counts.", ...judgement }),
  finishReason: "stop",
  usage: { inputTokens: 1_000, outputTokens: 50, cachedTokens: 0, estimated: false },
});
const say = (loop: Loop, message: InboxMessage): Promise<unknown> =>
  loop.store.deliver(loop.row.id, JSON.stringify(message), message, "2026-11-20T09:00:00.000Z");
const write = (text: string): string => reply("write_to_file", { file: "report.md", text });

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
const STORY = claiming(({ refused, hasWritten }) =>
  refused < 2 || hasWritten ? done() : write("There are 42 cities in it"),
);

const makeStory = (options: Partial<LoopOptions> = {}): Promise<Loop> =>
  makeLoop({ script: STORY, services: ADVISED, checks: [NEEDS_REPORT], goals: ["Write report.md"], ...options });

async function ofType<T extends "goals-checked" | "command-finished" | "command-denied" | "agent-paused">(
  loop: Loop,
  type: T,
): Promise<readonly EventOf<T>[]> {
  return (await loop.events()).filter((event) => event.type === type) as unknown as readonly EventOf<T>[];
}
const resultsOf = async (loop: Loop) => (await ofType(loop, "goals-checked")).map(({ results }) => results);
const textsOf = async (loop: Loop, callId: string) =>
  (await ofType(loop, "command-finished"))
    .filter((event) => event.callId === callId)
    .map(({ observation }) => observation.text);

describe("an agent that claims completion with a missing file", () => {
  it("is refused twice with the reason, and is done once the file is right", async () => {
    const loop = await makeStory();
    const state = await loop.run();
    expect(state.frames[0].phase.kind).toBe("resting");
    const [first, second, third] = await resultsOf(loop);
    expect(first).toEqual([{ check: 0, isPassed: false, proof: 'There is no file "report.md". Write it.' }]);
    expect(second).toEqual(first);
    expect(third).toMatchObject([
      { check: 0, isPassed: true, proof: 'Line 1 of report.md has it: "There are 42 cities in it"' },
    ]);
    expect(state.proofs).toEqual(third);
    expect(await textsOf(loop, "c1")).toEqual([
      '1 of 1 checks failed, so this is not finished yet:\n- failed: report.md contains "42 cities". There is no file "report.md". Write it.\nDo what is missing, then report it again.',
    ]);
    expect((await ofType(loop, "command-finished")).find(({ callId }) => callId === "c1")?.observation).toMatchObject({
      status: "failed",
      code: "check-failed",
      source: "workspace",
    });
  });

  it("ends at once without a check", async () => {
    const loop = await makeStory({ checks: [] });
    const state = await loop.run();
    expect(state.frames[0].phase.kind).toBe("resting");
    expect(state.step).toBe(1);
    expect(loop.text("report.md")).toBeUndefined();
    expect(await resultsOf(loop)).toEqual([]);
  });
});

describe("a power cut in the middle of checks", () => {
  const outcomeOf = async (loop: Loop) => {
    const { proofs, step, refusals, frames } = await loop.run();
    const [frame] = frames;
    return {
      proofs,
      step,
      refusals,
      phase: frame.phase.kind,
      results: await resultsOf(loop),
      text: loop.text("report.md"),
    };
  };
  const makeJudged = (): Promise<Loop> => makeStory({ checks: [NEEDS_REPORT, IS_GOOD] });

  it("leaves the same results at every commit of the story, each of them once, and buys no answer twice", async () => {
    const whole = await makeJudged();
    const expected = await outcomeOf(whole);
    expect(expected.results).toHaveLength(3);
    expect(expected.proofs).toMatchObject([{ isPassed: true }, { isPassed: true }]);
    expect(whole.model.requests.filter(isJudge)).toHaveLength(1);
    const commits = whole.store.commits.length;
    for (let at = 2; at <= commits; at++)
      for (const when of ["before", "after"] as const) {
        const loop = await makeJudged();
        const cut = loop.run({ store: cutPowerAt(at - 1, when) });
        await expect(cut).rejects.toThrow(PowerCut);
        expect({ at, when, ...(await outcomeOf(loop)) }).toEqual({ at, when, ...expected });
        const answers = (await ofType(loop, "command-finished")).filter(({ spent }) => spent !== undefined);
        expect(answers).toHaveLength(1);
      }
  });
});

describe("a task of a goal", () => {
  const verify = reply("modify_task", { id: "0", state: "verified" });

  it("becomes verified once the checks of the goal pass, whenever the power is cut", async () => {
    const script = claiming(({ refused, hasWritten }) => {
      if (refused === 0) return verify;
      return hasWritten ? verify : write("There are 42 cities in it");
    });
    const makePlanned = (): Promise<Loop> =>
      makeStory({
        settings: { plan: "required" },
        script: (request, index) =>
          request.messages.some(({ content }) => content.includes("was open and is verified")) ||
          typeof script !== "function"
            ? done()
            : script(request, index),
      });
    const whole = await makePlanned();
    const { plan } = await whole.run();
    expect(plan).toMatchObject({ state: "verified" });
    expect((await resultsOf(whole)).flat().map(({ isPassed }) => isPassed)).toEqual([false, true, true]);
    for (let at = 2; at < whole.store.commits.length; at++) {
      const loop = await makePlanned();
      await expect(loop.run({ store: cutPowerAt(at, "after") })).rejects.toThrow(PowerCut);
      expect(isFinished(await loop.run())).toBe(true);
      expect(await resultsOf(loop)).toEqual(await resultsOf(whole));
    }
  });
});

describe("checks that fail again and again", () => {
  it("pause the agent after the third time, with words that name them, and a resume goes on", async () => {
    const loop = await makeStory({
      script: claiming(({ refused, hasWritten }) =>
        refused < 3 || hasWritten ? done() : write("There are 42 cities in it"),
      ),
    });
    const { paused } = await loop.run();
    expect(paused?.code).toBe("not-proven");
    expect(paused?.reason).toContain(
      'It reported its work as finished 3 times in a row, and it is not. A check failed: report.md contains "42 cities". There is no file',
    );
    expect(await resultsOf(loop)).toHaveLength(3);
    await say(loop, { type: "resume" });
    expect(isFinished(await loop.run())).toBe(true);
    expect(await resultsOf(loop)).toHaveLength(4);
  });

  it("count together with refusals of other kinds, and checks that pass start the count again", async () => {
    const verify = reply("modify_task", { id: "0", state: "verified" });
    const loop = await makeStory({ script: [done(), verify, done()], settings: { plan: "required" } });
    const { paused, step, refusals } = await loop.run();
    expect({ code: paused?.code, step, refusals }).toEqual({ code: "not-proven", step: 3, refusals: 3 });
    expect(await ofType(loop, "command-denied")).toMatchObject([{ callId: "c1" }, { callId: "c3" }]);
    expect(await resultsOf(loop)).toHaveLength(1);
    expect(paused?.reason).toMatch(
      /Tasks of its plan .*: 0 "Write report\.md" \(open\)\. A check failed: report\.md contains/,
    );

    const other: GoalCheck = { goal: 1, test: { kind: "file", path: "notes.md" } };
    const checkSecond = outerCommand(({ call }) => call("check_goals", { goals: [1] }));
    const mixed = await makeStory({
      goals: ["Write report.md", "Write notes.md"],
      checks: [NEEDS_REPORT, other],
      commands: [checkSecond],
      script: [
        done(),
        done(),
        reply("write_to_file", { file: "notes.md", text: "x" }),
        reply("outer"),
        done(),
        done(),
        done(),
      ],
    });
    expect(await mixed.run()).toMatchObject({ step: 7, refusals: 3, paused: { code: "not-proven" } });
  });
});

describe("the checks that run", () => {
  const CHECKS: readonly GoalCheck[] = [
    { goal: 0, test: { kind: "file", path: "a.txt" } },
    { goal: 1, test: { kind: "file", path: "b.txt" } },
    { goal: null, test: { kind: "file", path: "c.txt" } },
  ];
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
    const loop = await makeStory({ goals: ["a", "b"], checks: CHECKS, script: [done()] });
    await loop.run();
    const [results] = await resultsOf(loop);
    expect(results?.map(({ check, isPassed }) => [check, isPassed])).toEqual([
      [0, false],
      [1, false],
      [2, false],
    ]);
  });

  it("are those of the goals, and those of all goals together with all of them", async () => {
    expect(await checkedBy([0])).toEqual([0]);
    expect(await checkedBy([1])).toEqual([1]);
    expect(await checkedBy([1, 0])).toEqual([0, 1, 2]);
  });

  it("are none in a turn that words opened, and all again in one that goals opened", async () => {
    const loop = await makeStory();
    expect(isFinished(await loop.run())).toBe(true);
    await say(loop, { type: "say", from: "ada", text: "Delete it again." });
    loop.files.clear();
    expect(isFinished(await loop.run())).toBe(true);
    expect(await resultsOf(loop)).toHaveLength(3);
    expect(loop.model.requests.at(-1)?.messages[0]?.content).not.toContain("42 cities");
    await say(loop, { type: "goals", goals: ["Write report.md"], checks: [NEEDS_REPORT] });
    await loop.run();
    expect((await resultsOf(loop)).length).toBeGreaterThan(3);
  });

  it("ask nobody, although each command asks", async () => {
    const asked: string[] = [];
    const loop = await makeStory({ settings: { approve: "always" } });
    await loop.run({
      ask: async ({ name }) => {
        asked.push(name);
        return { kind: "approved", count: 1 };
      },
    });
    expect(asked).toEqual(["task_complete", "task_complete", "write_to_file", "task_complete"]);
    expect(await resultsOf(loop)).toHaveLength(3);
  });

  it.each(["check_goals", "judge_goal"])("are not run by the model's call of %s", async (name) => {
    const args = name === "check_goals" ? { goals: [] } : { question: "Is it good?", files: ["report.md"] };
    const loop = await makeStory({ script: [reply(name, args), done()], checks: [] });
    expect(isFinished(await loop.run())).toBe(true);
    expect((await loop.events()).some((event) => event.type === "command-requested" && event.call.name === name)).toBe(
      false,
    );
    expect(JSON.stringify(loop.model.requests[0])).not.toContain(name);
  });
});

describe("the words in the result of a check", () => {
  it("carry the sources of the files that they quote", async () => {
    const check: GoalCheck = {
      goal: 0,
      test: { kind: "judge", question: "Is it good?", paths: ["agents/ann/notes.md"] },
    };
    const script: LoopOptions["script"] = (request) =>
      isJudge(request) ? judged({ passes: false, reason: "Ann says no." }) : done();
    const loop = await makeStory({ checks: [check], script });
    loop.files.set("agents/ann/notes.md", Buffer.from("Do as Ann says."));
    await loop.run();
    const ended = (await ofType(loop, "command-finished")).slice(0, 3);
    expect(ended.map(({ callId }) => callId)).toEqual(["c1.1.1", "c1.1", "c1"]);
    for (const { observation } of ended)
      expect(observation).toMatchObject({ outside: [{ from: "agent", name: "ann" }] });
  });
});

describe("the end of the work in the form code", () => {
  it("is refused by a check that fails, and is the end once it passes", async () => {
    const { loop, lastResult } = await makeProseLoop(
      "code",
      ["It is done.", "```python\nwrite\n```", "Now it is done."],
      {
        write: async (_cell, _host, scope) =>
          void (await scope.call("write_to_file", { file: "report.md", text: "42 cities" })),
      },
      { checks: [NEEDS_REPORT] },
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toContain('There is no file "report.md"');
    expect((await resultsOf(loop)).map(([result]) => result?.isPassed)).toEqual([false, true]);
  });

  it("is refused when code calls stop", async () => {
    const { loop, lastResult } = await makeProseLoop(
      "code",
      ["```python\nstop()\n```", "It is done."],
      { "stop()": () => ({ stop: {} }) },
      { checks: [NEEDS_REPORT] },
    );
    await loop.run();
    expect(lastResult(2)).toContain('There is no file "report.md"');
    expect(await resultsOf(loop)).toHaveLength(2);
  });
});

describe("a judge's cost", () => {
  const makeJudged = (more: Partial<LoopOptions> = {}): Promise<Loop> =>
    makeStory({ checks: [IS_GOOD], script: (request) => (isJudge(request) ? judged({}) : done()), ...more });

  it("counts against the agent's limits", async () => {
    const loop = await makeJudged();
    loop.files.set("report.md", Buffer.from("There are 42 cities in it."));
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(state.proofs).toEqual([
      { check: 0, isPassed: true, proof: 'report.md says: "There are 42 cities in it" It says: It counts.' },
    ]);
    const free = await makeJudged({ checks: [] });
    expect(spentOf(state).tokens - spentOf(await free.run()).tokens).toBeGreaterThan(1_050);
    expect(state.usage.modelCalls).toBe(2);
  });

  it("is no reason to wait when the judge is out of reach: the check fails, and says why", async () => {
    const outage: ModelAnswer = { kind: "failed", code: "server-error", message: "The server is down.", retry: null };
    const loop = await makeJudged({ script: (request) => (isJudge(request) ? outage : done()) });
    loop.files.set("report.md", Buffer.from("There are 42 cities in it."));
    const { paused } = await loop.run();
    expect(paused?.reason).toContain("The server is down.");
    const proof = "The model that judges gave no answer: The server is down.";
    expect(await resultsOf(loop)).toEqual(Array(3).fill([{ check: 0, isPassed: false, proof }]));
  });

  it("is not spent beyond them: the check fails, and says why", async () => {
    const loop = await makeJudged({ settings: { tokenLimit: 2_500 } });
    loop.files.set("report.md", Buffer.from("There are 42 cities in it. ".repeat(300)));
    await loop.run();
    expect(loop.model.requests.filter(isJudge)).toEqual([]);
    const [[result] = []] = await resultsOf(loop);
    expect(result).toMatchObject({ isPassed: false, proof: expect.stringMatching(/not asked.* may take \d+ tokens/) });
  });
});
