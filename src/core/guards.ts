/** guards.ts -- decides whether an agent may report its goals as reached, and detects that it repeats itself. Pure. */
import type { CommandCall } from "./call.ts";
import type { EventOf, NewEvent } from "./event.ts";
import { planOf } from "./evolve-turn.ts";
import { describeResult } from "./goal-check.ts";
import { unfinishedTasks } from "./plan.ts";
import { type AgentState, activeFrame, type Frame, type Repetition } from "./state.ts";
import type { ChildAccount } from "./subagent.ts";
import { countNoun, isBlobRef, joinNames, oneLine } from "./text.ts";

/** A second look can make sense. At the third, most models change course when a message points it out. */
const TELL_AT = 3;
/** The model was warned and repeated the command twice more. */
const STOP_AT = 5;

/**
 * Detects a model that repeats the same command with the same arguments. Only requests count, not their results, so
 * that endless polling, a call that is denied each time, and doing nothing all day are found too. A reply with several
 * commands counts as one request; `isFurther`: the reply holds other calls before this one. An unreadable reply does
 * not interrupt a repetition; a person's words, new goals or a resume do, because they change the situation.
 */
export function countRequest(
  before: Repetition | null,
  { step, callId, call }: EventOf<"command-requested">,
  isFurther: boolean,
): Repetition {
  if (before && isFurther) return compare({ ...before, calls: [...before.calls, call] });
  const last = before && isSameCall(before.calls[0], call) ? before : null;
  const kept = last && { calls: last.calls, count: last.count, noticed: last.noticed };
  return compare({ step, callId, calls: [call], last: kept });
}

function compare(reply: Omit<Repetition, "count" | "noticed">): Repetition {
  const { calls, last } = reply;
  const isSame = last?.calls.length === calls.length && last.calls.every((call, at) => isSameCall(call, calls[at]));
  return isSame ? { ...reply, count: last.count + 1, noticed: last.noticed } : { ...reply, count: 1, noticed: false };
}

/** Warns once per repetition, after the result of the third request. */
export function repetitionWarningDue({ repetition }: Frame): NewEvent | undefined {
  if (!repetition || repetition.noticed || repetition.count < TELL_AT) return undefined;
  const { step, callId, count } = repetition;
  return { type: "repetition-noticed", step, callId, count };
}

/**
 * An agent with working sub-agents that asked twice to finish, or was warned that it repeats itself, waits for the next report,
 * which costs nothing.
 */
export const waitsForHelpers = (state: AgentState): boolean =>
  state.paused === null &&
  (state.refusals >= WAIT_AT || activeFrame(state).repetition?.noticed === true) &&
  workingHelpers(state).length > 0;

/** The model reads this text. */
export const repetitionWarning = ({ calls }: Repetition, count: number): string =>
  `You have asked for ${namesOf(calls)} with the same arguments ${count} times in a row. The same again will bring nothing new: ` +
  "look at what came back, then take another way, or end the work if there is nothing left to do. " +
  `At the ${STOP_AT}th time the command is not run, and you are paused.`;

/** Why this request does not run, of an agent with what a person can do; undefined when it may be judged. */
export function repetitionLimit({ kind, repetition }: Frame, callId: string): string | undefined {
  if (!repetition || repetition.callId !== callId || repetition.count < STOP_AT) return undefined;
  const why = `${namesOf(repetition.calls)} was asked for with the same arguments ${repetition.count} times in a row; the last one was not run.`;
  if (kind === "run") return why;
  return (
    `${why} Tell the agent what to do instead (goald say <agent> "…") or change its goals (goald goals <agent> --set "…"), ` +
    "then let it go on: goald resume <agent>"
  );
}

const namesOf = ([{ name }, ...others]: Repetition["calls"]): string =>
  others.length === 0 ? name : `${name} (and ${countNoun(others.length, "other command")} beside it)`;

const isSameCall = (one: CommandCall, other: CommandCall | undefined): boolean =>
  one.name === other?.name && isSameValue(one.args, other.args);

/** Ignores the order of names. Long texts are the same if their blobs are. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isBlobRef(one) && isBlobRef(other)) return one.blob === other.blob;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameValue(valueAt(one, name), valueAt(other, name)))
  );
}

const valueAt = (object: object, name: string): unknown => (object as Record<string, unknown>)[name];

export const MAX_REFUSALS = 3;
const WAIT_AT = 2;

/** Why the turn cannot end. The model reads the reason. */
export type Refusal = Required<Pick<EventOf<"command-denied">, "refusal" | "reason">>;

/**
 * The reason why an agent may not report its goals as reached now; undefined when it may. A refusal is a result that
 * the model reads. The first one leaves it free to do something else. After the second one an agent with working
 * sub-agents waits for their next report, which costs nothing. The third one pauses it. A report, a person's words, new
 * goals, checks that pass and a resume start the count again. Pure.
 */
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
  const plan = planOf(state);
  const unfinished = plan ? unfinishedTasks(plan) : [];
  const named = unfinished.map(({ id, task }) => `${id} ${JSON.stringify(oneLine(task.goal, 80))} (${task.state})`);
  return joinNames(named, MAX_NAMED);
}

/** Sub-agents that will report by themselves. Paused ones need somebody to continue them. */
const workingHelpers = ({ children }: AgentState): readonly (readonly [string, ChildAccount])[] =>
  Object.entries(children).filter(([, { isWorking, isPaused, isStopping }]) => isWorking && !isPaused && !isStopping);

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
export const MAX_FAILED_CHARS = 300;
