/** waits.ts -- how long an agent waits, and what a call that waited in vain returns. Pure. */
import type { Observation, WaitFor } from "./call.ts";
import type { Phase } from "./frame.ts";
import { isNestedCall } from "./frames.ts";
import { deadlinePassed, earlier } from "./limits.ts";
import { lostCall, type Move, pause, record } from "./move.ts";
import { type AgentState, openCommand } from "./state.ts";

export function waitOrGiveUp(state: AgentState, phase: Extract<Phase, { kind: "waiting" }>, now: Date): Move {
  const { callId, waitFor, until } = phase;
  const open = openCommand(state, callId);
  if (!open) return lostCall(callId);
  if (until === null || isBefore(now, until)) return wait(state, waitFor, until, now);
  const observation = { ...endOfWait(state, callId, waitFor, until), source: "goald", artifacts: [] } as const;
  return record({ type: "command-finished", step: open.step, callId, observation, durationMs: 0 });
}

function endOfWait(
  state: AgentState,
  callId: string,
  waitFor: WaitFor,
  until: string,
): Pick<Observation, "status" | "text" | "value"> {
  if (waitFor === "time") return { status: "ok", text: `Waited until ${until}.` };
  const [key, child] = Object.entries(state.children).find(([, each]) => each.callId === callId) ?? [];
  if (waitFor !== "agent" || !child) return { status: "failed", text: `No answer came by ${until}.` };
  const text =
    `${child.name} (key ${key}) is working. Its answer will come to you as a message, as soon as there is one. ` +
    "Go on with something else meanwhile.";
  return { status: "ok", text, ...(isNestedCall(callId) ? { value: { key, answer: null } } : {}) };
}

/** Waits no longer than the agent's deadline. */
export function wait(state: AgentState, waitFor: WaitFor, until: string | null, now: Date): Move {
  const late = deadlinePassed(state, now);
  if (late) return pause(late.code, late.reason);
  return { kind: "wait", waitFor, until: earlier(until, state.settings.deadline) };
}

/** Compares times, not strings: `until` may come from a command. */
export const isBefore = (now: Date, time: string): boolean => now.getTime() < Date.parse(time);
