/**
 * evolve-subagents.ts -- folds events between a parent and its sub-agents into the state. Pure.
 *
 * A working sub-agent's whole allowance counts as spent by the parent until the report of the last task gives the
 * real amount. Reports carry totals over the sub-agent's life, so that a lost or late report never counts twice.
 */
import type { EventOf } from "../event.ts";
import { withWords } from "../evolve-turn.ts";
import { type At, inEveryFrame, withMessageForAll } from "../fold.ts";
import { outsideOf, receive, sourcesOf } from "../provenance.ts";
import { type AgentState, NOTHING_SPENT } from "../state.ts";
import { oneLine } from "../text.ts";
import type { ChildAccount, Origin, Spending } from "./subagent-event.ts";

/** Maximum number of files named in a report. */
const MAX_MADE = 20;
const MAX_TASK_CHARS = 200;

export const startedFrom = (origin: Origin, state: AgentState, at: At): AgentState =>
  receive({ ...state, startedBy: origin, tasksReceived: 1, goalsOutside: origin.outside }, origin.outside, at);

export function withMade(state: AgentState, artifacts: readonly string[]): AgentState {
  if (!state.startedBy || artifacts.length === 0) return state;
  const others = state.made.filter((path) => !artifacts.includes(path));
  return { ...state, made: [...others, ...artifacts].slice(-MAX_MADE) };
}

export function agentStarted(state: AgentState, event: EventOf<"agent-started">): AgentState {
  const { agent, callId, task, child } = event;
  const { stepLimit = null, tokenLimit = null, budgetUsd = null, deadline = null } = child;
  return withChild(state, agent, {
    name: child.name,
    task: oneLine(task, MAX_TASK_CHARS),
    callId,
    tasksSent: 1,
    isWorking: true,
    isPaused: false,
    isStopping: false,
    limits: { stepLimit, tokenLimit, budgetUsd, deadline },
    spent: NOTHING_SPENT,
  });
}

export function agentTold(state: AgentState, { agent, callId, limits }: EventOf<"agent-told">): AgentState {
  const child = state.children[agent];
  if (!child) return state;
  return withChild(state, agent, {
    ...child,
    callId,
    tasksSent: child.tasksSent + 1,
    isWorking: true,
    isPaused: false,
    limits,
  });
}

/** A working sub-agent stays in the state until it reports its end. */
export function agentEnded(state: AgentState, { agent }: EventOf<"agent-ended">): AgentState {
  const child = state.children[agent];
  if (!child) return state;
  return child.isWorking ? withChild(state, agent, { ...child, isStopping: true }) : withoutChild(state, agent, child);
}

export function agentReported(state: AgentState, event: EventOf<"agent-reported"> & At): AgentState {
  const { observation, agent } = event;
  const child = state.children[agent];
  const refusals = event.status === "accounts" ? state.refusals : 0;
  const counted = { ...(child ? settle(state, child, event) : state), refusals };
  if (!observation) return inEveryFrame(counted, (frame) => ({ ...frame, repetition: null }));
  const { status, source, text } = observation;
  const told = receive(counted, sourcesOf(observation), event);
  const from = child ? `${child.name} (${agent})` : agent;
  return withMessageForAll(told, event, { step: state.step, kind: "report", from, status, source, text });
}

function settle(
  state: AgentState,
  child: ChildAccount,
  { agent, status, tasksReceived, spent }: EventOf<"agent-reported">,
): AgentState {
  const told = { ...child, spent };
  const isSettled = status === "finished" && tasksReceived >= child.tasksSent;
  if (status === "ended" || (isSettled && child.isStopping)) return withoutChild(state, agent, told);
  const isPaused = status === "paused" || (status === "accounts" && child.isPaused);
  return withChild(state, agent, { ...told, isPaused, isWorking: child.isWorking && !isSettled });
}

export function taskReceived(state: AgentState, event: EventOf<"task-received"> & At): AgentState {
  const { from, text, outside } = event;
  const received = receive({ ...state, refusals: 0, tasksReceived: state.tasksReceived + 1 }, outside, event);
  const task = { kind: "task", from, status: null, source: "agent", text, ...outsideOf(outside) } as const;
  return withWords(received, event, { ...task, step: state.step });
}

const withChild = (state: AgentState, id: string, child: ChildAccount): AgentState => ({
  ...state,
  children: { ...state.children, [id]: child },
});

function withoutChild(state: AgentState, id: string, { spent }: ChildAccount): AgentState {
  const { [id]: _gone, ...children } = state.children;
  return { ...state, children, endedSpent: sum(state.endedSpent, spent) };
}

const sum = (one: Spending, other: Spending): Spending => ({
  steps: one.steps + other.steps,
  tokens: one.tokens + other.tokens,
  usd: one.usd + other.usd,
});
