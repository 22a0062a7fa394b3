/**
 * plan-tree.ts -- the tree of a plan as compact JSON within a budget of tokens.
 *
 * A plan that fits is shown whole. Of a larger one the current branch comes first: the chain from task 0 to the current task,
 * and the nearest of the current task's siblings and subtasks. Its goals are shortened before its lists are, and its lists
 * before its chain. The tokens that this leaves show further siblings along the chain, then subtasks of branches with
 * unfinished work, and last those of closed branches. All other tasks are counted by state (tree-view.ts).
 */

import { currentTask, type PlanTask } from "#core/plan.ts";
import { rememberBy } from "#util/caches.ts";
import { estimateTokens } from "./tokens.ts";
import { countTasks, TreeView, WHOLE_GOAL, writeTwo } from "./tree-view.ts";

interface ShownTree {
  readonly json: string;
  /** Some tasks are only counted. */
  readonly isCollapsed: boolean;
}

/** The tree within `maxTokens`, or task 0 and the current task alone when that is too little for more. */
export const renderTree = rememberBy((plan: PlanTask, maxTokens: number): ShownTree => {
  const whole = renderWhole(plan, maxTokens);
  return { json: whole ?? renderCollapsed(plan, maxTokens), isCollapsed: whole === undefined };
});

/** A task with a short goal takes more. */
const LEAST_TASK_TOKENS = 12;

function renderWhole(plan: PlanTask, maxTokens: number): string | undefined {
  if (countTasks(plan) * LEAST_TASK_TOKENS > maxTokens) return undefined;
  const view = new TreeView(plan, WHOLE_GOAL);
  view.openAll();
  const json = view.write();
  return estimateTokens(json) <= maxTokens ? json : undefined;
}

interface Level {
  /** Longest goal of the current branch. */
  readonly goalChars: number;
  /** This many siblings and this many subtasks of the current task stay in view. */
  readonly near: number;
  /** Tasks out of view have a range of ids, else they are "others". */
  readonly hasRanges: boolean;
}
/** The first one that fits is used. */
const LEVELS: readonly Level[] = [
  { goalChars: WHOLE_GOAL, near: 12, hasRanges: true },
  { goalChars: 160, near: 12, hasRanges: true },
  { goalChars: 80, near: 12, hasRanges: true },
  { goalChars: 40, near: 12, hasRanges: true },
  { goalChars: 20, near: 12, hasRanges: true },
  { goalChars: 20, near: 12, hasRanges: false },
  { goalChars: 20, near: 6, hasRanges: false },
  { goalChars: 20, near: 2, hasRanges: false },
  { goalChars: 20, near: 0, hasRanges: false },
];

function renderCollapsed(plan: PlanTask, maxTokens: number): string {
  for (const level of LEVELS) {
    const branch = viewBranch(plan, level).write();
    const tokens = estimateTokens(branch);
    if (tokens <= maxTokens) return growBranch(plan, level, maxTokens - tokens, maxTokens) ?? branch;
  }
  return writeTwo(plan, currentTask(plan));
}

/** The parts' tokens are an estimate of the whole: a result that is too long after all gets less room. */
function growBranch(plan: PlanTask, level: Level, room: number, maxTokens: number): string | undefined {
  for (let left = room; left > LEAST_TASK_TOKENS; left = Math.floor(left * 0.7)) {
    const view = viewBranch(plan, level);
    view.grow(left);
    const json = view.write();
    if (estimateTokens(json) <= maxTokens) return json;
  }
  return undefined;
}

function viewBranch(plan: PlanTask, { goalChars, near, hasRanges }: Level): TreeView {
  const view = new TreeView(plan, goalChars, hasRanges);
  view.openBranch(near);
  return view;
}
