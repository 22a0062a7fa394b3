/** plan-tree.ts -- plans for tests, and the oracle for what a prompt shows of them. */
import { expect } from "@jest/globals";
import fc from "fast-check";
import { findTask, listTasks, MAX_PLAN_DEPTH, type PlanTask, TASK_STATES, type TaskState } from "#core/plan.ts";

export const task = (goal: string, state: TaskState = "open", subtasks: readonly PlanTask[] = []): PlanTask => ({
  goal,
  state,
  subtasks,
});

/** Any tree with states at random, up to `size` tasks. */
export const anyPlan = (size: number, goal: fc.Arbitrary<string>): fc.Arbitrary<PlanTask> =>
  fc
    .array(fc.tuple(fc.nat(), fc.constantFrom(...TASK_STATES), fc.constantFrom(1, 3, 100), goal), {
      minLength: 1,
      maxLength: size,
      size: "max",
    })
    .map((given) => {
      type Growing = { goal: string; state: TaskState; subtasks: Growing[]; depth: number };
      const all: Growing[] = [];
      for (const [at, state, newest, words] of given) {
        // The newest tasks are parents more often in some plans, which makes them deep.
        const parents = all.slice(-newest).filter(({ depth }) => depth < MAX_PLAN_DEPTH);
        const parent = parents[at % Math.max(1, parents.length)] ?? all[0];
        const grown: Growing = { goal: words, state, subtasks: [], depth: (parent?.depth ?? -1) + 1 };
        parent?.subtasks.push(grown);
        all.push(grown);
      }
      return all[0] as PlanTask;
    });

/** An entry of the JSON in a prompt. */
export type Entry = Readonly<Record<string, unknown>>;

/**
 * Checks each entry and each count of the tree against the plan, and that every task is in view or counted once. Returns the
 * entries in view, by id.
 */
export function readTree(json: string, plan: PlanTask): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  visit(JSON.parse(json) as Entry);
  return entries;

  /** Returns the tasks that the entry stands for. */
  function visit(entry: Entry): readonly PlanTask[] {
    const id = String(entry.id);
    const found = findTask(plan, id) as PlanTask;
    expect(entry).toEqual({ id, goal: expect.any(String), state: found.state, subtasks: expect.anything() });
    expect(entries.has(id)).toBe(false);
    entries.set(id, entry);
    const { subtasks } = entry;
    if (!Array.isArray(subtasks)) {
      expect(subtasks).toEqual(countStates(listBelow(found)));
      return listAll(found);
    }
    const parts = subtasks as readonly Entry[];
    const covered = parts.flatMap((part) => ("goal" in part ? visit(part) : visitRange(part, id)));
    expect(new Set(covered).size).toBe(covered.length);
    const rest = listBelow(found).filter((each) => !covered.includes(each));
    const others = parts.filter((part) => part.id === "others");
    expect(others).toEqual(rest.length === 0 ? [] : [{ id: "others", tasks: countStates(rest) }]);
    return listAll(found);
  }

  function visitRange({ id, tasks, ...more }: Entry, parent: string): readonly PlanTask[] {
    expect(more).toEqual({});
    if (id === "others") return [];
    const [from, to] = String(id)
      .split(" to ")
      .map((each) => Number(each.slice(parent.length + 1))) as [number, number];
    expect(id).toBe(`${parent}.${from} to ${parent}.${to}`);
    const counted = (findTask(plan, parent) as PlanTask).subtasks.slice(from, to + 1).flatMap(listAll);
    expect(tasks).toEqual(countStates(counted));
    return counted;
  }
}

const listAll = (plan: PlanTask): readonly PlanTask[] => listTasks(plan).map((placed) => placed.task);
const listBelow = (plan: PlanTask): readonly PlanTask[] => listAll(plan).slice(1);

function countStates(tasks: readonly PlanTask[]): Readonly<Record<string, number>> {
  const counts = TASK_STATES.map((state) => [state, tasks.filter((each) => each.state === state).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}
