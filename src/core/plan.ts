/**
 * plan.ts -- the plan of an agent: a tree of tasks with states. Pure. Task 0 is the work of the turn; with several
 * goals its first subtasks are the goals. A task's id is its place in the tree, such as 0.1.2, so ids never change: a
 * task is abandoned, never removed. The cascades are those of OpenDevin's planner.
 */
import { oneLine, withCommas } from "./text.ts";

/** A task that differs between two plans. */
export interface TaskChange {
  readonly id: string;
  readonly goal: string;
  /** Null for a new task. */
  readonly from: TaskState | null;
  readonly to: TaskState;
}

/** A sentence that says why the change does not fit the plan; undefined when it does. */
export function refuseEdit(plan: PlanTask, edit: PlanEdit): string | undefined {
  if (edit.kind === "add") return refuseTask(plan, edit.parent, { goal: edit.goal });
  const found = findTask(plan, edit.id);
  return "problem" in found ? found.problem : undefined;
}

/** The plan stays as it is when the change does not fit it. */
export const applyEdit = (plan: PlanTask, edit: PlanEdit): PlanTask =>
  edit.kind === "add" ? addTask(plan, edit.parent, { goal: edit.goal }) : setTask(plan, edit.id, edit.state);

/** Makes the edits in their order and leaves out those that do not fit the plan as it then is. `made`: the others. */
export function applyFitting(
  plan: PlanTask,
  edits: readonly PlanEdit[],
): { readonly plan: PlanTask; readonly made: readonly PlanEdit[] } {
  const made: PlanEdit[] = [];
  let edited = plan;
  for (const edit of edits) {
    if (refuseEdit(edited, edit) !== undefined) continue;
    edited = applyEdit(edited, edit);
    made.push(edit);
  }
  return { plan: edited, made };
}

/** The tasks of `after` that `before` does not have, or has in another state. */
export function compareTasks(before: PlanTask, after: PlanTask): readonly TaskChange[] {
  const states = new Map(listTasks(before).map(({ id, task }) => [id, task.state]));
  return listTasks(after).flatMap(({ id, task: { goal, state } }) => {
    const from = states.get(id) ?? null;
    return from === state ? [] : [{ id, goal, from, to: state }];
  });
}

export const TASK_STATES = ["open", "in_progress", "completed", "verified", "abandoned"] as const;
export type TaskState = (typeof TASK_STATES)[number];

export interface PlanTask {
  readonly goal: string;
  readonly state: TaskState;
  readonly subtasks: readonly PlanTask[];
}

/** A task to add. It begins in the state `open`. */
export interface NewTask {
  readonly goal: string;
  readonly subtasks?: readonly NewTask[];
}

export interface PlacedTask {
  readonly id: string;
  readonly task: PlanTask;
}

/** The agent's plan, as commands see it. They change it with staged writes. */
export interface PlanBook {
  /** The ids that the task and all below it get, each before its subtasks. Throws GOALD_PLAN when it cannot be added. */
  checkAddition(parent: string, task: NewTask): readonly string[];
  /** Throws GOALD_PLAN for a wrong id, and for a text that is no state. */
  checkChange(id: string, state: string): StateChange;
}

/** A change of a task's state, before it is made. */
export interface StateChange {
  readonly state: TaskState;
  readonly from: TaskState;
  /** Ids of all tasks whose state changes with it. */
  readonly changed: readonly string[];
  /** The goals, by index, whose checks must pass first. */
  readonly goals: readonly number[];
}

/** A person's change of a plan. */
export type PlanEdit =
  | { readonly kind: "add"; readonly parent: string; readonly goal: string }
  | { readonly kind: "set"; readonly id: string; readonly state: TaskState };

/** Most tasks of a plan, and most levels below task 0: they bound the agent's state. */
export const MAX_TASKS = 1_000;
export const MAX_PLAN_DEPTH = 12;
export const MAX_TASK_CHARS = 500;

/** The plan of several goals has a task for each; that of one goal is this goal. */
export function createPlan(goals: readonly string[]): PlanTask {
  const [first = "Do the work"] = goals;
  return goals.length > 1
    ? createTask({ goal: "Reach all goals", subtasks: goals.map(toNewTask) })
    : createTask(toNewTask(first));
}

const toNewTask = (goal: string): NewTask => ({ goal: oneLine(goal, MAX_TASK_CHARS) });

const createTask = ({ goal, subtasks = [] }: NewTask): PlanTask => ({
  goal,
  state: "open",
  subtasks: subtasks.map(createTask),
});

/** The task of that id, or a sentence that says what is wrong with the id. */
export function findTask(plan: PlanTask, id: string): PlanTask | { readonly problem: string } {
  const path = parseId(id);
  if ("problem" in path) return path;
  let task = plan;
  for (const [depth, place] of path.places.entries()) {
    const next = task.subtasks[place];
    if (!next) return { problem: describeMissing(id, path.places.slice(0, depth), task) };
    task = next;
  }
  return task;
}

function parseId(id: string): { readonly places: readonly number[] } | { readonly problem: string } {
  const parts = id.split(".");
  const expected = "Expected the id of a task, such as 0.1.2";
  const shown = JSON.stringify(oneLine(id, 80));
  if (!parts.every((part) => /^(0|[1-9]\d{0,5})$/.test(part)))
    return { problem: `${expected}, with whole numbers between dots, got ${shown}.` };
  const [root, ...places] = parts.map(Number);
  return root === 0 ? { places } : { problem: `${expected}, which begins with 0, got ${shown}.` };
}

function describeMissing(id: string, places: readonly number[], { subtasks }: PlanTask): string {
  const parent = idOf(places);
  const [first, last] = [`${parent}.0`, `${parent}.${subtasks.length - 1}`];
  const has =
    ["has no subtasks", `has one subtask, ${first}`][subtasks.length] ?? `has the subtasks ${first} to ${last}`;
  return `There is no task ${oneLine(id, 80)}: task ${parent} ${has}.`;
}

const idOf = (places: readonly number[]): string => [0, ...places].join(".");

/** A sentence that says why the task cannot be added; undefined when it can. */
export function refuseTask(plan: PlanTask, parent: string, added: NewTask): string | undefined {
  const found = findTask(plan, parent);
  if ("problem" in found) return found.problem;
  if (isClosed(found))
    return `Task ${parent} is ${found.state}. Set it to open or in_progress before you add to it, or add to another task.`;
  const count = countTasks(plan) + countTasks(added);
  if (count > MAX_TASKS)
    return `A plan has up to ${withCommas(MAX_TASKS)} tasks, and this one would have ${count}. Add fewer.`;
  const depth = parent.split(".").length - 1 + depthOf(added);
  if (depth > MAX_PLAN_DEPTH)
    return `A plan has up to ${MAX_PLAN_DEPTH} levels below task 0, and this one would have ${depth}.`;
  return findGoalProblem(added);
}

/** Nothing more is to be done in the task. */
export const isClosed = ({ state }: Pick<PlanTask, "state">): boolean =>
  state === "completed" || state === "verified" || state === "abandoned";

function findGoalProblem({ goal, subtasks = [] }: NewTask): string | undefined {
  const length = goal.trim().length;
  if (length < 1 || length > MAX_TASK_CHARS)
    return `A task's goal has 1 to ${MAX_TASK_CHARS} characters, got ${length}.`;
  return subtasks.map(findGoalProblem).find((problem) => problem !== undefined);
}

/** The ids of a new task and of all below it, each before its subtasks, when the task itself gets `id`. */
export const newTaskIds = (task: NewTask, id: string): readonly string[] =>
  listTasks(createTask(task), id).map((placed) => placed.id);

/** Adds the task as the last subtask of `parent`. The plan stays as it is when there is no such task. */
export const addTask = (plan: PlanTask, parent: string, added: NewTask): PlanTask =>
  changeTask(plan, parent, (task) => ({ ...task, subtasks: [...task.subtasks, createTask(added)] }));

export function nextTaskId(plan: PlanTask, parent: string): string {
  const found = findTask(plan, parent);
  return `${parent}.${"problem" in found ? 0 : found.subtasks.length}`;
}

/**
 * Sets the state of a task. `completed`, `verified` and `abandoned` go down to all subtasks that are not abandoned;
 * `in_progress` goes up to task 0. The plan stays as it is when there is no such task.
 */
export function setTask(plan: PlanTask, id: string, state: TaskState): PlanTask {
  const change = isClosed({ state })
    ? (task: PlanTask) => close(task, state)
    : (task: PlanTask) => ({ ...task, state });
  return changeTask(plan, id, change, state === "in_progress" ? (task) => ({ ...task, state }) : undefined);
}

const close = (task: PlanTask, state: TaskState): PlanTask => ({
  ...task,
  state,
  subtasks: task.subtasks.map((subtask) => (subtask.state === "abandoned" ? subtask : close(subtask, state))),
});

/** `above`: changes each task on the way to it. */
function changeTask(
  plan: PlanTask,
  id: string,
  change: (task: PlanTask) => PlanTask,
  above: (task: PlanTask) => PlanTask = (task) => task,
): PlanTask {
  const path = parseId(id);
  if ("problem" in path || "problem" in findTask(plan, id)) return plan;
  const changeAt = (task: PlanTask, [place, ...rest]: readonly number[]): PlanTask => {
    const next = place === undefined ? undefined : task.subtasks[place];
    if (place === undefined || !next) return change(task);
    return above({ ...task, subtasks: task.subtasks.with(place, changeAt(next, rest)) });
  };
  return changeAt(plan, path.places);
}

/** The deepest task in progress, by the first subtask in progress at each level; undefined when there is none. */
export function currentTask(plan: PlanTask): PlacedTask | undefined {
  const current = deepest(plan, "0");
  return current.task.state === "in_progress" ? current : undefined;
}

function deepest(task: PlanTask, id: string): PlacedTask {
  const place = task.subtasks.findIndex(({ state }) => state === "in_progress");
  const next = task.subtasks[place];
  return next ? deepest(next, `${id}.${place}`) : { id, task };
}

/** The task and all below it with their ids, each before its subtasks. */
export const listTasks = (task: PlanTask, id = "0"): readonly PlacedTask[] => [
  { id, task },
  ...task.subtasks.flatMap((subtask, place) => listTasks(subtask, `${id}.${place}`)),
];

/** The tasks that keep the work from being finished: neither verified nor abandoned. */
export const unfinishedTasks = (plan: PlanTask): readonly PlacedTask[] =>
  listTasks(plan).filter(({ task }) => task.state !== "verified" && task.state !== "abandoned");

/** The tasks below that one that nobody has begun: open, and without a part that is not abandoned. */
export const unbegunBelow = ({ subtasks }: PlanTask, id: string): readonly PlacedTask[] =>
  subtasks.flatMap((task, place) => {
    const at = `${id}.${place}`;
    if (task.state === "abandoned") return [];
    const isWhole = task.subtasks.every(({ state }) => state === "abandoned");
    return isWhole && task.state === "open" ? [{ id: at, task }] : unbegunBelow(task, at);
  });

/** The goals, by index, that task `id` stands for: all for task 0, one for the task of a goal, none for any other task. */
export function goalsOfTask(id: string, goalCount: number): readonly number[] {
  if (id === "0") return Array.from({ length: goalCount }, (_none, index) => index);
  const [, place = ""] = /^0\.(\d+)$/.exec(id) ?? [];
  return goalCount > 1 && place !== "" && Number(place) < goalCount ? [Number(place)] : [];
}

/** With the task itself. */
export const countTasks = ({ subtasks = [] }: NewTask): number =>
  subtasks.reduce((sum, subtask) => sum + countTasks(subtask), 1);
const depthOf = ({ subtasks = [] }: NewTask): number => 1 + Math.max(0, ...subtasks.map(depthOf));
