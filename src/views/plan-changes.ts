/** plan-changes.ts -- what one step changed in the plan, and the checks of goals that it ran. Pure. */
import type { RecordedEvent } from "#core/event.ts";
import { startPlan } from "#core/evolve-turn.ts";
import { findTask, newTaskIds, nextTaskId, TASK_STATES } from "#core/plan.ts";
import type { AgentState } from "#core/state.ts";
import { countNoun } from "#core/text.ts";
import { count, described, flag, listOf, oneOf, open, ordinal, type Static, text } from "#util/schema.ts";

const PlanChange = open({
  seq: ordinal,
  id: text,
  goal: text,
  state: described(oneOf(...TASK_STATES), "After the change."),
  isNew: described(flag, "The task was added, with as many `subtasks`; else its state was set."),
  subtasks: described(count, "Number of all tasks below a new task."),
});
type PlanChange = Static<typeof PlanChange>;
const CheckProof = open({
  seq: ordinal,
  check: described(count, "Index among the checks of the agent."),
  isPassed: flag,
  proof: text,
});
type CheckProof = Static<typeof CheckProof>;

export const planMembers = {
  planChanges: described(listOf(PlanChange), "In order; cascades are not listed."),
  checks: described(listOf(CheckProof), "Checks of goals, in the order in which they ran."),
};

/** The change that the event is; undefined for any other event. `before`: the state without it. */
export function planChangeOf(event: RecordedEvent, before: AgentState): PlanChange | undefined {
  const { seq } = event;
  const plan = startPlan(before);
  if (event.type === "task-added") {
    const id = nextTaskId(plan, event.parent);
    const subtasks = newTaskIds(event.task, id).length - 1;
    return { seq, id, goal: event.task.goal, state: "open", isNew: true, subtasks };
  }
  if (event.type !== "task-changed") return undefined;
  const task = findTask(plan, event.id);
  return { seq, id: event.id, goal: "goal" in task ? task.goal : "", state: event.state, isNew: false, subtasks: 0 };
}

export const proofsOf = (event: RecordedEvent): readonly CheckProof[] =>
  event.type === "goals-checked" ? event.results.map((result) => ({ seq: event.seq, ...result })) : [];

/** Code can add hundreds of tasks in a step. */
const MAX_LINES = 50;

export function planLines(changes: readonly PlanChange[]): readonly string[] {
  if (changes.length === 0) return [];
  const lines = changes.slice(0, MAX_LINES).map(({ id, goal, state, isNew, subtasks }) => {
    const parts = subtasks === 0 ? "" : `, with ${countNoun(subtasks, "subtask")}`;
    return `${id} ${isNew ? `added${parts}` : state}: ${goal}`;
  });
  const left = changes.length - lines.length;
  return ["Plan", ...lines, ...(left > 0 ? [`… and ${countNoun(left, "more change")}`] : [])];
}

export const proofLines = (checks: readonly CheckProof[]): readonly string[] =>
  checks.length === 0
    ? []
    : ["Checks of goals", ...checks.map(({ isPassed, proof }) => `${isPassed ? "passed" : "failed"}: ${proof}`)];
