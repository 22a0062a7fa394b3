import { describe, expect, it } from "@jest/globals";
import { ForkedAgent } from "#api/schemas.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { type GoalCheck, MAX_CHECKS } from "#core/goal-check.ts";
import type { AgentRow } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { AgentDetails, countChecks, describeCounts, viewChecks } from "#views/agent-details.ts";
import {
  AgentView,
  countStandings,
  describeLimit,
  isOver,
  limitsLeft,
  shownStateOf,
  stallLimit,
  viewAgent,
  viewDamaged,
} from "#views/agent-view.ts";
import { nextStepOf } from "#views/next-step.ts";
import { renderReport } from "#views/report.ts";
import { ReportFacts } from "#views/report-facts.ts";
import {
  AT,
  approvalAsked,
  approved,
  asked,
  created,
  finished,
  log,
  modelFailed,
  NOW,
  observed,
  paused,
  RESUMED,
  replied,
  requested,
  started,
  turnEnded,
  waits,
  wholeStep,
} from "../helpers/events.ts";
import { factsOf } from "../helpers/host.ts";

const row: AgentRow = {
  id: "foo",
  name: "Foo",
  folder: "foo",
  parent: null,
  createdAt: AT,
  head: 9,
  updatedAt: AT,
  epoch: 1,
  wakeAt: null,
};
const facts = { workspaceFolder: "/home/workspace", hosted: true, stallAfterMs: () => 1_000, now: new Date(AT) };
const stateAfter = (...events: readonly NewEvent[]) => replay(log(created(), ...events));
const later = (ms: number) => new Date(Date.parse(AT) + ms);

describe("the state of an agent", () => {
  it.each<[string, boolean, readonly NewEvent[]]>([
    ["running", true, []],
    ["interrupted", false, []],
    ["interrupted", false, [asked()]],
    ["waiting: approval", true, [asked(), replied(), requested(), approvalAsked()]],
    ["waiting: approval", false, [asked(), replied(), requested(), approvalAsked()]],
    ["waiting: person", true, [waits("person")]],
    ["waiting: time", true, [waits("time", AT)]],
    ["waiting: agent", true, [waits("agent")]],
    ["paused: budget", true, [paused("budget")]],
    ["paused: person", false, [paused()]],
    ["stopped", true, [paused("stopped")]],
    ["killed", false, [paused("killed")]],
    ["running", true, [paused("killed"), RESUMED]],
    ["completed", false, [turnEnded()]],
  ])("is %s (a host runs it: %s)", (standing, hosted, events) => {
    expect(shownStateOf(stateAfter(...events), hosted)).toBe(standing);
    expect(isOver(standing)).toBe(["completed", "stopped", "killed"].includes(standing));
  });

  it("counts each agent once, whatever its state", () => {
    const events = [[], [waits("person")], [paused()], [paused("ended")], [turnEnded()]];
    const views = events.map((each) => viewAgent(row, stateAfter(...each), facts));
    const idle = viewAgent(row, stateAfter(), { ...facts, hosted: false });
    const { stalled, ...counts } = countStandings([...views, idle, viewDamaged(row, "It is torn.", facts)]);
    const one = { running: 1, waiting: 1, finished: 1, interrupted: 1, damaged: 1 };
    expect({ stalled, ...counts }).toEqual({ ...one, paused: 2, stalled: 0 });
  });
});

describe("the view of an agent", () => {
  it.each(Object.entries({ AgentDetails, ForkedAgent, ReportFacts }))(
    "has no member that means another thing in %s",
    (_name, more) => {
      // A later member of the same name replaces it without an error of the compiler: give the new one another name.
      expect(more.properties).toMatchObject(AgentView.properties);
    },
  );

  it("has the facts of the row and the log, and the folder", () => {
    expect(viewAgent(row, stateAfter(...wholeStep(1)), facts)).toEqual({
      standing: { kind: "running", cause: "" },
      now: { kind: "thinking", command: "", subject: "", thought: "" },
      closing: "",
      budget: null,
      head: 9,
      id: "foo",
      name: "Foo",
      parent: null,
      state: "running",
      reason: null,
      received: [],
      step: 1,
      turn: 1,
      tokens: 15,
      costUsd: 0,
      background: false,
      stalledMs: null,
      until: null,
      lastCommand: "write_to_file",
      createdAt: AT,
      changedAt: AT,
      workspace: "/home/workspace/foo",
    });
  });

  it("has what it does now: the command under way, its subject and its thought", () => {
    const running = stateAfter(asked(), replied(), requested("read_file", 1), approved(), started());
    const view = (state: AgentState) => viewAgent(row, state, facts);
    const thought = "I write it down.";
    expect(view(running).now).toEqual({ kind: "running", command: "read_file", subject: "a.txt", thought });
    const asks = stateAfter(asked(), replied(), requested(), approvalAsked());
    expect(view(asks)).toMatchObject({
      standing: { kind: "waiting", cause: "approval" },
      now: { kind: "waiting", command: "write_to_file" },
    });
    const over = stateAfter(...wholeStep(1), turnEnded("All is written."));
    expect(view(over)).toMatchObject({
      standing: { kind: "over", cause: "completed" },
      now: { kind: "resting", command: "" },
      closing: "All is written.",
    });
  });

  it("keeps what is spent and what is set aside apart", () => {
    const state = stateAfter(...wholeStep(1), asked(2));
    const limited = { ...state, settings: { ...state.settings, budgetUsd: 1, tokenLimit: 9_000 }, costUsd: 0.25 };
    const open = limited.open.map((each) => ({ ...each, reservedUsd: 0.5, reservedTokens: 1_000 }));
    const { budget } = viewAgent(row, { ...limited, open } as AgentState, facts);
    expect(budget).toEqual({ allowedUsd: 1, spentUsd: 0.25, reservedUsd: 0.5 });
    const limits = limitsLeft({ ...limited, open } as AgentState, NOW);
    expect(limits.find(({ limit }) => limit === "tokens")).toMatchObject({ used: 1_015, spent: 15, left: 7_985 });
    expect(limits.map(describeLimit).slice(-2)).toEqual([
      "7,985 tokens left (15 of 9,000 used in all turns, 1,000 set aside)",
      "$0.25 left ($0.25 of $1.00 used in all turns, $0.50 set aside)",
    ]);
    const small = { ...limited, settings: { ...state.settings, budgetUsd: 0.3 }, costUsd: 0.04 };
    const cents = limitsLeft({ ...small, open: [{ ...open[0], reservedUsd: 0.1 }] } as AgentState, NOW);
    expect(cents.at(-1)).toMatchObject({ used: 0.14, spent: 0.04, left: 0.16 });
  });

  it("contains since when a running agent has stalled, but not for a wait that may be long", () => {
    const view = (now: Date, ...events: readonly NewEvent[]) =>
      viewAgent(row, stateAfter(...events), { ...facts, now });
    expect(view(later(1_000)).stalledMs).toBeNull();
    expect(view(later(1_001)).stalledMs).toBe(1_001);
    expect(view(later(60_000), paused()).stalledMs).toBeNull();
    const retry = [asked(), modelFailed(1, later(50_000).toISOString())];
    expect(view(later(50_500), ...retry).stalledMs).toBeNull();
    expect(view(later(52_000), ...retry).stalledMs).toBe(2_000);
    expect(view(later(10), ...retry).reason).toContain("The next attempt is at");
  });

  it("waits for a rate limit with its end, and for the model while another failure is retried", () => {
    const retryAt = later(14_000).toISOString();
    const view = (code: string) => viewAgent(row, stateAfter(asked(), modelFailed(1, retryAt, code)), facts);
    expect(view("rate-limited")).toMatchObject({ state: "waiting: rate limit", until: retryAt });
    expect(view("rate-limited").reason).toBe(`The server answered 500. The next attempt is at ${retryAt}.`);
    expect(view("unavailable")).toMatchObject({ state: "waiting: model", until: retryAt });
    const state = stateAfter(asked(), modelFailed(1, retryAt, "unavailable"));
    expect(nextStepOf("foo", state, "waiting: model").why).toBe(
      "Its last request to the model failed, and goald repeats it.",
    );
  });

  it("says why a model is down, and when it is asked next; while it is asked, since when it is down", () => {
    const message = "The model server answered 503.";
    const down = { ...modelFailed(1, later(60_000).toISOString(), "unavailable"), message, outage: true } as const;
    const view = (...events: NewEvent[]) => viewAgent(row, stateAfter(asked(), down, ...events), facts);
    expect(view()).toMatchObject({
      state: "waiting: model",
      reason: `The model server answered 503. The next attempt is at ${later(60_000).toISOString()}.`,
    });
    const reason = "The model has not answered since 2026-11-20T10:00:02.000Z.";
    expect(view(asked(1, 2))).toMatchObject({ state: "waiting: model", reason });
  });

  it("contains a retry and its reason, wherever the log ends", () => {
    for (const events of [[], [asked()], [turnEnded()], [paused("budget")]]) {
      const state = stateAfter(...events);
      const view = viewAgent(row, state, { ...facts, problem: "The disk is full.", now: later(99_999) });
      const reason = "It failed and is retried automatically. The disk is full.";
      expect(view).toMatchObject({ state: "waiting: retry", reason, stalledMs: null });
      expect(isOver(view.state)).toBe(false);
      expect(nextStepOf("foo", state, view.state).why).toBe("It failed and is retried automatically.");
    }
  });

  it("reports a stall only after the time that the command under way may take, or else a model call", () => {
    const limit = stallLimit(300_000, { get: (name) => ({ timeoutMs: name === "slow" ? 900_000 : 5_000 }) });
    const running = (name: string) => stateAfter(asked(), replied(), requested(name), approved(), started());
    const stalled = (state: AgentState, quietMs: number): boolean =>
      viewAgent(row, state, { ...facts, stallAfterMs: limit, now: later(quietMs) }).stalledMs !== null;
    expect([stalled(running("slow"), 929_000), stalled(running("slow"), 931_000)]).toEqual([false, true]);
    expect([stalled(running("quick"), 34_000), stalled(running("quick"), 36_000)]).toEqual([false, true]);
    expect([stalled(stateAfter(asked()), 329_000), stalled(stateAfter(asked()), 331_000)]).toEqual([false, true]);
    // Without a catalogue any command may be one of the slowest.
    expect(stallLimit(1_000)(running("browse_website"))).toBeGreaterThanOrEqual(600_000);
  });

  it("shows no stall of an agent without a host, nor of one that waits for its turn after a death, and why it waits", () => {
    const view = (change: object) => viewAgent(row, stateAfter(asked()), { ...facts, now: later(99_999), ...change });
    expect(view({ hosted: false })).toMatchObject({ state: "interrupted", stalledMs: null });
    const reason = "ada has its turn.";
    expect(view({ waitsAlone: reason })).toMatchObject({ state: "waiting: recovery", reason, stalledMs: null });
  });
});

const file = (path: string, goal: number | null = null): GoalCheck => ({ goal, test: { kind: "file", path } });
const given = (goals: readonly string[], ...checks: readonly GoalCheck[]) => ({ ...created(), goals, checks });
const checked = (...results: readonly (readonly [check: number, isPassed: boolean, proof: string])[]): NewEvent => ({
  type: "goals-checked",
  step: 1,
  callId: "c1.1",
  results: results.map(([check, isPassed, proof]) => ({ check, isPassed, proof })),
});
const step: readonly NewEvent[] = [asked(1), replied(1), requested("task_complete", 1)];

const reportOf = (...events: readonly NewEvent[]): string => renderReport(factsOf(log(...events)));
const JUDGES = "goald does not judge whether";

describe("the report of goals with checks", () => {
  it("has each check with its newest result below its goal, and those of all goals after them", () => {
    const report = reportOf(
      given(["One", "Two"], file("a.md", 0), file("b.md", 1), file("c.md")),
      ...step,
      checked([0, false, "There is no file a.md."], [1, true, "b.md has 3 bytes."]),
      checked([0, true, "a.md has 9 bytes."]),
    );
    expect(report).toContain(
      "1. One\n   - Evidence: it names no existing file\n   - Check passed: a.md exists. a.md has 9 bytes.\n" +
        "2. Two\n   - Evidence: it names no existing file\n   - Check passed: b.md exists. b.md has 3 bytes.\n\n" +
        "Checks of all goals together:\n\n- Check has not run: c.md exists.\n",
    );
    expect(report).not.toContain(JUDGES);
  });

  it("says that goald does not judge, of goals without checks only", () => {
    expect(reportOf(given(["One"]))).toContain(`${JUDGES} a goal is reached: `);
    expect(reportOf(given(["One", "Two"], file("a.md", 0)))).toContain(
      `Goal 2 has no check, so ${JUDGES} it is reached: `,
    );
    expect(reportOf(given(["One", "Two", "Three"], file("a.md", 1)))).toContain(
      `Goals 1, 3 have no checks, so ${JUDGES} they are reached: `,
    );
    expect(reportOf(given(["One", "Two"], file("a.md")))).not.toContain(JUDGES);
  });

  it("has a failed check once, and not the calls that ran it", () => {
    const proof = "There is no file a.md.";
    const failed = observed(proof, { status: "failed", code: "check-failed", source: "workspace" });
    const report = reportOf(
      given(["One"], file("a.md", 0)),
      ...step,
      { ...requested("check_goals", 1, { goals: [0] }), callId: "c1.1" },
      checked([0, false, proof]),
      { ...finished(1, failed), callId: "c1.1" },
      finished(1, failed),
    );
    expect(report).toContain("- Check failed: a.md exists.");
    expect(report).not.toContain("check_goals");
    expect(report.match(/Failed commands: (\d+)/)?.[1]).toBe("1");
  });

  it("escapes what stands in a check and in its proof", () => {
    const contains: GoalCheck = { goal: 0, test: { kind: "contains", path: "a.md", text: "[x](http://a.org)" } };
    const proof = 'Line 1 of a.md has it: "<img src=x>\u001b[2J"\n# No heading';
    const report = reportOf(given(["One"], contains), ...step, checked([0, true, proof]));
    expect(report).toContain('   - Check passed: a.md contains "\\[x\\](http\\:');
    expect(report).toContain('"\\<img src=x\\>"');
    expect(report).not.toMatch(/^# No heading|\u001b/m);
  });

  it("stays short with the most and the longest checks", () => {
    const checks = Array.from({ length: MAX_CHECKS }, (_, at) => file(`${"漢".repeat(290)}${at}`, 0));
    const results = checks.map((_check, at) => [at, false, "漢".repeat(500)] as const);
    const report = reportOf(given(["One"], ...checks), ...step, checked(...results));
    expect(report).toMatch(/\n {3}- and \d+ more checks, omitted here\n/);
    expect(Buffer.byteLength(report)).toBeLessThan(8_000);
  });
});

it("the view of checks counts them by their newest results, and starts again with new goals", () => {
  const state = replay(
    log(given(["One"], file("a.md"), file("b.md"), file("c.md")), ...step, checked([0, true, ""], [1, false, "x"])),
  );
  const checks = viewChecks(state);
  expect(countChecks(checks)).toEqual({ passed: 1, failed: 1, notRun: 1 });
  expect(describeCounts(countChecks(checks))).toBe("1 passed, 1 failed, 1 not run");
  expect(checks[1]).toEqual({ goal: null, check: "b.md exists", isPassed: false, proof: "x" });
  const changed: NewEvent = { type: "goals-changed", goals: ["Two"], checks: [file("b.md", 0)] };
  const again = replay(log(given(["One"], file("a.md")), ...step, checked([0, true, ""]), changed));
  expect(viewChecks(again)).toEqual([{ goal: 0, check: "b.md exists", isPassed: null, proof: "" }]);
});
