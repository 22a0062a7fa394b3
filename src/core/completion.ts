/**
 * completion.ts -- decides whether an agent may report its goals as reached. Pure.
 *
 * A refusal is a result that the model reads. The first one leaves it free to do something else. After the second one an
 * agent with working sub-agents waits for their next report, which costs nothing. The third one pauses it. A report, a
 * person's words, new goals and a resume start the count again.
 */
import type { EventOf } from "./event.ts";
import type { AgentState } from "./state.ts";
import type { ChildAccount } from "./subagents/subagent-event.ts";

export const MAX_REFUSALS = 3;
const WAIT_AT = 2;

export interface Refusal {
  /** The turn cannot end because of this. */
  readonly refusal: NonNullable<EventOf<"command-denied">["refusal"]>;
  /** The model reads this text. */
  readonly reason: string;
}

/** The reason why the turn may not end now; undefined when it may. */
export function refuseCompletion(state: AgentState): Refusal | undefined {
  const helpers = workingHelpers(state);
  if (helpers.length === 0) return undefined;
  const names = helpers.map(([key, { name }]) => `${name} (${key})`).join(", ");
  const reason =
    `Your work is not finished: ${names} still ${helpers.length === 1 ? "works" : "work"} for you. Each answer will come to you as a message. ` +
    "Do something else meanwhile, or end an agent that you do not need with delete_agent. " +
    "If nothing else is to be done, ask for task_complete again: you then wait for the next answer.";
  return { refusal: "helpers", reason };
}

/** Sub-agents that will report by themselves. Paused ones need somebody to continue them. */
export const workingHelpers = ({ children }: AgentState): readonly (readonly [string, ChildAccount])[] =>
  Object.entries(children).filter(([, { isWorking, isPaused, isEnding }]) => isWorking && !isPaused && !isEnding);

/** True for an agent that asked twice to finish, and has only reports to wait for. */
export const awaitsHelpers = (state: AgentState): boolean =>
  state.refusals >= WAIT_AT && workingHelpers(state).length > 0;

/** The reason of the pause, for people. */
export const notProven = (count: number): string =>
  `It asked to end its work ${count} times in a row, and its work was not finished. See what it was told: goald logs <agent>. ` +
  'Tell it what to do instead (goald say <agent> "…"), then let it go on: goald resume <agent>';
