/** plan-view.ts -- the plan of an agent, with a person's changes that the agent has not read yet. */
import { offersPlan } from "#core/agent-settings.ts";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { planOf, startPlan } from "#core/evolve-turn.ts";
import {
  applyEdit,
  applyFitting,
  compareTasks,
  countTasks,
  currentTask,
  findTask,
  nextTaskId,
  type PlanEdit,
  type PlanTask,
  refuseEdit,
  TASK_STATES,
  type TaskChange,
  type TaskState,
} from "#core/plan.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { countNoun } from "#core/text.ts";
import {
  count,
  described,
  flag,
  listOf,
  nullable,
  oneOf,
  open,
  ordinal,
  type Static,
  text,
  typed,
} from "#util/schema.ts";
import { foldLog } from "./read-agent.ts";

export interface TaskView {
  /** Place in the tree, such as 0.1.2. */
  readonly id: string;
  readonly goal: string;
  readonly state: TaskState;
  readonly subtasks: readonly TaskView[];
}
export const TaskView = open({
  id: described(text, "The place in the tree, such as `0.1.2`; it never changes."),
  goal: text,
  state: oneOf(...TASK_STATES),
  subtasks: described(listOf<TaskView>(typed({ type: "object" })), "Tasks of this same form."),
});

export const PlanView = open({
  agent: text,
  turn: ordinal,
  plan: described(nullable(TaskView), "Task 0 with all others inside; null for an agent that works without a plan."),
  current: described(nullable(text), "Id of the deepest task in progress."),
  isRead: described(flag, "False when a person's changes are in the agent's inbox, and not yet in its log."),
});
export type PlanView = Static<typeof PlanView>;

type Reader = Pick<StoreReader, "agent" | "inbox" | "load">;

/** Reads again when the agent's log grew meanwhile: a consumed change would be neither in the state nor in the inbox. */
export async function loadPlan(row: AgentRow, reader: Reader, attempts = 3): Promise<PlanView> {
  const { state, head } = await foldLog(reader, row);
  const unread = (await reader.inbox(row.id)).flatMap(({ message }) => (message.type === "plan" ? message.edits : []));
  if (attempts > 1 && (await reader.agent(row.id))?.head !== head) return loadPlan(row, reader, attempts - 1);
  const isRead = unread.length === 0 || isFinished(state) || !offersPlan(state.settings.commands);
  const plan = isRead ? planOf(state) : applyFitting(startPlan(state), unread).plan;
  const current = (plan && currentTask(plan)?.id) ?? null;
  return { agent: row.id, turn: state.turn, plan: plan && viewTask(plan, "0"), current, isRead };
}

export const viewTask = ({ goal, state, subtasks }: PlanTask, id: string): TaskView => ({
  id,
  goal,
  state,
  subtasks: subtasks.map((task, place) => viewTask(task, `${id}.${place}`)),
});

/**
 * The tasks that a person's changes of this plan change. Throws GOALD_CONFLICT for a finished agent and for one without the
 * commands of a plan, and GOALD_USAGE for a change that does not fit the plan.
 */
export function planEdits(
  state: AgentState,
  { agent, plan }: PlanView,
  edits: readonly PlanEdit[],
): readonly TaskChange[] {
  if (isFinished(state))
    throw new GoaldError(
      "GOALD_CONFLICT",
      `${agent} has finished turn ${state.turn}. Its next turn has a plan of its own.`,
      { hint: `Begin its next turn: goald say ${agent} "…", or goald run --continue ${agent} -g "…"` },
    );
  const { commands } = state.settings;
  if (!offersPlan(commands))
    throw new GoaldError("GOALD_CONFLICT", `${agent} has no commands for a plan (--commands ${commands}).`, {
      hint: `Offer them to it first: goald resume ${agent} --commands ${commands},plan`,
    });
  const before = plan ?? startPlan(state);
  let after = before;
  for (const edit of edits) {
    const problem = refuseEdit(after, edit);
    if (problem !== undefined)
      throw new GoaldError("GOALD_USAGE", problem, { hint: `See the tasks with their ids: goald plan ${agent}` });
    after = applyEdit(after, edit);
  }
  return compareTasks(before, after);
}

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

/** The view of a step has its changes of the plan, and the checks of goals that it ran. */
export const planMembers = {
  planChanges: described(listOf(PlanChange), "In order; cascades are not listed."),
  checks: described(listOf(CheckProof), "Checks of goals, in the order in which they ran."),
};

/** The change that the event is; undefined for any other event. `before`: the state without it. Pure. */
export function planChangeOf(event: RecordedEvent, before: AgentState): PlanChange | undefined {
  const { seq } = event;
  const plan = startPlan(before);
  if (event.type === "task-added") {
    const { parent, task } = event;
    const subtasks = countTasks(task) - 1;
    return { seq, id: nextTaskId(plan, parent), goal: task.goal, state: "open", isNew: true, subtasks };
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
