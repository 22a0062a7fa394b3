/**
 * next-step.ts -- why an agent stands where it stands, and what a person can do about it. Pure.
 */
import type { PauseCode } from "#core/event.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { FAILING } from "./agent-view.ts";

export interface NextStep {
  /** In words, for somebody who has been away. */
  readonly why: string;
  /** Each something to do, and the call of goald that does it; empty when it is not one. */
  readonly todo: readonly { readonly text: string; readonly command: string }[];
}

/** `standing`: from `standingOf`, which knows whether a host runs it. */
export function nextStepOf(agent: string, state: AgentState, standing: string): NextStep {
  const { phase } = activeFrame(state);
  if (standing === FAILING)
    return {
      why: "It failed, and is tried again by itself.",
      todo: [{ text: "See what is wrong", command: "goald doctor" }],
    };
  if (phase.kind === "resting")
    return {
      why: "It said that its goals are reached.",
      todo: [
        { text: "Give it more to do, in words", command: `goald say ${agent} "…"` },
        { text: "Give it new goals", command: `goald goals ${agent} --set "…"` },
      ],
    };
  if (state.paused) return { why: PAUSES[state.paused.code].why, todo: PAUSES[state.paused.code].todo.map(of(agent)) };
  if (state.outage)
    return {
      why: `The model has not answered since ${state.outage.since}. It is tried each minute, and nothing is lost meanwhile.`,
      todo: [
        { text: "Check the server", command: "goald doctor" },
        { text: "Try it now", command: `goald resume ${agent}` },
      ],
    };
  if (phase.kind === "awaiting-approval")
    return {
      why: "It waits for a yes before it runs a command.",
      todo: [
        { text: "Look at the command", command: `goald show ${agent} --step ${state.step}` },
        { text: "Say yes", command: `goald approve ${agent}` },
        { text: "Say no, and what to do instead", command: `goald deny ${agent} "…"` },
      ],
    };
  if (phase.kind === "waiting")
    return phase.waitFor === "person"
      ? { why: "It waits for an answer.", todo: [{ text: "Answer it", command: `goald say ${agent} "…"` }] }
      : { why: `It waits for ${phase.waitFor === "time" ? "a time" : "another agent"}.`, todo: [] };
  if (standing === "interrupted")
    return {
      why: "It is not finished, and nothing runs it: the program that did has ended.",
      todo: [{ text: "Go on where it stood", command: `goald resume ${agent}` }],
    };
  return { why: "It is at work.", todo: [{ text: "Watch it", command: `goald attach ${agent}` }] };
}

/**
 * The one call that goes on with it. Without more to spend, money, tokens and time would end it at once; a step limit
 * that is reached is raised by `resume` itself.
 */
export function goOnCall(agent: string, state: AgentState): string {
  const code = state.paused?.code;
  const isSpent = code === "token-limit" || code === "budget" || code === "time-limit";
  const [call] = isSpent ? PAUSES[code].todo.map(of(agent)) : [];
  return call?.command ?? `goald resume ${agent}`;
}

interface PauseWords {
  readonly why: string;
  /** `*` stands for the agent. */
  readonly todo: readonly (readonly [text: string, command: string])[];
}

const GO_ON = ["Go on", "goald resume *"] as const;
const LOOK_AT_LOG = ["See what happened", "goald logs *"] as const;
const PAUSES: Readonly<Record<PauseCode, PauseWords>> = {
  person: { why: "A person paused it.", todo: [GO_ON] },
  stopped: { why: "A person stopped it, after its step was finished.", todo: [GO_ON] },
  killed: { why: "A person ended it at once; the step under way was cut off.", todo: [GO_ON] },
  parent: { why: "The agent that started it was stopped, and it stands until that one goes on.", todo: [GO_ON] },
  ended: { why: "The agent that started it has ended it. It answers to nobody any more.", todo: [GO_ON] },
  "step-limit": {
    why: "It has taken as many steps as it may.",
    todo: [["Go on with a higher limit", "goald resume * --max-steps 100"]],
  },
  "token-limit": {
    why: "It has used as many tokens as it may.",
    todo: [["Go on with a higher limit", "goald resume * --max-tokens 1000000"]],
  },
  budget: {
    why: "It has spent what it may, or the next step could cost more than is left.",
    todo: [["Go on with a higher budget", "goald resume * --budget 5"]],
  },
  "time-limit": { why: "Its time is over.", todo: [["Go on for longer", "goald resume * --max-time 2h"]] },
  loop: {
    why: "It asked for the same command with the same arguments again and again.",
    todo: [["Tell it what to do instead", 'goald say * "…"'], GO_ON],
  },
  "bad-replies": {
    why: "The model's replies could not be read as one command.",
    todo: [LOOK_AT_LOG, ["Go on, perhaps with another model", "goald resume * --model NAME"]],
  },
  "key-refused": {
    why: "The model server refused the key, or nothing is left to spend on it.",
    todo: [["Check key and server", "goald doctor"], GO_ON],
  },
  "model-refused": {
    why: "The model server refused the request.",
    todo: [["Check key, server and model", "goald doctor"], GO_ON],
  },
  "model-unreachable": {
    why: "The model did not answer, several times in a row.",
    todo: [["Check the server", "goald doctor"], GO_ON],
  },
  "prompt-too-long": {
    why: "What the model must be told does not fit into its context.",
    todo: [
      ["Shorten its goals", 'goald goals * --set "…"'],
      ["Or go on with a model that takes more", "goald resume * --model NAME"],
    ],
  },
  "crash-loop": {
    why: "Processes that ran it ended abnormally, again and again.",
    todo: [LOOK_AT_LOG, ["Check what is stored", "goald verify *"], GO_ON],
  },
};

const of =
  (agent: string) =>
  ([text, command]: readonly [string, string]): NextStep["todo"][number] => ({
    text,
    command: command.replaceAll("*", agent),
  });
