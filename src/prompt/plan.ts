/**
 * plan.ts -- the plan in the last message: the tree as data, a status line behind it, and a hint that ends the message.
 * Status and hint follow from the state alone. The status is about the current task. The hint depends on the newest
 * result in the agent's own window; while no task is in progress it is the status.
 */
import { TASK_COMPLETE } from "#core/command.ts";
import { planOf } from "#core/evolve-turn.ts";
import {
  currentTask,
  isClosed,
  type PlacedTask,
  type PlanTask,
  refuseTask,
  TASK_STATES,
  type TaskState,
} from "#core/plan.ts";
import type { AgentState, Message } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText, describeMessageSource } from "./delimit.ts";
import { originOf } from "./subtask.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";
import { type FormTemplates, fillTemplate, type TemplateName, type Words } from "./words.ts";

const MAX_PLAN_TOKENS = 1_500;
const MAX_SHARE_OF_CONTEXT = 0.15;

/** Tokens for the tree in a context window of this size. */
export const planBudget = (contextTokens: number): number =>
  Math.max(0, Math.min(MAX_PLAN_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens)));

interface PlanView {
  /** For the tree. */
  readonly maxTokens: number;
  /** A limit is near: nothing is to be begun or broken down, and the last message says what to do instead. */
  readonly isEnding?: boolean;
}

/** The plan with its rules, and the hint. Both are empty without a plan, and in a sub-task. */
export function renderPlan(
  state: AgentState,
  words: Words,
  form: FormTemplates,
  { maxTokens, isEnding = false }: PlanView,
): Readonly<Record<"plan" | "hint", string>> {
  const plan = originOf(state) ? null : planOf(state);
  if (plan === null) return { plan: "", hint: "" };
  const { json, isCollapsed } = renderTree(plan, maxTokens);
  const lines = [isCollapsed ? fillTemplate(words["plan/plan-collapsed"]) : "", describeOutside(state, words)];
  const current = currentTask(plan);
  const idle = isEnding || current ? "" : fillTemplate(words[chooseIdleWords(state, plan)]);
  const hint = isEnding || !current ? undefined : HINTS[lastActionOf(state)];
  const values = {
    tree: [...lines.filter((line) => line !== ""), delimitText("data", json)].join("\n"),
    status: current ? describeCurrent(plan, current, words, { maxTokens, isEnding }) : idle,
    rules: fillTemplate(words["plan/plan-rules"]),
    tools: fillTemplate(words[form.planTools]),
    end: fillTemplate(words[form.end]),
  };
  // Without a status the last line is empty.
  return { plan: fillTemplate(words[form.plan], values).trimEnd(), hint: hint ? fillTemplate(words[hint]) : idle };
}

/** An agent that has received outside words may have put them into its plan. */
function describeOutside({ received }: AgentState, words: Words): string {
  if (received.length === 0) return "";
  return fillTemplate(words["plan/plan-outside"], {
    outside: describeMessageSource({ source: "agent", outside: received.map(({ from, name }) => ({ from, name })) }),
  });
}

function describeCurrent(plan: PlanTask, { id, task }: PlacedTask, words: Words, view: PlanView): string {
  const goal = delimitText("data", shortenGoal(task.goal, view.maxTokens));
  const isLeaf = task.subtasks.length === 0 && canBreakDown(plan, id);
  const isWhole = task.subtasks.length > 0 && task.subtasks.every(isClosed);
  const more = isLeaf ? (["plan/plan-leaf"] as const) : isWhole ? (["plan/plan-whole"] as const) : [];
  const told = view.isEnding ? [] : more.map((name) => fillTemplate(words[name]));
  return [fillTemplate(words["plan/plan-current"], { id, goal }), ...told].join("\n");
}

/** The status takes at most half as much as the tree. */
function shortenGoal(goal: string, maxTokens: number): string {
  const render = (limit: number) => {
    const text = oneLine(clean(goal).toWellFormed(), Math.max(LEAST_GOAL, limit));
    return { text, tokens: estimateTokens(text) };
  };
  const whole = render(WHOLE_GOAL);
  if (whole.tokens <= maxTokens / 2) return whole.text;
  return shrinkText(whole.text.length, whole.tokens, maxTokens / 2, render).text;
}
const LEAST_GOAL = 20;

const canBreakDown = (plan: PlanTask, id: string): boolean => refuseTask(plan, id, { goal: "part" }) === undefined;

function chooseIdleWords({ plan: made, settings }: AgentState, plan: PlanTask): TemplateName {
  const counts = nameCounts(countStates(plan));
  if (counts.open || counts.in_progress)
    return made === null && settings.plan === "required" ? "plan/plan-start" : "plan/plan-idle";
  return counts.completed ? "plan/plan-check" : "plan/plan-done";
}

type LastAction = "none" | "files" | "think" | "thoughts" | "plan" | "end" | "failed" | "other";

const HINTS: Readonly<Record<LastAction, TemplateName | undefined>> = {
  none: "plan/plan-hint-begin",
  files: "plan/plan-hint-files",
  think: "plan/plan-hint-act",
  thoughts: "plan/plan-hint-thoughts",
  plan: "plan/plan-hint-next",
  end: undefined,
  failed: "plan/plan-hint-failed",
  other: "plan/plan-hint-result",
};

/** This many thoughts in a row are too many. */
const MANY_THOUGHTS = 3;

function lastActionOf({ frames }: AgentState): LastAction {
  const results = frames[0].window.filter(({ kind }) => kind === "result");
  const newest = results.at(-1);
  if (!newest) return "none";
  // Its result says what to do.
  if (newest.from === TASK_COMPLETE) return "end";
  if (newest.status !== "ok") return "failed";
  if (newest.did === "think") return countThoughts(results) >= MANY_THOUGHTS ? "thoughts" : "think";
  return newest.did ?? "other";
}

/** In a row, up to the newest. */
const countThoughts = (results: readonly Message[]): number =>
  results.length - 1 - results.findLastIndex(({ did }) => did !== "think");

/** Longest goal of a task. */
const WHOLE_GOAL = 500;
/** Longest goal outside the current branch when the plan is not shown whole. */
const OTHER_GOAL = 80;
/** This many tasks of each list along the chain come into view before any list gets more. */
const FIRST_LENGTH = 8;

type StateCounts = { readonly [S in TaskState]?: number };
type ShownTask =
  | {
      readonly id: string;
      readonly goal: string;
      readonly state: TaskState;
      readonly subtasks: readonly ShownTask[] | StateCounts;
    }
  | { readonly id: string; readonly tasks: StateCounts };

interface Window {
  /** Id of the task whose subtasks are in view. */
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

/**
 * A part of a plan's tree as JSON: which tasks are in view, and the counts of all others. A task in view has id, goal,
 * state and subtasks. Its subtasks in view are neighbours. Those before and after them have one entry each with a range
 * of ids, or one together with the id "others": its `tasks` are the counts by state of these tasks and of all below
 * them. A task whose subtasks are out of view has the counts of all below it in place of their list.
 */
class TreeView {
  readonly #plan: PlanTask;
  readonly #level: ViewLevel;
  readonly #windows = new Map<PlanTask, Window>();
  /** From task 0 to the current task; task 0 alone when no task is in progress. */
  readonly #chain: readonly PlacedTask[];

  constructor(plan: PlanTask, level: ViewLevel) {
    this.#level = level;
    this.#plan = plan;
    this.#chain = chainTo(plan, currentTask(plan)?.id ?? "0");
  }

  openAll(task: PlanTask = this.#plan, id = "0"): void {
    this.#open(task, { id, from: 0, to: task.subtasks.length });
    for (const [place, subtask] of task.subtasks.entries()) this.openAll(subtask, `${id}.${place}`);
  }

  /** Brings the chain into view, and `near` siblings and `near` subtasks of the current task. */
  openBranch(near: number): void {
    for (const [depth, { id, task }] of this.#chain.entries()) {
      const next = this.#chain[depth + 1];
      const isLast = depth === this.#chain.length - 2;
      if (next) this.#openAround(task, id, placeOf(next.id), isLast ? near + 1 : 1);
      else this.#openAround(task, id, nextPlace(task), near);
    }
  }

  #openAround(task: PlanTask, id: string, place: number, count: number): void {
    if (count === 0) return;
    const { length } = task.subtasks;
    const from = Math.max(0, Math.min(place - Math.floor((count - 1) / 2), length - count));
    this.#open(task, { id, from, to: Math.min(length, from + count) });
  }

  #open(task: PlanTask, window: Window): void {
    if (task.subtasks.length > 0) this.#windows.set(task, window);
  }

  /** Brings more tasks into view, the important ones first, while their estimated tokens fit into `room`. */
  grow(room: number): void {
    let left = room;
    const fits = (task: PlanTask, id: string): boolean => {
      left -= estimateTokens(JSON.stringify(showTask(task, id, OTHER_GOAL))) + 1;
      return left >= 0;
    };
    for (const length of [FIRST_LENGTH, Number.POSITIVE_INFINITY])
      for (const { id, task } of this.#chain.toReversed()) if (!this.#widen(task, id, length, fits)) return;
    for (const takesClosed of [false, true]) {
      // The loop also visits the windows that it adds: branches open level by level.
      for (const [task, { id }] of this.#windows)
        for (const [place, subtask] of task.subtasks.entries()) {
          if (isClosed(subtask) !== takesClosed || this.#windows.has(subtask)) continue;
          if (!this.#widen(subtask, `${id}.${place}`, Number.POSITIVE_INFINITY, fits)) return;
        }
    }
  }

  /** Adds neighbours on both sides up to `length` in all. Returns false when the room is used up. */
  #widen(task: PlanTask, id: string, length: number, fits: (task: PlanTask, id: string) => boolean): boolean {
    const { subtasks } = task;
    const next = nextPlace(task);
    let { from, to } = this.#windows.get(task) ?? { from: next, to: next };
    const place = Math.floor((from + to) / 2);
    while (to - from < Math.min(length, subtasks.length)) {
      const isLater = to < subtasks.length && (from === 0 || to - place <= place - from);
      const added = isLater ? to : from - 1;
      if (!fits(subtasks[added] as PlanTask, `${id}.${added}`)) return false;
      if (isLater) to++;
      else from--;
      this.#open(task, { id, from, to });
    }
    return true;
  }

  write(): string {
    return JSON.stringify(this.#showBelow(this.#plan, "0", this.#level.goalChars));
  }

  #showBelow(task: PlanTask, id: string, goalChars: number): ShownTask {
    const shown = showTask(task, id, goalChars);
    const window = this.#windows.get(task);
    if (!window) return shown;
    const { length } = task.subtasks;
    // A range of a single task would say less and save nothing.
    const from = window.from === 1 ? 0 : window.from;
    const to = window.to === length - 1 ? length : window.to;
    const isNear = this.#chain.slice(-2).some((link) => link.task === task);
    const listed = task.subtasks.slice(from, to).map((subtask, index) => {
      const isInBranch = isNear || this.#chain.some((link) => link.task === subtask);
      const chars = isInBranch ? this.#level.goalChars : Math.min(this.#level.goalChars, OTHER_GOAL);
      return this.#showBelow(subtask, `${id}.${from + index}`, chars);
    });
    const hidden = [task.subtasks.slice(0, from), task.subtasks.slice(to)];
    if (!this.#level.hasRanges) return { ...shown, subtasks: [...listed, ...countTogether("others", hidden.flat())] };
    const [before = [], after = []] = hidden;
    const first = countTogether(`${id}.0 to ${id}.${from - 1}`, before);
    return { ...shown, subtasks: [...first, ...listed, ...countTogether(`${id}.${to} to ${id}.${length - 1}`, after)] };
  }
}

/** For a budget that has no room for the branch: task 0 and the current task, and the counts of all others. */
function writeTwo(plan: PlanTask, current: PlacedTask | undefined): string {
  const root = showTask(plan, "0", SHORT_GOAL);
  if (!current || current.task === plan) return JSON.stringify(root);
  const own = countStates(current.task);
  const others = countBelow(plan).map((count, index) => count - (own[index] ?? 0));
  const rest = sum(others) === 0 ? [] : [{ id: "others", tasks: nameCounts(others) }];
  return JSON.stringify({ ...root, subtasks: [showTask(current.task, current.id, SHORT_GOAL), ...rest] });
}
const SHORT_GOAL = 20;

/** The task itself, with the counts of what is below it. */
function showTask(task: PlanTask, id: string, goalChars: number): ShownTask {
  const goal = oneLine(clean(task.goal).toWellFormed(), goalChars);
  return { id, goal, state: task.state, subtasks: task.subtasks.length === 0 ? [] : nameCounts(countBelow(task)) };
}

const countTogether = (id: string, tasks: readonly PlanTask[]): readonly ShownTask[] =>
  tasks.length === 0 ? [] : [{ id, tasks: nameCounts(addAll(tasks.map(countStates))) }];

function chainTo(plan: PlanTask, id: string): readonly PlacedTask[] {
  const chain: PlacedTask[] = [{ id: "0", task: plan }];
  for (const place of id.split(".").slice(1).map(Number)) {
    const last = chain.at(-1) as PlacedTask;
    const task = last.task.subtasks[place];
    if (task) chain.push({ id: `${last.id}.${place}`, task });
  }
  return chain;
}

const placeOf = (id: string): number => Number(id.slice(id.lastIndexOf(".") + 1));

/** The first subtask with work left, else the last one. */
function nextPlace({ subtasks }: PlanTask): number {
  const next = subtasks.findIndex((subtask) => !isClosed(subtask));
  return Math.max(0, next < 0 ? subtasks.length - 1 : next);
}

/** Counts of the task and all below it, in the order of TASK_STATES. */
type Counts = readonly number[];

/** Once per task: a change of the plan leaves all tasks beside its path as they are. */
const countStates: (task: PlanTask) => Counts = rememberBy((task) => {
  const own = TASK_STATES.map((state) => (state === task.state ? 1 : 0));
  return addAll([own, ...task.subtasks.map((subtask) => countStates(subtask))]);
});

const countBelow = (task: PlanTask): Counts => addAll(task.subtasks.map((subtask) => countStates(subtask)));

function addAll(lists: readonly Counts[]): Counts {
  const total = TASK_STATES.map(() => 0);
  for (const counts of lists) for (const [index, count] of counts.entries()) total[index] = (total[index] ?? 0) + count;
  return total;
}

const nameCounts = (counts: Counts): StateCounts =>
  Object.fromEntries(TASK_STATES.flatMap((state, index) => (counts[index] ? [[state, counts[index]]] : [])));

const sum = (counts: Counts): number => counts.reduce((total, count) => total + count, 0);

/**
 * Returns the tree of a plan as compact JSON within `maxTokens`, or task 0 and the current task alone when that is too
 * little for more. `isCollapsed`: some tasks are only counted.
 *
 * A plan that fits is shown whole. Of a larger one the current branch comes first: the chain from task 0 to the current
 * task, and the nearest of the current task's siblings and subtasks. Its goals are shortened before its lists are, and
 * its lists before its chain. The tokens that this leaves show further siblings along the chain, then subtasks of
 * branches with unfinished work, and last those of closed branches. All other tasks are counted by state.
 */
export const renderTree = rememberBy((plan: PlanTask, maxTokens: number) => {
  const whole = renderWhole(plan, maxTokens);
  return { json: whole ?? renderCollapsed(plan, maxTokens), isCollapsed: whole === undefined };
});

/** A task with a short goal takes more. */
const LEAST_TASK_TOKENS = 12;

function renderWhole(plan: PlanTask, maxTokens: number): string | undefined {
  if (sum(countStates(plan)) * LEAST_TASK_TOKENS > maxTokens) return undefined;
  const view = new TreeView(plan, { goalChars: WHOLE_GOAL, hasRanges: true });
  view.openAll();
  const json = view.write();
  return estimateTokens(json) <= maxTokens ? json : undefined;
}

/**
 * The first one that fits is used. `goalChars`: longest goal of the current branch. `near`: this many siblings and
 * this many subtasks of the current task stay in view. `hasRanges`: tasks out of view have a range of ids, else they
 * are "others".
 */
const LEVELS = [
  ...[WHOLE_GOAL, 160, 80, 40, 20].map((goalChars) => ({ goalChars, near: 12, hasRanges: true })),
  ...[12, 6, 2, 0].map((near) => ({ goalChars: 20, near, hasRanges: false })),
];
type Level = (typeof LEVELS)[number];
type ViewLevel = Pick<Level, "goalChars" | "hasRanges">;

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

function viewBranch(plan: PlanTask, level: Level): TreeView {
  const view = new TreeView(plan, level);
  view.openBranch(level.near);
  return view;
}
