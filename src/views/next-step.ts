/** next-step.ts -- why an agent is in its state, and what a person can do about it. Pure. */
import { callIdOfStep } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import type { PauseCode } from "#core/event.ts";
import { type AgentState, activeFrame, approvalOf, isFinished } from "#core/state.ts";
import { described, listOf, open, type Static, text } from "#util/schema.ts";
import { FAILING, RATE_LIMITED } from "./agent-view.ts";

export const NextStep = open({
  why: text,
  todo: described(listOf(open({ text, command: text })), "What a person can do, and the goald call that does it."),
});
export type NextStep = Static<typeof NextStep>;

/** `shown` comes from `shownStateOf`. */
export function nextStepOf(agent: string, state: AgentState, shown: string): NextStep {
  const { phase } = activeFrame(state);
  if (shown === FAILING)
    return {
      why: "It failed and is retried automatically.",
      todo: [{ text: "See what is wrong", command: "goald doctor" }],
    };
  if (phase.kind === "resting")
    return {
      why: "It reported that its goals are reached.",
      todo: [
        { text: "Give it more to do", command: `goald say ${agent} "…"` },
        { text: "Give it new goals", command: `goald goals ${agent} --set "…"` },
      ],
    };
  if (state.paused) return { why: PAUSES[state.paused.code].why, todo: todoOf(agent, state.paused.code) };
  if (shown === "interrupted")
    return {
      why: "It is not finished, and no process runs it.",
      todo: [{ text: "Continue it", command: `goald resume ${agent}` }],
    };
  if (!state.outage && phase.kind === "asking" && shown === RATE_LIMITED)
    return { why: "Its next request to the model waits, because the server wants fewer requests.", todo: [] };
  if (state.outage || phase.kind === "retrying")
    return {
      why: state.outage
        ? `The model has not answered since ${state.outage.since}. goald retries each minute; nothing is lost.`
        : "Its last request to the model failed, and goald repeats it.",
      todo: [
        { text: "Check the server", command: "goald doctor --online" },
        { text: "Retry now", command: `goald resume ${agent}` },
      ],
    };
  const approval = approvalOf(state);
  if (approval)
    return {
      why: "It waits for an approval before it runs a command.",
      todo: [
        { text: "See its step", command: `goald show ${agent} --step ${approval.step}` },
        { text: "Approve it", command: `goald approve ${agent} ${nameCall(approval)}` },
        { text: "Deny it, with feedback", command: `goald deny ${agent} ${nameCall(approval)} "…"` },
      ],
    };
  if (phase.kind === "waiting")
    return phase.waitFor === "person"
      ? { why: "It waits for an answer.", todo: [{ text: "Answer it", command: `goald say ${agent} "…"` }] }
      : { why: `It waits for ${phase.waitFor === "time" ? "a time" : "another agent"}.`, todo: [] };
  return { why: "It is working.", todo: [{ text: "Watch it", command: `goald attach ${agent}` }] };
}

/** The options of `goald approve` and `goald deny` that name this call. */
export const nameCall = ({ callId, step }: { readonly callId: string; readonly step: number }): string =>
  callId === callIdOfStep(step) ? `--step ${step}` : `--call ${callId}`;

/** The goald call that continues the agent. Spent limits must be raised in the call; `resume` raises a step limit by itself. */
export function goOnCall(agent: string, state: AgentState): string {
  const code = state.paused?.code;
  const isSpent = code === "token-limit" || code === "budget" || code === "time-limit";
  const [call] = isSpent ? todoOf(agent, code) : [];
  return call?.command ?? `goald resume ${agent}`;
}

interface PauseWords {
  readonly why: string;
  /** `*` is replaced by the agent's id. */
  readonly todo: readonly (readonly [text: string, command: string])[];
}

const GO_ON = ["Continue it", "goald resume *"] as const;
const TRY_MODEL = ["Continue, perhaps with another model", "goald resume * --model NAME"] as const;
const LOOK_AT_LOG = ["See what happened", "goald logs *"] as const;
const PAUSES: Readonly<Record<PauseCode, PauseWords>> = {
  person: { why: "A person paused it.", todo: [GO_ON] },
  stopped: { why: "A person stopped it after it finished its step.", todo: [GO_ON] },
  killed: { why: "A person killed it; the step under way was cut off.", todo: [GO_ON] },
  parent: { why: "The agent that started it was stopped. It continues when that agent continues.", todo: [GO_ON] },
  ended: { why: "The agent that started it ended it.", todo: [GO_ON] },
  "step-limit": {
    why: "It reached its step limit.",
    todo: [["Continue with a higher limit", "goald resume * --max-steps 100"]],
  },
  "token-limit": {
    why: "It reached its token limit.",
    todo: [["Continue with a higher limit", "goald resume * --max-tokens 1000000"]],
  },
  budget: {
    why: "It reached its budget, or the next step could exceed it.",
    todo: [["Continue with a higher budget", "goald resume * --budget 5"]],
  },
  "time-limit": { why: "It reached its time limit.", todo: [["Continue for longer", "goald resume * --max-time 8h"]] },
  loop: {
    why: "It requested the same command with the same arguments too many times in a row.",
    todo: [["Tell it what to do instead", 'goald say * "…"'], GO_ON],
  },
  "bad-replies": { why: "The model's replies could not be read as one command.", todo: [LOOK_AT_LOG, TRY_MODEL] },
  "failing-cells": {
    why: "Its code failed several times in a row.",
    todo: [LOOK_AT_LOG, ["Tell it what to do instead", 'goald say * "…"'], GO_ON],
  },
  "key-refused": {
    why: "The model server refused the key, or its account has no credit left.",
    todo: [["Check the key and the server", "goald doctor --online"], GO_ON],
  },
  "model-refused": {
    why: "The model server refused the request.",
    todo: [["Check the key, the server and the model", "goald doctor --online"], TRY_MODEL],
  },
  "model-unreachable": {
    why: "The model did not answer, several times in a row.",
    todo: [["Check the server", "goald doctor --online"], GO_ON],
  },
  "prompt-too-long": {
    why: "The prompt does not fit into the model's context.",
    todo: [
      ["Shorten its goals", 'goald goals * --set "…"'],
      ["Or continue with a model that has a larger context", "goald resume * --model NAME"],
    ],
  },
  damaged: {
    why: "A text in the store was changed.",
    todo: [["List all damage, then restore a backup", "goald verify *"]],
  },
  "not-proven": {
    why: "It reported its work several times as finished, which it was not.",
    todo: [LOOK_AT_LOG, ["Tell it what to do", 'goald say * "…"'], GO_ON],
  },
  "cap-ignored": {
    why: "The model server sent or reported more than the maximum of a reply, so that limits could be exceeded.",
    todo: [["Continue with another model", "goald resume * --model NAME"], GO_ON],
  },
  "crash-loop": {
    why: "Several processes in a row crashed while they ran it.",
    todo: [LOOK_AT_LOG, ["Check the stored log", "goald verify *"], GO_ON],
  },
};

const todoOf = (agent: string, code: PauseCode): NextStep["todo"] =>
  PAUSES[code].todo.map(([text, command]) => ({ text, command: command.replaceAll("*", agent) }));

/** Throws GOALD_CONFLICT, with what to do instead. */
export function requireFinished(agent: string, state: AgentState): void {
  if (isFinished(state)) return;
  const goals = `Change its goals: goald goals ${agent} --set "…", or tell it something: goald say ${agent} "…"`;
  throw new GoaldError(
    "GOALD_CONFLICT",
    `${agent} has not finished turn ${state.turn}, so its next turn cannot begin.`,
    { hint: state.paused ? `It is paused. Continue turn ${state.turn}: ${goOnCall(agent, state)}\n${goals}` : goals },
  );
}
