/**
 * incoming.ts -- turns a message from the parent or a sub-agent into events. Pure.
 *
 * Such a message never counts as a person's: it starts turns and changes limits only within the parent's rights.
 * It does not start an agent that a person has stopped or that waits for a person.
 */

import type { ApprovalMode } from "../agent-settings.ts";
import type { NewEvent } from "../event.ts";
import { frameAt, isNestedCall } from "../frames.ts";
import type { PauseCode } from "../pause-code.ts";
import { type AgentState, isFinished, openCommand } from "../state.ts";
import type { SubagentMessage } from "./subagent-event.ts";

/** Pauses that a new task with a new allowance can end. */
const HELPED: ReadonlySet<PauseCode> = new Set([
  "step-limit",
  "token-limit",
  "budget",
  "time-limit",
  "loop",
  "bad-replies",
  "not-proven",
]);

const WIDTH: Readonly<Record<ApprovalMode, number>> = { always: 0, risky: 1, never: 2 };

/** True when a task makes the agent continue. */
export const isHelpedByTask = ({ paused }: Pick<AgentState, "paused">): boolean =>
  paused === null || HELPED.has(paused.code);

export function receiveFromAgent(message: SubagentMessage, state: AgentState): readonly NewEvent[] {
  switch (message.type) {
    case "task": {
      const { type: _type, limits, ...task } = message;
      const resumed: readonly NewEvent[] = state.paused && isHelpedByTask(state) ? [{ type: "agent-resumed" }] : [];
      const { stepLimit, tokenLimit, budgetUsd, deadline } = limits;
      const settings: NewEvent = { type: "settings-changed", stepLimit, tokenLimit, budgetUsd, deadline };
      return [settings, ...resumed, ...nextTurn(state), { type: "task-received", ...task }];
    }
    case "halt":
      return state.paused || isFinished(state)
        ? []
        : [{ type: "agent-paused", code: "parent", reason: message.reason }];
    case "go-on":
      return state.paused?.code === "parent" ? [{ type: "agent-resumed" }] : [];
    case "policy":
      return narrowed(message, state);
    case "end":
      return ended(message.reason, state);
    case "report":
      return receiveReport(message, state);
  }
}

/** A sub-agent takes no laxer approval mode than its own, and the parent's profile of commands. */
function narrowed(
  { approve, commands }: Extract<SubagentMessage, { type: "policy" }>,
  { settings }: AgentState,
): readonly NewEvent[] {
  const mode = approve && WIDTH[approve] < WIDTH[settings.approve] ? { approve } : {};
  const profile = commands === undefined || commands === settings.commands ? {} : { commands };
  const changes = { ...mode, ...profile };
  return Object.keys(changes).length === 0 ? [] : [{ type: "settings-changed", ...changes }];
}

export const nextTurn = (state: AgentState): readonly NewEvent[] =>
  isFinished(state) ? [{ type: "turn-started", turn: state.turn + 1 }] : [];

/** Ends the agent with all its sub-agents. */
function ended(reason: string, state: AgentState): readonly NewEvent[] {
  const others = Object.keys(state.children).map(
    (agent): NewEvent => ({ type: "agent-ended", agent, reason: "What started it was ended." }),
  );
  return isFinished(state) ? others : [...others, { type: "agent-paused", code: "ended", reason }];
}

/** A report ends the call that waits for it; otherwise it becomes a message. */
function receiveReport(
  { type: _type, observation, ...told }: Extract<SubagentMessage, { type: "report" }>,
  state: AgentState,
): readonly NewEvent[] {
  const child = state.children[told.agent];
  if (!child) return [];
  const reported: NewEvent = { type: "agent-reported", ...told };
  if (!observation || child.isStopping) return [reported];
  const open =
    frameAt(state, child.callId)?.phase.kind === "waiting" && told.tasksReceived >= child.tasksSent
      ? openCommand(state, child.callId)
      : undefined;
  if (!open) return [{ ...reported, observation }];
  const text = `${child.name} (key ${told.agent})${observation.status === "ok" ? " answers" : ""}:\n`;
  const value = isNestedCall(child.callId) ? { value: { key: told.agent, answer: observation.text } } : {};
  const said =
    typeof observation.text === "string" ? { ...observation, text: text + observation.text, ...value } : observation;
  return [
    reported,
    { type: "command-finished", step: open.step, callId: child.callId, observation: said, durationMs: 0 },
  ];
}
