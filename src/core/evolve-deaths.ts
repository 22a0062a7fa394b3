/**
 * evolve-deaths.ts -- folds what is known about the end of a process during a command. Pure.
 *
 * Several agents have commands under way when a process dies, and nobody can tell which command did it. So a first death
 * makes each of them a suspect, and the host then runs the commands of suspects one at a time (`call-isolated`). Only a death
 * during such a time counts further. An orderly end of a process (`call-cut-off`) is not a death.
 */
import type { EventOf } from "./event.ts";
import { type At, putCall } from "./fold.ts";
import type { OpenCall } from "./open-call.ts";
import { type AgentState, INTERRUPTED, openCommand } from "./state.ts";

export function callInterrupted(state: AgentState, { callId, epoch }: EventOf<"call-interrupted">): AgentState {
  // One death interrupts the calls of all frames.
  const counted = epoch === state.deathSeenAt ? state : countDeath(state, epoch);
  const open = openCommand(counted, callId);
  if (!open?.intent) return counted;
  const seen: OpenCall = { ...open, intent: { ...open.intent, seenInterruptedAt: epoch } };
  return putCall(counted, seen);
}

const countDeath = (state: AgentState, epoch: number): AgentState => ({
  ...state,
  deaths: state.isolated ? state.deaths + 1 : Math.max(1, state.deaths),
  interruptions: state.interruptions + 1,
  deathSeenAt: epoch,
  isolated: null,
});

export const callIsolated = (state: AgentState, { callId, epoch }: EventOf<"call-isolated">): AgentState => ({
  ...state,
  isolated: { callId, epoch },
});

export const callCleared = (state: AgentState): AgentState => ({ ...state, isolated: null });

export const callCutOff = (state: AgentState, { epoch }: EventOf<"call-cut-off">): AgentState => ({
  ...state,
  cutOffAt: epoch,
  isolated: null,
});

/**
 * The agent is paused at this count of `deaths`, because a command that kills the process stops all other agents with it.
 * One death may be an accident, two may be the machine.
 */
export const MAX_DEATHS = 3;
/** Times that results of nested work set the count back, for one command of the agent: it survives at most six deaths. */
const MAX_RESETS = 2;

/**
 * The call is over. Its end acquits the agent when goald saw it: an end written by recovery does not show that the process
 * survives this call. That of a nested call shows only that the command below goes on: it resets a count that is nearly full.
 */
export function afterEnd(state: AgentState, event: EventOf<"command-finished"> & At): AgentState {
  const { callId, frame, observation, reconciled } = event;
  const isSeen = observation.code !== INTERRUPTED && reconciled !== true;
  if (isSeen && frame === 0) return { ...state, ...NO_DEATHS };
  const isReset = isSeen && state.deaths === MAX_DEATHS - 1 && state.deathResets < MAX_RESETS;
  const counted = isReset ? { ...state, deaths: 0, deathResets: state.deathResets + 1 } : state;
  return state.isolated?.callId === callId ? { ...counted, isolated: null } : counted;
}

export const NO_DEATHS = { deaths: 0, deathResets: 0, interruptions: 0, isolated: null } as const;
