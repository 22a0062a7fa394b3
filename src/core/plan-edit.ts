/** plan-edit.ts -- a person's changes of a plan: whether they fit it, and the plan after them. Pure. */
import {
  addTask,
  findTask,
  listTasks,
  type PlanEdit,
  type PlanTask,
  refuseTask,
  setTask,
  type TaskState,
} from "./plan.ts";

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
