/**
 * completion.ts -- decides whether an agent may report its goals as reached. Pure.
 *
 * A refusal is a result that the model reads. The first one leaves it free to do something else. After the second one an
 * agent with working sub-agents waits for their next report, which costs nothing. The third one pauses it. A report, a
 * person's words, new goals, checks that pass and a resume start the count again.
 */
import type { EventOf } from "./event.ts";
import { planOf } from "./evolve-plan.ts";
import { describeResult } from "./goal-check.ts";
import { type PlanTask, unfinishedTasks } from "./plan.ts";
import type { AgentState } from "./state.ts";
import type { ChildAccount } from "./subagents/subagent-event.ts";
import { joinNames, oneLine } from "./text.ts";

export const MAX_REFUSALS = 3;
const WAIT_AT = 2;

export interface Refusal {
  /** The turn cannot end because of this. */
  readonly refusal: NonNullable<EventOf<"command-denied">["refusal"]>;
  /** The model reads this text. */
  readonly reason: string;
}

/** The reason why the turn may not end now; undefined when it may. */
export const refuseCompletion = (state: AgentState): Refusal | undefined =>
  refuseForHelpers(state) ?? refuseForPlan(state);

function refuseForHelpers(state: AgentState): Refusal | undefined {
  const helpers = workingHelpers(state);
  if (helpers.length === 0) return undefined;
  const names = helpers.map(([key, { name }]) => `${name} (${key})`).join(", ");
  const reason =
    `Your work is not finished: ${names} still ${helpers.length === 1 ? "works" : "work"} for you. Each answer will come to you as a message. ` +
    "Do something else meanwhile, or end an agent that you do not need with delete_agent. " +
    "If nothing else is to be done, ask for task_complete again: you then wait for the next answer.";
  return { refusal: "helpers", reason };
}

/** Tasks that a refusal names. */
const MAX_NAMED = 10;

function refuseForPlan(state: AgentState): Refusal | undefined {
  const unfinished = nameUnfinished(state);
  if (unfinished === "") return undefined;
  const reason =
    `Your plan is not finished. These tasks are neither verified nor abandoned: ${unfinished}. ` +
    "Do what is left of them. Then set each to verified with modify_task, once you have checked it, or to abandoned.";
  return { refusal: "plan", reason };
}
/** Empty when each task is verified or abandoned, and when there is no plan. */
function nameUnfinished(state: AgentState): string {
  const unfinished = unfinishedTasks(planOf(state) ?? FINISHED);
  const named = unfinished.map(({ id, task }) => `${id} ${JSON.stringify(oneLine(task.goal, 80))} (${task.state})`);
  return joinNames(named, MAX_NAMED);
}
const FINISHED: PlanTask = { goal: "", state: "verified", subtasks: [] };

/** Sub-agents that will report by themselves. Paused ones need somebody to continue them. */
const workingHelpers = ({ children }: AgentState): readonly (readonly [string, ChildAccount])[] =>
  Object.entries(children).filter(([, { isWorking, isPaused, isStopping }]) => isWorking && !isPaused && !isStopping);

/** True for an agent that asked twice to finish, and has only reports to wait for. */
export const awaitsHelpers = (state: AgentState): boolean =>
  state.refusals >= WAIT_AT && workingHelpers(state).length > 0;

/** The reason of the pause, for people. It names what is missing. */
export function notProven(state: AgentState): string {
  const helpers = workingHelpers(state).map(([, { name }]) => name);
  const unfinished = nameUnfinished(state);
  const missing = [
    ...(helpers.length > 0 ? [`Sub-agents still work for it: ${helpers.join(", ")}.`] : []),
    ...(unfinished === "" ? [] : [`Tasks of its plan are neither verified nor abandoned: ${unfinished}.`]),
    ...failedChecks(state).map((failed) => `A check ${failed}`),
  ];
  return (
    `It reported its work as finished ${state.refusals} times in a row, and it is not. ${missing.map((one) => `${one} `).join("")}` +
    "See what it was told: goald logs <agent>. " +
    'Tell it what to do instead (goald say <agent> "…"), or let it try again: goald resume <agent>'
  );
}

const failedChecks = ({ checks, proofs }: AgentState): readonly string[] =>
  proofs.flatMap((result) => {
    const test = checks[result.check]?.test;
    return result.isPassed || !test ? [] : [oneLine(describeResult(test, result), MAX_FAILED_CHARS)];
  });
const MAX_FAILED_CHARS = 300;
