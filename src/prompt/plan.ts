/**
 * plan.ts -- the plan in the last message: the tree as data, a status line behind it, and a hint that ends the message.
 *
 * Status and hint follow from the state alone. The status is about the current task. The hint depends on the newest result in
 * the agent's own window; while no task is in progress it is the status.
 */
import { TASK_COMPLETE } from "#core/command-names.ts";
import { planOf } from "#core/evolve-turn.ts";
import { currentTask, isClosed, type PlacedTask, type PlanTask, refuseTask } from "#core/plan.ts";
import type { AgentState, Message } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText } from "./delimit.ts";
import { describeMessageSource } from "./describe-source.ts";
import type { FormWords } from "./form-words.ts";
import { renderTree } from "./plan-tree.ts";
import type { PromptFile } from "./prompt-files.ts";
import { originOf } from "./subtask.ts";
import { fillTemplate, type Words } from "./template.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";
import { countByState, WHOLE_GOAL } from "./tree-view.ts";

const MAX_PLAN_TOKENS = 1_500;
const MAX_SHARE_OF_CONTEXT = 0.15;

/** Tokens for the tree in a context window of this size. */
export const planBudget = (contextTokens: number): number =>
  Math.max(0, Math.min(MAX_PLAN_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens)));

interface PlanParts {
  /** The tree as data, with lines about it where they are needed. */
  readonly tree: string;
  readonly status: string;
  /** Empty: none. */
  readonly hint: string;
}

/** Undefined without a plan, and in a sub-task. */
function describePlan(state: AgentState, words: Words, maxTokens: number): PlanParts | undefined {
  const plan = originOf(state) ? null : planOf(state);
  if (plan === null) return undefined;
  const { json, isCollapsed } = renderTree(plan, maxTokens);
  const lines = [isCollapsed ? fillTemplate(words["plan-collapsed"], {}) : "", describeOutside(state, words)];
  const tree = [...lines.filter((line) => line !== ""), delimitText("data", json)].join("\n");
  const current = currentTask(plan);
  const status = current
    ? describeCurrent(plan, current, words, maxTokens)
    : fillTemplate(words[chooseIdleWords(state, plan)], {});
  const file = current ? HINTS[lastActionOf(state)] : undefined;
  const hint = current ? (file ? fillTemplate(words[file], {}) : "") : status;
  return { tree, status, hint };
}

/** The plan with its rules, and the hint. Both are empty without a plan. `maxTokens`: for the tree. */
export function renderPlan(
  state: AgentState,
  words: Words,
  form: FormWords,
  maxTokens: number,
): Readonly<Record<"plan" | "hint", string>> {
  const parts = describePlan(state, words, maxTokens);
  if (!parts) return { plan: "", hint: "" };
  const { tree, status, hint } = parts;
  const rules = fillTemplate(words["plan-rules"], {});
  return { plan: fillTemplate(words[form.plan], { tree, status, rules }), hint };
}

/** An agent that has received outside words may have put them into its plan. */
function describeOutside({ received }: AgentState, words: Words): string {
  if (received.length === 0) return "";
  return fillTemplate(words["plan-outside"], {
    outside: describeMessageSource({ source: "agent", outside: received.map(({ from, name }) => ({ from, name })) }),
  });
}

// ---------------------------------------------------------------- status

function describeCurrent(plan: PlanTask, { id, task }: PlacedTask, words: Words, maxTokens: number): string {
  const goal = delimitText("data", shortenGoal(task.goal, maxTokens));
  return [
    fillTemplate(words["plan-current"], { id, goal }),
    task.subtasks.length === 0 && canBreakDown(plan, id) ? fillTemplate(words["plan-leaf"], {}) : "",
    task.subtasks.length > 0 && task.subtasks.every(isClosed) ? fillTemplate(words["plan-whole"], {}) : "",
  ]
    .filter((line) => line !== "")
    .join("\n");
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

function chooseIdleWords({ plan: made, settings }: AgentState, plan: PlanTask): PromptFile {
  const counts = countByState(plan);
  if (counts.open || counts.in_progress)
    return made === null && settings.plan === "required" ? "plan-start" : "plan-idle";
  return counts.completed ? "plan-check" : "plan-done";
}

// ---------------------------------------------------------------- hint

type LastAction = "none" | "files" | "think" | "thoughts" | "plan" | "end" | "other";

const HINTS: Readonly<Record<LastAction, PromptFile | undefined>> = {
  none: "plan-hint-begin",
  files: "plan-hint-files",
  think: "plan-hint-act",
  thoughts: "plan-hint-thoughts",
  plan: "plan-hint-next",
  end: undefined,
  other: "plan-hint-result",
};

/** This many thoughts in a row are too many. */
const MANY_THOUGHTS = 3;

function lastActionOf({ frames }: AgentState): LastAction {
  const results = frames[0].window.filter(({ kind }) => kind === "result");
  const newest = results.at(-1);
  if (!newest) return "none";
  // Its result says what to do.
  if (newest.from === TASK_COMPLETE) return "end";
  if (newest.did === "think") return countThoughts(results) >= MANY_THOUGHTS ? "thoughts" : "think";
  return newest.did ?? "other";
}

/** In a row, up to the newest. */
const countThoughts = (results: readonly Message[]): number =>
  results.length - 1 - results.findLastIndex(({ did }) => did !== "think");
