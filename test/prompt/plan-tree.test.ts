import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { addTask, createPlan, currentTask, findTask, MAX_PLAN_DEPTH, type PlanTask, setTask } from "#core/plan.ts";
import { renderTree } from "#prompt/plan-tree.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { anyPlan, readTree, task } from "../helpers/plan-tree.ts";

const BUDGET = 1_500;
const latin = fc.array(fc.constantFrom("write", "the next", "chapter,", "check", "it"), {
  minLength: 1,
  maxLength: 80,
});
const anyGoal = fc.oneof(
  latin.map((words) => words.join(" ").slice(0, 500)),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }),
);

/** Ids of the current task and of all tasks above it. */
function chainOf(plan: PlanTask): readonly string[] {
  const parts = (currentTask(plan)?.id ?? "0").split(".");
  return parts.map((_part, depth) => parts.slice(0, depth + 1).join("."));
}

/** Ids of the current task's siblings, and of its subtasks, up to `count` of each next to the place where work goes on. */
function nearIds(plan: PlanTask, count: number): readonly string[] {
  const [id = "0", parent] = chainOf(plan).toReversed();
  const lists: string[] = [];
  if (parent !== undefined) lists.push(...around(parent, Number(id.slice(parent.length + 1)), count));
  const { subtasks } = findTask(plan, id) as PlanTask;
  const open = subtasks.findIndex(({ state }) => state === "open" || state === "in_progress");
  return [...lists, ...around(id, open < 0 ? subtasks.length - 1 : open, count)];

  function around(list: string, place: number, most: number): readonly string[] {
    const { length } = (findTask(plan, list) as PlanTask).subtasks;
    const each = Array.from({ length }, (_, at) => at).filter((at) => Math.abs(at - place) <= most / 2);
    return each.map((at) => `${list}.${at}`);
  }
}

describe("the tree of a plan in a prompt", () => {
  it("is the whole plan as compact JSON while it fits", () => {
    const plan = task("Write a post", "in_progress", [
      task("Find sources", "verified", [task("Search", "verified")]),
      task("Write it", "in_progress"),
      task("Save it"),
    ]);
    expect(renderTree(plan, BUDGET)).toEqual({
      isCollapsed: false,
      json:
        '{"id":"0","goal":"Write a post","state":"in_progress","subtasks":[' +
        '{"id":"0.0","goal":"Find sources","state":"verified","subtasks":[{"id":"0.0.0","goal":"Search","state":"verified","subtasks":[]}]},' +
        '{"id":"0.1","goal":"Write it","state":"in_progress","subtasks":[]},{"id":"0.2","goal":"Save it","state":"open","subtasks":[]}]}',
    });
  });

  it("parses, counts every task once, keeps its budget and has the current branch whole, whatever the plan", () => {
    fc.assert(
      fc.property(anyPlan(200, anyGoal), fc.integer({ min: 200, max: 3_000 }), (plan, budget) => {
        const { json } = renderTree(plan, budget);
        const shown = readTree(json, plan);
        expect(estimateTokens(json)).toBeLessThanOrEqual(budget);
        expect([...shown.keys()]).toContain(currentTask(plan)?.id ?? "0");
      }),
      { numRuns: 60 },
    );
  });

  it("has the chain to the current task, and its nearest siblings and subtasks, in the budget of a prompt", () => {
    const goal = latin.map((words) => words.join(" ").slice(0, 500));
    fc.assert(
      fc.property(anyPlan(200, goal), (plan) => {
        const shown = readTree(renderTree(plan, BUDGET).json, plan);
        expect([...shown.keys()]).toEqual(expect.arrayContaining([...chainOf(plan), ...nearIds(plan, 4)]));
      }),
      { numRuns: 60 },
    );
  });

  it.each([0, 50, 120, 300, 614, 1_000])("is short in a budget of %d, and still has the current task", (budget) => {
    const deep = (level: number): PlanTask =>
      task("A goal of some length that can be shortened", "in_progress", [
        ...Array.from({ length: 20 }, () => task("Another goal, before", "verified")),
        ...(level < MAX_PLAN_DEPTH ? [deep(level + 1)] : []),
        ...Array.from({ length: 20 }, () => task("Another goal, behind")),
      ]);
    const plan = deep(0);
    const { json } = renderTree(plan, budget);
    expect(estimateTokens(json)).toBeLessThanOrEqual(Math.max(budget, 130));
    expect(readTree(json, plan).has(currentTask(plan)?.id ?? "")).toBe(true);
  });
});

describe("a plan of 1,000 tasks", () => {
  const chapters = Array.from({ length: 27 }, (_, chapter) => ({
    goal: `Chapter ${chapter}: what became of the ship, with all names and dates`,
    subtasks: Array.from({ length: 36 }, (_none, section) => ({ goal: `Write section ${section} from the sources` })),
  }));
  const added = chapters.reduce((plan, chapter) => addTask(plan, "0", chapter), createPlan(["Write the book"]));
  const plan = setTask(setTask(setTask(added, "0.3", "verified"), "0.5", "abandoned"), "0.4.20", "in_progress");
  const { json } = renderTree(plan, BUDGET);
  const shown = readTree(json, plan);

  it("keeps the budget, with the current branch whole and all other tasks counted", () => {
    expect(estimateTokens(json)).toBeLessThanOrEqual(BUDGET);
    const near = Array.from({ length: 13 }, (_, place) => `0.4.${14 + place}`);
    expect([...shown.keys()]).toEqual(expect.arrayContaining(["0", "0.4", ...near]));
    expect(shown.get("0.4.20")).toMatchObject({ goal: "Write section 20 from the sources", state: "in_progress" });
    expect(json).toContain('{"id":"0.4.0 to 0.4.');
  });

  it("collapses closed branches and open ones beside the current one", () => {
    expect(shown.get("0.3")?.subtasks).toEqual({ verified: 36 });
    expect(shown.get("0.5")?.subtasks).toEqual({ abandoned: 36 });
    expect(shown.get("0.6")?.subtasks).toEqual({ open: 36 });
  });

  it("is rendered once until the plan changes", () => {
    expect(renderTree(plan, BUDGET)).toBe(renderTree(plan, BUDGET));
    expect(renderTree(setTask(plan, "0.4.20", "completed"), BUDGET).json).not.toBe(json);
  });
});

describe("a plan that is a little too large", () => {
  it("shows what is open before what is closed", () => {
    const parts = Array.from({ length: 14 }, (_, part) => ({ goal: `Part ${part} of the work that is planned here` }));
    const half = (state: "verified" | "open") =>
      task(
        "A half",
        state,
        parts.map(({ goal }) => task(goal, state)),
      );
    const plan = task("All", "in_progress", [half("verified"), task("Now", "in_progress"), half("open")]);
    const whole = estimateTokens(renderTree(plan, 10_000).json);
    const { subtasks } = JSON.parse(renderTree(plan, Math.floor(whole * 0.65)).json);
    expect(subtasks[0].subtasks[0]).toMatchObject({ id: expect.stringMatching(/^0\.0\.0 to 0\.0\.\d+$/) });
    expect(subtasks[2].subtasks).toHaveLength(14);
  });
});
