/** plan-view.ts -- the plan of an agent, with a person's changes that the agent has not read yet. */
import { offersPlan } from "#core/agent-settings.ts";
import { GoaldError } from "#core/errors.ts";
import { planOf, startPlan } from "#core/evolve-turn.ts";
import {
  applyEdit,
  applyFitting,
  compareTasks,
  currentTask,
  type PlanEdit,
  type PlanTask,
  refuseEdit,
  TASK_STATES,
  type TaskChange,
  type TaskState,
} from "#core/plan.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { described, flag, listOf, nullable, oneOf, open, ordinal, type Static, text, typed } from "#util/schema.ts";
import { foldLog } from "./load-agent.ts";

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
  isRead: described(flag, "False when the plan has changes that the agent reads only in its next step."),
});
export type PlanView = Static<typeof PlanView>;

type Reader = Pick<StoreReader, "agent" | "inbox" | "load">;

export async function loadPlan(row: AgentRow, reader: Reader): Promise<PlanView> {
  const { state, plan, isRead } = await foldPlan(row, reader);
  const current = plan === null ? undefined : currentTask(plan);
  return {
    agent: row.id,
    turn: state.turn,
    plan: plan === null ? null : viewTask(plan, "0"),
    current: current?.id ?? null,
    isRead,
  };
}

export const viewTask = ({ goal, state, subtasks }: PlanTask, id: string): TaskView => ({
  id,
  goal,
  state,
  subtasks: subtasks.map((task, place) => viewTask(task, `${id}.${place}`)),
});

interface FoldedPlan {
  readonly state: AgentState;
  readonly plan: PlanTask | null;
  readonly isRead: boolean;
}

/** Reads again when the agent's log grew meanwhile: a consumed change would be neither in the state nor in the inbox. */
async function foldPlan(row: Pick<AgentRow, "id">, reader: Reader, attempts = 3): Promise<FoldedPlan> {
  const { state, head } = await foldLog(reader, row);
  const unread = (await reader.inbox(row.id)).flatMap(({ message }) => (message.type === "plan" ? message.edits : []));
  if (attempts > 1 && (await reader.agent(row.id))?.head !== head) return foldPlan(row, reader, attempts - 1);
  if (unread.length === 0 || isFinished(state) || !offersPlan(state.settings.commands))
    return { state, plan: planOf(state), isRead: true };
  return { state, plan: applyFitting(startPlan(state), unread).plan, isRead: false };
}

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
      {
        hint: `Begin its next turn: goald say ${agent} "…", or goald run --continue ${agent} -g "…"`,
      },
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
