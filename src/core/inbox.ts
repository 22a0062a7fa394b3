/**
 * inbox.ts -- turns a message from outside into events.
 *
 * Only the lease holder appends to the log. Everybody else leaves a row in the inbox, and the owner consumes it with
 * its next commit. A row that no longer applies (an approval of a finished call, a pause of a finished agent) is
 * consumed without an event.
 *
 * Words and goals are work: a finished agent starts its next turn with them. A paused agent receives them and stays
 * paused.
 */
import { offersPlan } from "./agent-settings.ts";
import type { NewEvent } from "./event.ts";
import { startPlan } from "./evolve-turn.ts";
import { frameWorkingOn } from "./frames.ts";
import { applyFitting, type PlanEdit } from "./plan.ts";
import type { InboxMessage } from "./ports/store.ts";
import { type AgentState, callForPerson, isFinished, isHeld, openCommand } from "./state.ts";
import { nextTurn, receiveFromAgent } from "./subagent-messages.ts";

/** `at`: ISO time at which the message was sent. */
export function eventsForMessage(message: InboxMessage, state: AgentState, at = ""): readonly NewEvent[] {
  switch (message.type) {
    case "say":
      return receiveWords(message, state);
    case "approval":
      return receiveApproval(message, state, at);
    case "pause":
      return state.paused || isFinished(state)
        ? []
        : [{ type: "agent-paused", code: message.code ?? "person", reason: message.reason }];
    case "resume":
      return isHeld(state) ? [{ type: "agent-resumed" }] : [];
    case "settings":
      return [{ ...message, type: "settings-changed" }];
    case "goals":
      return [...nextTurn(state), { ...message, type: "goals-changed" }];
    case "plan":
      return receiveEdits(message.edits, state);
    case "trust":
      return [{ ...message, type: "words-trusted" }];
    case "answer":
      return receiveAnswer(message, state);
    case "task":
    case "halt":
    case "go-on":
    case "policy":
    case "end":
    case "report":
      return receiveFromAgent(message, state);
  }
}

/** Words answer the agent's open question, or else become a message. */
function receiveWords({ from, text }: Extract<InboxMessage, { type: "say" }>, state: AgentState): readonly NewEvent[] {
  const open = callForPerson(state);
  if (!open) return [...nextTurn(state), { type: "message-received", from, text }];
  const observation = { status: "ok", text, source: "person", artifacts: [] } as const;
  return [{ type: "command-finished", step: open.step, callId: open.callId, observation, durationMs: 0 }];
}

/** Edits that do not fit the plan as it then is have no effect. A finished agent has no plan, nor has one without its commands. */
function receiveEdits(edits: readonly PlanEdit[], state: AgentState): readonly NewEvent[] {
  if (isFinished(state) || !offersPlan(state.settings.commands)) return [];
  return applyFitting(startPlan(state), edits).made.map((edit) =>
    edit.kind === "add"
      ? { type: "task-added", parent: edit.parent, task: { goal: edit.goal }, by: "person" }
      : { type: "task-changed", id: edit.id, state: edit.state, by: "person" },
  );
}

/** True for messages that start a new turn of a finished agent. */
export const opensTurn = ({ type }: InboxMessage): boolean => type === "say" || type === "goals";

/** An answer counts for the call that it names, once, and only if it was sent before the question expired. */
function receiveApproval(
  message: Extract<InboxMessage, { type: "approval" }>,
  state: AgentState,
  at: string,
): readonly NewEvent[] {
  const { callId, verdict, count = 1, text = "" } = message;
  const open = openCommand(state, callId);
  const phase = frameWorkingOn(state, callId)?.phase;
  if (phase?.kind !== "awaiting-approval" || !open) return [];
  if (phase.until !== null && !(Date.parse(at) < Date.parse(phase.until))) return [];
  const { step } = open;
  if (verdict === "denied") return [{ type: "command-denied", step, callId, by: "person", reason: text }];
  const approved: NewEvent = { type: "command-approved", step, callId, by: "person" };
  return count > 1 ? [{ type: "approvals-granted", count: count - 1 }, approved] : [approved];
}

function receiveAnswer(message: Extract<InboxMessage, { type: "answer" }>, state: AgentState): readonly NewEvent[] {
  const { callId, observation } = message;
  const open = openCommand(state, callId);
  if (frameWorkingOn(state, callId)?.phase.kind !== "waiting" || !open) return [];
  return [{ type: "command-finished", step: open.step, callId, observation, durationMs: 0 }];
}
