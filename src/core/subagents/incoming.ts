/**
 * inbox-family.ts -- what a message between an agent and those that it started means to the one that hears it, as events.
 *
 * Such a message is never a person's: it opens turns and moves limits only as far as the one that started the agent may.
 * What a person has stopped, and what waits for one, it does not set going.
 */

import type { ApprovalMode } from "../agent-settings.ts";
import type { NewEvent, PauseCode } from "../event.ts";
import { type AgentState, activeFrame, isFinished, openCommand } from "../state.ts";
import type { SubagentMessage } from "./subagent-event.ts";

/** More room, or other words, help. */
const HELPED: ReadonlySet<PauseCode> = new Set([
  "step-limit",
  "token-limit",
  "budget",
  "time-limit",
  "loop",
  "bad-replies",
]);

const WIDTH: Readonly<Record<ApprovalMode, number>> = { always: 0, risky: 1, never: 2 };

/** Whether a task sets it going, where it stands. */
export const isHelpedByTask = ({ paused }: Pick<AgentState, "paused">): boolean =>
  paused === null || HELPED.has(paused.code);

export function receiveFromAgent(message: SubagentMessage, state: AgentState): readonly NewEvent[] {
  switch (message.type) {
    case "task": {
      const { from, text, tainted, reach } = message;
      const resumed: readonly NewEvent[] = state.paused && isHelpedByTask(state) ? [{ type: "agent-resumed" }] : [];
      const { stepLimit, tokenLimit, budgetUsd, deadline } = reach;
      const settings: NewEvent = { type: "settings-changed", stepLimit, tokenLimit, budgetUsd, deadline };
      return [settings, ...resumed, ...nextTurn(state), { type: "task-received", from, text, tainted }];
    }
    case "halt":
      return state.paused || isFinished(state)
        ? []
        : [{ type: "agent-paused", code: "parent", reason: message.reason }];
    case "go-on":
      return state.paused?.code === "parent" ? [{ type: "agent-resumed" }] : [];
    case "policy":
      return WIDTH[message.approve] < WIDTH[state.settings.approve]
        ? [{ type: "settings-changed", approve: message.approve }]
        : [];
    case "end":
      return ended(message.reason, state);
    case "report":
      return receiveReport(message, state);
  }
}

export const nextTurn = (state: AgentState): readonly NewEvent[] =>
  isFinished(state) ? [{ type: "turn-started", turn: state.turn + 1 }] : [];

/** With all that it has started itself. */
function ended(reason: string, state: AgentState): readonly NewEvent[] {
  const others = Object.keys(state.children).map(
    (agent): NewEvent => ({ type: "agent-ended", agent, reason: "What started it was ended." }),
  );
  return isFinished(state) ? others : [...others, { type: "agent-paused", code: "ended", reason }];
}

/** An answer to the call that waits for it ends that call; any other comes as a message. */
function receiveReport(
  { type: _type, observation, ...told }: Extract<SubagentMessage, { type: "report" }>,
  state: AgentState,
): readonly NewEvent[] {
  const child = state.children[told.agent];
  if (!child) return [];
  const { phase } = activeFrame(state);
  const reported: NewEvent = { type: "agent-reported", ...told };
  if (!observation || child.isEnding) return [reported];
  const open =
    phase.kind === "waiting" && phase.callId === child.callId && told.heard >= child.told
      ? openCommand(state, phase.callId)
      : undefined;
  if (!open) return [{ ...reported, observation }];
  const text = `${child.name} (key ${told.agent})${observation.status === "ok" ? " answers" : ""}:\n`;
  const said = typeof observation.text === "string" ? { ...observation, text: text + observation.text } : observation;
  return [
    reported,
    { type: "command-finished", step: open.step, callId: child.callId, observation: said, durationMs: 0 },
  ];
}
