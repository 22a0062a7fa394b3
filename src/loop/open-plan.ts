/** open-plan.ts -- what commands see of the agent's plan. */
import { GoaldError } from "#core/errors.ts";
import { hasChecks, startPlan } from "#core/evolve-turn.ts";
import { checksOf } from "#core/goal-check.ts";
import {
  compareTasks,
  findTask,
  goalsOfTask,
  newTaskIds,
  nextTaskId,
  type PlacedTask,
  type PlanBook,
  refuseTask,
  setTask,
  TASK_STATES,
  type TaskState,
  unbegunBelow,
} from "#core/plan.ts";
import type { AgentState } from "#core/state.ts";
import { joinNames, oneLine } from "#core/text.ts";

export function openPlan(state: AgentState): PlanBook {
  const plan = startPlan(state);
  return {
    checkAddition(parent, task) {
      const problem = refuseTask(plan, parent, task);
      if (problem !== undefined) throw new GoaldError("GOALD_PLAN", problem);
      return newTaskIds(task, nextTaskId(plan, parent));
    },
    checkChange(id, written) {
      const found = findTask(plan, id);
      if ("problem" in found) throw new GoaldError("GOALD_PLAN", found.problem);
      const wanted = readState(written);
      const unbegun = wanted === "verified" ? unbegunBelow(found, id) : [];
      if (unbegun.length > 0) throw new GoaldError("GOALD_PLAN", describeUnbegun(unbegun));
      const changed = compareTasks(plan, setTask(plan, id, wanted)).map((change) => change.id);
      const goals = wanted === "verified" ? goalsToCheck(id, state) : [];
      return { state: wanted, from: found.state, changed, goals };
    },
  };
}

/** Nobody can have checked the result of a task that was never begun. Names two. */
function describeUnbegun(unbegun: readonly PlacedTask[]): string {
  const named = unbegun.map(({ id, task }) => `${id} ${JSON.stringify(oneLine(task.goal, 80))}`);
  return `Nothing changed: ${joinNames(named, 2)} below it ${unbegun.length === 1 ? "was" : "were"} never begun. Do what is left and verify it, or set it to abandoned.`;
}

/** Models also write "In progress" and "in-progress". */
function readState(written: string): TaskState {
  const name = written.trim().toLowerCase().replaceAll(/[\s-]/g, "_");
  const known = TASK_STATES.find((state) => state === name);
  if (known) return known;
  const states = joinNames(TASK_STATES, TASK_STATES.length, "or");
  throw new GoaldError("GOALD_PLAN", `Expected the state ${states}, got ${JSON.stringify(oneLine(written, 80))}.`);
}

/** The goals that task `id` stands for; none when no check would prove them. */
function goalsToCheck(id: string, state: AgentState): readonly number[] {
  const { checks, goals } = state;
  const reported = goalsOfTask(id, goals.length);
  return hasChecks(state) && checksOf(checks, reported, goals.length).length > 0 ? reported : [];
}
