import { describe, expect, it } from "@jest/globals";
import { printable } from "#cli/terminal/print.ts";
import { drawPlan } from "#cli/verbs/plan.ts";
import { currentTask, type PlanTask, type TaskState } from "#core/plan.ts";
import { type TaskView, viewTask } from "#views/plan-view.ts";

const task = (goal: string, state: TaskState, ...subtasks: readonly PlanTask[]): PlanTask => ({
  goal,
  state,
  subtasks,
});
const repeat = (count: number, make: (place: number) => PlanTask): readonly PlanTask[] =>
  Array.from({ length: count }, (_none, place) => make(place));
const draw = (plan: PlanTask, most = Number.POSITIVE_INFINITY) =>
  drawPlan(viewTask(plan, "0"), currentTask(plan)?.id ?? null, most);

const PLAN = task(
  "Reach all goals",
  "in_progress",
  task("Find strings", "verified", task("Search", "verified"), task("Ask Ann", "abandoned")),
  task(
    "Write them down",
    "in_progress",
    task("Draft", "completed"),
    task("Revise", "in_progress"),
    task("Print", "open"),
  ),
  task("Thank Ann", "abandoned"),
);

describe("the drawing of a plan", () => {
  it("has a mark, the id, the goal and the state of each task, and marks the current one", () => {
    expect(draw(PLAN).lines.join("\n")).toBe(
      [
        "[>] 0 Reach all goals (in progress)",
        "  [x] 0.0 Find strings (verified)",
        "    [x] 0.0.0 Search (verified)",
        "    [-] 0.0.1 Ask Ann (abandoned)",
        "  [>] 0.1 Write them down (in progress)",
        "    [+] 0.1.0 Draft (completed)",
        "    [>] 0.1.1 Revise (in progress, current)",
        "    [ ] 0.1.2 Print (open)",
        "  [-] 0.2 Thank Ann (abandoned)",
      ].join("\n"),
    );
  });

  it("needs only ASCII characters for what goald adds", () => {
    expect(draw(PLAN, 3).lines.join("\n")).toMatch(/^[\x20-\x7e\n]+$/);
  });

  it("of a large plan has the current branch, then open tasks near the root, and counts the others", () => {
    const branches = repeat(20, (place) =>
      task(`Part ${place}`, "open", ...repeat(10, (part) => task(`Piece ${part}`, part < 5 ? "verified" : "open"))),
    );
    const here = task(
      "Here",
      "in_progress",
      ...repeat(3, (part) => task(`Bit ${part}`, part === 1 ? "in_progress" : "open")),
    );
    const { lines, hidden } = draw(task("All", "in_progress", ...branches, here), 12);
    expect(lines).toHaveLength(12 + 7 + 1);
    expect(hidden).toBe(1 + 20 * 11 + 4 - 12);
    const bits = ["[ ] 0.20.0 Bit 0 (open)", "[>] 0.20.1 Bit 1 (in progress, current)", "[ ] 0.20.2 Bit 2 (open)"];
    expect(lines.slice(-5)).toEqual([
      "  [>] 0.20 Here (in progress)",
      ...bits.map((bit) => `    ${bit}`),
      "  ... 143 tasks: 78 open, 65 verified",
    ]);
    expect(lines.slice(0, 3)).toEqual([
      "[>] 0 All (in progress)",
      "  [ ] 0.0 Part 0 (open)",
      "    ... 10 tasks: 5 open, 5 verified",
    ]);
  });

  it("shows closed branches of a large plan last", () => {
    const closed = repeat(30, (place) => task(`Old ${place}`, "verified"));
    const { lines } = draw(task("All", "open", ...closed, task("New", "open", task("Deep", "open"))), 3);
    expect(lines).toEqual([
      "[ ] 0 All (open)",
      "  [ ] 0.30 New (open)",
      "    [ ] 0.30.0 Deep (open)",
      "  ... 30 tasks: 30 verified",
    ]);
  });

  it.each([
    ["an escape sequence", "\u001b[2J\u001b]0;title\u0007Clean \u001b[31mme", "Clean me"],
    ["lines that look like others", "One\n[x] 0.9 Two (verified)\r\u2028three", "One [x] 0.9 Two (verified) three"],
    ["direction marks", "a\u202eb\u2066c", "abc"],
  ])("keeps a goal with %s on one line, without control characters", (_what, goal, shown) => {
    const { lines } = draw(task("All", "open", task(goal, "open")));
    expect(lines[1]).toBe(`  [ ] 0.0 ${shown} (open)`);
    expect(printable(lines[1] ?? "")).toBe(lines[1]);
  });

  it("of a thousand tasks in a deep tree is bounded", () => {
    const deep = (levels: number): PlanTask =>
      levels === 0
        ? task("Leaf", "open")
        : task("Level", "in_progress", ...repeat(80, () => task("Side", "open")), deep(levels - 1));
    const view: TaskView = viewTask(deep(11), "0");
    expect(drawPlan(view, null, 40).lines.length).toBeLessThan(81);
    expect(drawPlan(view, null, 40).hidden).toBe(1 + 11 * 81 - 40);
  });
});
