/**
 * situation.ts -- what the last message says of the agent's situation: files, limits, helpers, and the end that is
 * near. All but the files follows from the state, and the event of the request keeps the files, so that the prompt can
 * be rebuilt from the log.
 */
import { planOf } from "#core/evolve-turn.ts";
import { spentByOthers, spentOf } from "#core/limits.ts";
import { unfinishedTasks } from "#core/plan.ts";
import type { FolderSight } from "#core/ports/workspace.ts";
import type { AgentState } from "#core/state.ts";
import type { ChildAccount } from "#core/subagent.ts";
import { formatSize } from "#core/text.ts";
import { delimitText, formatName } from "./delimit.ts";
import { originOf } from "./subtask.ts";
import { type FormTemplates, fillTemplate, type Words } from "./words.ts";

export interface Situation {
  /** Number of the step that the prompt is for. Default: the next one. */
  readonly step?: number | undefined;
  /** The files in the folder, by `describeFolder`; empty for none. */
  readonly folder?: string | undefined;
  /** Methods that searches found, one line each; empty for none. */
  readonly foundLines?: string | undefined;
}

const MAX_HELPERS = 5;
const MAX_NAME_CHARS = 60;

/** One line per file; empty for an empty folder. */
export function describeFolder({ newest, others, isPartial }: FolderSight, now: Date): string {
  const lines = newest.map(
    ({ path, bytes, modifiedAt }) =>
      `${formatName(path, MAX_NAME_CHARS)}, ${formatSize(bytes)}, ${formatAge(now, modifiedAt)}`,
  );
  if (others > 0 || isPartial) lines.push(`and ${isPartial ? "more than " : ""}${others} more`);
  return lines.join("\n");
}

/** Returns "" when there is nothing to say. */
export function renderSituation(
  state: AgentState,
  { step = state.step + 1, folder = "", foundLines = "" }: Situation,
  words: Words,
  form: FormTemplates,
): string {
  const left = listLimits(state, step);
  const helpers = listHelpers(state);
  return [
    foundLines === "" ? "" : fillTemplate(words["last-message/found-methods"], { methods: foundLines }),
    folder === "" ? "" : fillTemplate(words["last-message/folder"], { files: delimitText("data", folder) }),
    left.length === 0 ? "" : fillTemplate(words["last-message/limits-left"], { left: left.join(", ") }),
    helpers === "" ? "" : fillTemplate(words["last-message/helpers-at-work"], { helpers }),
    ...renderEnding(state, step, words, form),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function renderEnding(state: AgentState, step: number, words: Words, form: FormTemplates): readonly string[] {
  const isPlanned = hasOpenPlan(state);
  if (!isEnding(state, step)) return [];
  const values = { steps: isPlanned ? "four" : "two", end: fillTemplate(words[form.end]) };
  return [
    fillTemplate(words["last-message/last-steps"], values),
    ...(isPlanned ? [fillTemplate(words["plan/plan-last-steps"])] : []),
  ];
}

/** Whether a limit ends within two steps, or within four for an agent that has to close its plan first. */
export const isEnding = (state: AgentState, step: number): boolean =>
  endsWithin(hasOpenPlan(state) ? 4 : 2, state, step);

function hasOpenPlan(state: AgentState): boolean {
  const plan = originOf(state) ? null : planOf(state);
  return plan !== null && unfinishedTasks(plan).length > 0;
}

/** Steps include the one that the prompt is for. */
const stepsLeft = (state: AgentState, step: number): number =>
  state.settings.stepLimit === null
    ? Number.POSITIVE_INFINITY
    : state.settings.stepLimit - spentByOthers(state).steps - step + 1;

function listLimits(state: AgentState, step: number): readonly string[] {
  const { stepLimit, tokenLimit, budgetUsd, deadline } = state.settings;
  const spent = spentOf(state);
  const steps = Math.max(0, stepsLeft(state, step));
  return [
    ...(stepLimit === null ? [] : [`${steps} of ${stepLimit} steps`]),
    ...(tokenLimit === null ? [] : [`${Math.max(0, tokenLimit - spent.tokens)} tokens`]),
    ...(budgetUsd === null ? [] : [`$${Math.max(0, budgetUsd - spent.usd).toFixed(4)}`]),
    ...(deadline === null ? [] : [`time until ${deadline}`]),
  ];
}

/** By what the steps so far took. */
function endsWithin(steps: number, state: AgentState, step: number): boolean {
  const { tokenLimit, budgetUsd } = state.settings;
  const spent = spentOf(state);
  const takenBy = (all: number): number => (steps * all) / Math.max(1, spent.steps);
  return (
    stepsLeft(state, step) <= steps ||
    (tokenLimit !== null && spent.tokens > 0 && tokenLimit - spent.tokens < takenBy(spent.tokens)) ||
    (budgetUsd !== null && spent.usd > 0 && budgetUsd - spent.usd < takenBy(spent.usd))
  );
}

function listHelpers({ children }: AgentState): string {
  const all = Object.entries(children);
  const shown = all.slice(-MAX_HELPERS).map(([id, helper]) => `${id} ${describeHelper(helper)}`);
  return [...(all.length > shown.length ? [`${all.length - shown.length} others`] : []), ...shown].join(", ");
}

function describeHelper({ isWorking, isStopping: isBeingEnded, isPaused }: ChildAccount): string {
  if (isBeingEnded) return "is being ended";
  if (isPaused) return "is paused";
  return isWorking ? "works" : "is done";
}

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** Returns "just now" for a time in the future, after the clock was set back. */
function formatAge(now: Date, at: string): string {
  const seconds = (now.getTime() - Date.parse(at)) / 1000;
  const [length, unit] = UNITS.find(([each]) => seconds >= each) ?? [];
  return length === undefined ? "just now" : `${Math.floor(seconds / length)} ${unit} ago`;
}
