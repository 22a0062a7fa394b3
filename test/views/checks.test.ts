import { describe, expect, it } from "@jest/globals";
import { createShowRun } from "#cli/terminal/show-run.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { type GoalCheck, MAX_CHECKS } from "#core/goal-check.ts";
import { countChecks, describeCounts, viewChecks } from "#views/agent-details.ts";
import { renderReport } from "#views/report.ts";
import { asked, log, replied, requested } from "../helpers/events.ts";
import { factsOf } from "../helpers/report-of.ts";

const file = (path: string, goal: number | null = null): GoalCheck => ({ goal, test: { kind: "file", path } });
const given = (goals: readonly string[], ...checks: readonly GoalCheck[]): NewEvent => ({
  ...{ type: "agent-created", name: "Foo", role: "r", goals, checks, approve: "never", stepLimit: null },
});
const checked = (...results: readonly (readonly [check: number, isPassed: boolean, proof: string])[]): NewEvent => ({
  ...{ type: "goals-checked", step: 1, callId: "c1.1" },
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
    const of = { step: 1, callId: "c1.1" } as const;
    const call = { name: "check_goals", args: { goals: [0] } };
    const failed = { status: "failed", code: "check-failed", text: proof, source: "workspace", artifacts: [] } as const;
    const report = reportOf(
      given(["One"], file("a.md", 0)),
      ...step,
      { type: "command-requested", ...of, call, thought: "", repaired: false },
      checked([0, false, proof]),
      { type: "command-finished", ...of, observation: failed, durationMs: 1 },
      { type: "command-finished", step: 1, callId: "c1", observation: failed, durationMs: 1 },
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

describe("the view of checks", () => {
  it("counts them by their newest results", () => {
    const state = replay(
      log(given(["One"], file("a.md"), file("b.md"), file("c.md")), ...step, checked([0, true, ""], [1, false, "x"])),
    );
    const checks = viewChecks(state);
    expect(countChecks(checks)).toEqual({ passed: 1, failed: 1, notRun: 1 });
    expect(describeCounts(countChecks(checks))).toBe("1 passed, 1 failed, 1 not run");
    expect(checks[1]).toEqual({ goal: null, check: "b.md exists", isPassed: false, proof: "x" });
  });

  it("starts again with new goals", () => {
    const changed: NewEvent = { type: "goals-changed", goals: ["Two"], checks: [file("b.md", 0)] };
    const state = replay(log(given(["One"], file("a.md")), ...step, checked([0, true, ""]), changed));
    expect(viewChecks(state)).toEqual([{ goal: 0, check: "b.md exists", isPassed: null, proof: "" }]);
  });
});

describe("a run on a terminal", () => {
  function shown(...events: readonly NewEvent[]): readonly string[] {
    const lines: string[] = [];
    const show = createShowRun({ print: (line) => lines.push(line), colour: false, thoughtsOf: () => null });
    for (const event of log(...events)) show(event);
    return lines.filter((line) => line.startsWith("Check "));
  }
  const results = checked([0, false, "There is no\nfile a.md.\u0007"], [1, true, "It is there."]);

  it("shows each check when it has run, without control characters", () => {
    expect(shown(given(["One"], file("a.md"), file("b.md")), results)).toEqual([
      "Check failed: a.md exists. There is no\n  file a.md.",
      "Check passed: b.md exists. It is there.",
    ]);
  });

  it("names a check by its number when its goals came before", () => {
    expect(shown(results).at(-1)).toBe("Check passed: check 2. It is there.");
  });
});
