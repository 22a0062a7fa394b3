import { describe, expect, it } from "@jest/globals";
import {
  addTask,
  applyEdit,
  compareTasks,
  createPlan,
  currentTask,
  findTask,
  goalsOfTask,
  listTasks,
  MAX_PLAN_DEPTH,
  MAX_TASKS,
  type NewTask,
  nextTaskId,
  type PlanTask,
  refuseTask,
  setTask,
  type TaskState,
  unbegunBelow,
  unfinishedTasks,
} from "#core/plan.ts";

const one = createPlan(["Write a post"]);
/** 0, 0.0, 0.0.0, 0.0.1, 0.1, 0.1.0, 0.1.1, 0.1.2 */
const tree = add(add(one, "0", { goal: "a", subtasks: [{ goal: "a0" }, { goal: "a1" }] }), "0", {
  goal: "b",
  subtasks: [{ goal: "b0" }, { goal: "b1" }, { goal: "b2" }],
});

function add(plan: PlanTask, parent: string, task: NewTask): PlanTask {
  expect(refuseTask(plan, parent, task)).toBeUndefined();
  return addTask(plan, parent, task);
}
const statesOf = (plan: PlanTask): Readonly<Record<string, TaskState>> =>
  Object.fromEntries(listTasks(plan).map(({ id, task }) => [id, task.state]));
const others = (plan: PlanTask, ...ids: readonly string[]): readonly TaskState[] =>
  Object.entries(statesOf(plan)).flatMap(([id, state]) => (ids.includes(id) ? [] : [state]));
const set = (plan: PlanTask, ...changes: readonly (readonly [string, TaskState])[]): PlanTask =>
  changes.reduce((changed, [id, state]) => setTask(changed, id, state), plan);

describe("the ids of tasks", () => {
  it("are places in the tree: 0, then a number per level, in the order in which tasks came", () => {
    let plan = one;
    for (const parent of ["0", "0", "0.1", "0.1", "0.1", "0.1.2"]) {
      const id = nextTaskId(plan, parent);
      plan = add(plan, parent, { goal: `this is ${id}` });
    }
    const ids = ["0", "0.0", "0.1", "0.1.0", "0.1.1", "0.1.2", "0.1.2.0"];
    expect(listTasks(plan).map(({ id }) => id)).toEqual(ids);
    for (const id of ids.slice(1)) expect(findTask(plan, id)).toMatchObject({ goal: `this is ${id}` });
  });

  it("are given to subtasks that come with their task, and all begin open", () => {
    const goals = { goal: "a", subtasks: [{ goal: "a0", subtasks: [{ goal: "a00" }] }, { goal: "a1" }] };
    const plan = add(one, "0", goals);
    const rows = listTasks(plan).map(({ id, task }) => `${id} ${task.goal} ${task.state}`);
    const tasks = ["0 Write a post open", "0.0 a open", "0.0.0 a0 open", "0.0.0.0 a00 open", "0.0.1 a1 open"];
    expect(rows).toEqual(tasks);
  });

  it("are 0.0 to 0.4 for several goals, and 0 for the only one", () => {
    const five = createPlan(["a", "b", "c", "d", "e"]);
    expect(listTasks(five).map(({ id }) => id)).toEqual(["0", "0.0", "0.1", "0.2", "0.3", "0.4"]);
    expect(findTask(five, "0.3")).toMatchObject({ goal: "d" });
    expect(listTasks(one).map(({ id, task }) => `${id} ${task.goal}`)).toEqual(["0 Write a post"]);
    expect(["0", "0.3", "0.5", "0.3.0"].map((id) => goalsOfTask(id, 5))).toEqual([[0, 1, 2, 3, 4], [3], [], []]);
    expect(["0", "0.0"].map((id) => goalsOfTask(id, 1))).toEqual([[0], []]);
  });

  it.each([
    ["is not made of whole numbers", ["a", "0.x", "0.1.5.", "0..1", "", "0.1e1", "0.01", "0,1"], /between dots, got/],
    // In OpenDevin the last subtask has such a number.
    ["has a negative number", ["0.-1", "-0", "0.0.-1"], /whole numbers between dots, got/],
    ["does not begin with 0", ["1", "1.0", "2.0.1"], /which begins with 0, got/],
    ["is that of no task", ["0.2", "0.0.7", "0.0.0.0", "0.1.2.3"], /There is no task 0\./],
  ])("find no task when one %s", (_title, ids, problem) => {
    for (const id of ids) {
      expect(findTask(tree, id)).toEqual({ problem: expect.stringMatching(problem) });
      expect(refuseTask(tree, id, { goal: "x" })).toMatch(problem);
      expect(addTask(tree, id, { goal: "x" })).toBe(tree);
      expect(setTask(tree, id, "verified")).toBe(tree);
    }
  });

  it("are named by the problem as they are, with what there is", () => {
    const problemOf = (id: string) => (findTask(tree, id) as { readonly problem?: string }).problem;
    expect(problemOf("0.7")).toBe("There is no task 0.7: task 0 has the subtasks 0.0 to 0.1.");
    expect(problemOf("0.0.1.4")).toBe("There is no task 0.0.1.4: task 0.0.1 has no subtasks.");
    expect(problemOf("0.".repeat(500))?.length).toBeLessThan(200);
    const problem = "There is no task 0.1: task 0 has one subtask, 0.0.";
    expect(findTask(add(one, "0", { goal: "a" }), "0.1")).toEqual({ problem });
  });
});

describe("the state of a task", () => {
  const mixed = set(tree, ["0.0", "in_progress"], ["0.1.1", "abandoned"], ["0.1.2", "in_progress"]);

  it.each(["completed", "verified", "abandoned"] as const)(
    "goes down when it is %s, to all subtasks but abandoned ones",
    (state) => {
      const deep = add(set(mixed, ["0.1.1", "open"]), "0.1.1", { goal: "kept" });
      const kept = set(deep, ["0.1.1.0", "in_progress"], ["0.1.1", "abandoned"], ["0.1.1.0", "open"]);
      const closed = statesOf(setTask(kept, "0.1", state));
      expect(closed).toMatchObject({ "0.1": state, "0.1.0": state, "0.1.2": state });
      expect([closed["0.1.1"], closed["0.1.1.0"]]).toEqual(["abandoned", "open"]);
      expect([closed["0"], closed["0.0"], closed["0.0.0"]]).toEqual(["in_progress", "in_progress", "open"]);
    },
  );

  it("goes up to task 0 when it is in progress, and to no sibling", () => {
    const plan = setTask(tree, "0.1.2", "in_progress");
    expect(statesOf(plan)).toMatchObject({ "0": "in_progress", "0.1": "in_progress", "0.1.2": "in_progress" });
    expect(new Set(others(plan, "0", "0.1", "0.1.2"))).toEqual(new Set(["open"]));
    const reopened = setTask(setTask(tree, "0", "verified"), "0.0.1", "in_progress");
    expect(statesOf(reopened)).toMatchObject({ "0": "in_progress", "0.0": "in_progress", "0.0.0": "verified" });
    expect(statesOf(reopened)).toMatchObject({ "0.1": "verified" });
  });

  it("changes no other task when it is open", () => {
    const plan = setTask(set(tree, ["0.1.2", "in_progress"]), "0.1", "open");
    expect(statesOf(plan)).toMatchObject({ "0": "in_progress", "0.1": "open", "0.1.2": "in_progress" });
    expect(others(plan, "0", "0.1", "0.1.2").every((state) => state === "open")).toBe(true);
  });

  it("is announced for exactly the tasks that it changes", () => {
    const changedTasks = (plan: PlanTask, id: string, state: TaskState): readonly string[] =>
      compareTasks(plan, applyEdit(plan, { kind: "set", id, state })).map((change) => change.id);
    expect(changedTasks(mixed, "0.1", "completed")).toEqual(["0.1", "0.1.0", "0.1.2"]);
    expect(changedTasks(mixed, "0.1.2", "in_progress")).toEqual([]);
    expect(changedTasks(tree, "0.1.2", "in_progress")).toEqual(["0", "0.1", "0.1.2"]);
    expect(changedTasks(setTask(mixed, "0.1", "verified"), "0.1", "verified")).toEqual([]);
  });

  it("leaves the plan before it as it was", () => {
    const before = structuredClone(tree);
    setTask(tree, "0", "verified");
    setTask(tree, "0.1.2", "in_progress");
    addTask(tree, "0.1", { goal: "c" });
    expect(tree).toEqual(before);
  });
});

it.each<[title: string, plan: PlanTask, id: string | undefined]>([
  ["none, when none is in progress", tree, undefined],
  ["task 0, when it alone is in progress", setTask(tree, "0", "in_progress"), "0"],
  ["the deepest in progress", setTask(tree, "0.1.2", "in_progress"), "0.1.2"],
  ["the first of two siblings in progress", set(tree, ["0.1.2", "in_progress"], ["0.1.1", "in_progress"]), "0.1.1"],
  ["in the first branch in progress", set(tree, ["0.1.1", "in_progress"], ["0.0.1", "in_progress"]), "0.0.1"],
  ["its parent, once it is completed", set(tree, ["0.1.2", "in_progress"], ["0.1.2", "completed"]), "0.1"],
  ["none, when task 0 was set to open", set(tree, ["0", "in_progress"], ["0", "open"]), undefined],
])("the current task is %s", (_title, plan, id) => {
  expect(currentTask(plan)?.id).toBe(id);
});

describe("a plan", () => {
  const many = (count: number): NewTask => ({
    goal: "many",
    subtasks: Array.from({ length: count }, (_none, at) => ({ goal: `part ${at}` })),
  });

  it(`has up to ${MAX_TASKS} tasks`, () => {
    const full = add(one, "0", many(MAX_TASKS - 2));
    expect(listTasks(full)).toHaveLength(MAX_TASKS);
    expect(refuseTask(one, "0", many(MAX_TASKS - 1))).toMatch(/up to 1,000 tasks, and this one would have 1001/);
    expect(refuseTask(full, "0.0", { goal: "x" })).toMatch(/up to 1,000 tasks, and this one would have 1001/);
    expect(refuseTask(one, "0", many(300_000))).toMatch(/would have 300002/);
  });

  it(`has up to ${MAX_PLAN_DEPTH} levels below task 0`, () => {
    const chain = (levels: number): NewTask =>
      levels === 1 ? { goal: "end" } : { goal: "on", subtasks: [chain(levels - 1)] };
    const deep = add(one, "0", chain(MAX_PLAN_DEPTH));
    const last = listTasks(deep).at(-1)?.id ?? "";
    expect(last.split(".")).toHaveLength(MAX_PLAN_DEPTH + 1);
    expect(refuseTask(deep, last, { goal: "x" })).toMatch(/up to 12 levels below task 0, and this one would have 13/);
    expect(refuseTask(one, "0", chain(MAX_PLAN_DEPTH + 1))).toMatch(/would have 13/);
  });

  it.each([
    ["an empty goal", { goal: " " }, /1 to 500 characters, got 0/],
    ["a goal that is too long", { goal: "x".repeat(501) }, /1 to 500 characters, got 501/],
    ["a subtask without a goal", { goal: "a", subtasks: [{ goal: "b", subtasks: [{ goal: "" }] }] }, /got 0/],
  ])("refuses %s", (_title, task, problem) => {
    expect(refuseTask(one, "0", task)).toMatch(problem);
  });

  it.each(["completed", "verified", "abandoned"] as const)(
    "refuses a task below one that is %s, and says what to do",
    (state) => {
      const closed = setTask(tree, "0.1", state);
      const problem = `Task 0.1 is ${state}. Set it to open or in_progress before you add to it, or add to another task.`;
      expect(refuseTask(closed, "0.1", { goal: "x" })).toBe(problem);
      expect(refuseTask(setTask(closed, "0.1", "open"), "0.1", { goal: "x" })).toBeUndefined();
    },
  );

  it("is finished when each task is verified or abandoned", () => {
    expect(unfinishedTasks(tree)).toHaveLength(8);
    expect(unfinishedTasks(setTask(tree, "0", "completed"))).toHaveLength(8);
    expect(unfinishedTasks(set(tree, ["0.0", "abandoned"], ["0", "verified"]))).toEqual([]);
    const left = set(tree, ["0", "verified"], ["0.1.1", "completed"]);
    expect(unfinishedTasks(left).map(({ id }) => id)).toEqual(["0.1.1"]);
  });

  it("has unbegun tasks: each that is open, and whose parts are all abandoned", () => {
    const parts = add(add(tree, "0.0.1", { goal: "dropped" }), "0.0.1", { goal: "left" });
    const begun = set(add(parts, "0.1.2", { goal: "dropped" }), ["0.0.0", "verified"], ["0.1.1", "completed"]);
    const plan = set(begun, ["0.0.1.0", "abandoned"], ["0.1.0", "abandoned"], ["0.1.2.0", "abandoned"]);
    expect(unbegunBelow(plan, "0").map(({ id }) => id)).toEqual(["0.0.1.1", "0.1.2"]);
  });
});
