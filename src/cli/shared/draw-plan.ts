/**
 * draw-plan.ts -- the plan of an agent as lines for people.
 *
 * Every line has a mark of ASCII characters and the state in words, so that it needs neither colour nor a font.
 */
import { isClosed, TASK_STATES, type TaskState } from "#core/plan.ts";
import { countNoun, oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { TaskView } from "#views/plan-view.ts";

export interface DrawnPlan {
  readonly lines: readonly string[];
  /** Tasks that have no line of their own. */
  readonly hidden: number;
}

const MARKS: Readonly<Record<TaskState, string>> = {
  open: "[ ]",
  in_progress: "[>]",
  completed: "[+]",
  verified: "[x]",
  abandoned: "[-]",
};

export const stateInWords = (state: TaskState): string => state.replace("_", " ");

export const taskLine = (text: string): string => oneLine(clean(text), 500);

/**
 * Draws at most `most` tasks, in a larger plan those near the current task first, then open ones near the root. One
 * more line below a drawn task counts the others below it.
 */
export function drawPlan(plan: TaskView, current: string | null, most: number): DrawnPlan {
  const shown = chooseTasks(plan, current, most);
  const draw = (task: TaskView, indent: string): readonly string[] => {
    const here = task.id === current ? ", current" : "";
    const line = `${indent}${MARKS[task.state]} ${task.id} ${taskLine(task.goal)} (${stateInWords(task.state)}${here})`;
    const below = task.subtasks.flatMap((subtask) => (shown.has(subtask) ? draw(subtask, `${indent}  `) : []));
    const hidden = task.subtasks.filter((subtask) => !shown.has(subtask)).flatMap(listViews);
    const rest =
      hidden.length === 0 ? [] : [`${indent}  ... ${countNoun(hidden.length, "task")}: ${countStates(hidden)}`];
    return [line, ...below, ...rest];
  };
  return { lines: draw(plan, ""), hidden: listViews(plan).length - shown.size };
}

/** "3 open, 1 verified". */
export function countStates(tasks: readonly Pick<TaskView, "state">[]): string {
  const counts = TASK_STATES.map((state) => [state, tasks.filter((task) => task.state === state).length] as const);
  return counts.flatMap(([state, count]) => (count > 0 ? [`${count} ${stateInWords(state)}`] : [])).join(", ");
}

export const listViews = (task: TaskView): readonly TaskView[] => [task, ...task.subtasks.flatMap(listViews)];

/**
 * The tasks above the current one have the lowest rank, then the siblings of these, the deepest first. A task is chosen
 * only with the tasks above it, because its rank is not below theirs.
 */
function chooseTasks(plan: TaskView, current: string | null, most: number): ReadonlySet<TaskView> {
  const ranked: { readonly task: TaskView; readonly rank: number }[] = [];
  const path = current ?? "";
  const isAround = ({ id }: TaskView): boolean => id === path || path.startsWith(`${id}.`);
  const rankAll = (task: TaskView, above: number, isNear: boolean): void => {
    const far = isNear ? 1 + depthOf(path) - depthOf(task.id) : isClosed(task) ? 10_000 : 100;
    const rank = isAround(task) ? 0 : above + far;
    ranked.push({ task, rank });
    for (const subtask of task.subtasks) rankAll(subtask, rank, isAround(task) && task.id !== path);
  };
  rankAll(plan, 0, false);
  // The sort keeps the order of equals, in which a task comes before its subtasks.
  ranked.sort((a, b) => a.rank - b.rank);
  return new Set(ranked.slice(0, most).map(({ task }) => task));
}

const depthOf = (id: string): number => id.split(".").length;
