/** subagent-messages.ts -- messages between an agent and its sub-agents, and what the state keeps of them. Pure. */
import type { ApprovalMode } from "./agent-settings.ts";
import type { Observation } from "./call.ts";
import type { EventOf, NewEvent, PauseCode, RecordedEvent } from "./event.ts";
import { withWords } from "./evolve-turn.ts";
import { type At, frameWorkingOn, inEveryFrame, isNestedCall, withMessageForAll } from "./frames.ts";
import { spentOf, widerLimits } from "./limits.ts";
import type { InboxMessage, StagedWrite } from "./ports/store.ts";
import { addReceived, addSources, type OutsideSource, outsideOf, plainSources, sourcesOf } from "./provenance.ts";
import { type AgentState, isFinished, isOver, NOTHING_SPENT, openCommand } from "./state.ts";
import { type ChildAccount, type Origin, pathInParent, type ReportStatus, type SubagentMessage } from "./subagent.ts";
import { oneLine } from "./text.ts";

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

/**
 * Turns a message from the parent or a sub-agent into events. Such a message never counts as a person's: it starts
 * turns and changes limits only within the parent's rights. It does not start an agent that a person has stopped or
 * that waits for a person. Pure.
 */
export function receiveFromAgent(message: SubagentMessage, state: AgentState): readonly NewEvent[] {
  switch (message.type) {
    case "task": {
      const { type: _type, limits, ...task } = message;
      const resumed: readonly NewEvent[] = state.paused && isHelpedByTask(state) ? [{ type: "agent-resumed" }] : [];
      // A person may have allowed an agent at work more than its parent knows.
      const allowed = widerLimits(limits, isFinished(state) ? limits : state.settings);
      const settings: NewEvent = { type: "settings-changed", ...allowed };
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
  { type: _type, observation, ...given }: Extract<SubagentMessage, { type: "report" }>,
  state: AgentState,
): readonly NewEvent[] {
  const child = state.children[given.agent];
  if (!child) return [];
  const reported: NewEvent = { type: "agent-reported", ...given };
  if (!observation || child.isStopping) return [reported];
  const open =
    frameWorkingOn(state, child.callId)?.phase.kind === "waiting" && given.tasksReceived >= child.tasksSent
      ? openCommand(state, child.callId)
      : undefined;
  if (!open) return [{ ...reported, observation }];
  const text = `${child.name} (key ${given.agent})${observation.status === "ok" ? " answers" : ""}:\n`;
  const value = isNestedCall(child.callId) ? { value: { key: given.agent, answer: observation.text } } : {};
  const said =
    typeof observation.text === "string" ? { ...observation, text: text + observation.text, ...value } : observation;
  return [
    reported,
    { type: "command-finished", step: open.step, callId: child.callId, observation: said, durationMs: 0 },
  ];
}

/** Pauses by a person stop working sub-agents too. At a limit they continue with their reserved allowance. */
const HALTS: ReadonlySet<PauseCode> = new Set(["person", "stopped", "killed", "parent"]);

/**
 * Messages to sub-agents and to the parent, derived from the agent's own events. The journal stages these writes in the
 * commit of the event. Nothing else writes to another agent, so that each sub-agent is started once and each message is
 * delivered once, wherever a crash falls. `self`: the agent's id; `after`: its state after the event. Pure.
 */
export function stageMessages(event: RecordedEvent, after: AgentState, self: string): readonly StagedWrite[] {
  switch (event.type) {
    case "agent-started": {
      const { seq, agent, child, outside = [] } = event;
      const depth = (after.startedBy?.depth ?? 0) + 1;
      const startedBy = { agent: self, depth, outside: sourcesOfWords(after, outside) };
      return [{ kind: "spawn", key: `agent/${seq}`, spec: { ...child, id: agent, startedBy } }];
    }
    case "agent-told": {
      const { agent, text, limits, seq } = event;
      const outside = sourcesOfWords(after, event.outside ?? []);
      return [send(agent, `task/${seq}`, { type: "task", from: after.name, text, limits, outside })];
    }
    case "agent-ended":
      return [send(event.agent, `end/${event.seq}`, { type: "end", reason: event.reason })];
    case "settings-changed": {
      const { approve, commands, seq } = event;
      const policy = { ...(approve ? { approve } : {}), ...(commands ? { commands } : {}) };
      if (Object.keys(policy).length === 0) return [];
      return Object.keys(after.children).map((id) => send(id, `policy/${seq}`, { type: "policy", ...policy }));
    }
    case "agent-paused": {
      const reason = `${self}, which started it, was stopped.`;
      const halts = HALTS.has(event.code) ? toWorking(after, `halt/${event.seq}`, { type: "halt", reason }) : [];
      return [...halts, ...pauseReport(event, after, self)];
    }
    case "agent-resumed":
      return toWorking(after, `go-on/${event.seq}`, { type: "go-on" });
    case "turn-finished":
      return report(after, self, event.seq, "finished", answerOf(after, self, event.reason));
    case "agent-reported":
      if (after.paused?.code === "ended") return endReport(after, self, event.seq);
      return isOver(after) ? report(after, self, event.seq, "accounts", null) : [];
    default:
      return [];
  }
}

const sourcesOfWords = ({ received }: AgentState, ofCall: readonly OutsideSource[]): readonly OutsideSource[] =>
  addSources(plainSources(received), plainSources(ofCall));

const send = (to: string, key: string, message: InboxMessage): StagedWrite => ({ kind: "send", to, key, message });

const toWorking = ({ children }: AgentState, key: string, message: InboxMessage): readonly StagedWrite[] =>
  Object.entries(children).flatMap(([id, { isWorking }]) => (isWorking ? [send(id, key, message)] : []));

function pauseReport(
  { code, reason, seq }: EventOf<"agent-paused"> & { readonly seq: number },
  after: AgentState,
  self: string,
): readonly StagedWrite[] {
  // The parent caused this pause and needs no report.
  if (code === "parent") return [];
  if (code === "ended") return endReport(after, self, seq);
  const answer = answerOf(after, self, `It is paused and has not finished: ${reason}`);
  return report(after, self, seq, "paused", { ...answer, status: "failed", code: "agent-paused" });
}

/** Reports the end once all sub-agents have ended, so that the total spending is known. */
function endReport(after: AgentState, self: string, seq: number): readonly StagedWrite[] {
  const isLast = Object.values(after.children).every(({ isWorking }) => !isWorking);
  return isLast ? report(after, self, seq, "ended", null) : [];
}

function report(
  after: AgentState,
  self: string,
  seq: number,
  status: ReportStatus,
  observation: Observation | null,
): readonly StagedWrite[] {
  const { startedBy, tasksReceived } = after;
  if (!startedBy?.agent) return [];
  const message = { type: "report", agent: self, status, tasksReceived, spent: spentOf(after), observation } as const;
  return [send(startedBy.agent, `report/${seq}`, message)];
}

/**
 * Returns what the parent reads. The words are those of this agent, and perhaps of all that it received. The paths are
 * relative to the parent's folder, which contains this agent's folder.
 */
function answerOf({ made, received }: AgentState, self: string, text: string): Observation {
  const artifacts = made.map((path) => pathInParent(self, path));
  const files = artifacts.length === 0 ? "" : `\nIts files: ${artifacts.join(", ")}`;
  const outside = addSources([{ from: "agent", name: self }], plainSources(received));
  return { status: "ok", text: `${text}${files}`, source: "agent", outside, artifacts };
}

/** Maximum number of files named in a report. */
const MAX_MADE = 20;
const MAX_TASK_CHARS = 200;

export const startedFrom = (origin: Origin, state: AgentState, at: At): AgentState =>
  addReceived({ ...state, startedBy: origin, tasksReceived: 1, goalsOutside: origin.outside }, origin.outside, at);

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

/**
 * Folds a sub-agent's report into the state of its parent. A working sub-agent's whole allowance counts as spent by the
 * parent until the report of the last task gives the real amount. Reports carry totals over the sub-agent's life, so
 * that a lost or late report never counts twice. Pure.
 */
export function agentReported(state: AgentState, event: EventOf<"agent-reported"> & At): AgentState {
  const { observation, agent } = event;
  const child = state.children[agent];
  const refusals = event.status === "accounts" ? state.refusals : 0;
  const counted = { ...(child ? countReport(state, child, event) : state), refusals };
  if (!observation) return inEveryFrame(counted, (frame) => ({ ...frame, repetition: null }));
  const { status, source, text } = observation;
  const tainted = addReceived(counted, sourcesOf(observation), event);
  const from = child ? `${child.name} (${agent})` : agent;
  return withMessageForAll(tainted, event, { step: state.step, kind: "report", from, status, source, text });
}

function countReport(
  state: AgentState,
  child: ChildAccount,
  { agent, status, tasksReceived, spent }: EventOf<"agent-reported">,
): AgentState {
  const account = { ...child, spent };
  const isSettled = status === "finished" && tasksReceived >= child.tasksSent;
  if (status === "ended" || (isSettled && child.isStopping)) return withoutChild(state, agent, account);
  // A pause before the newest task says nothing: the task may have ended it.
  const isPaused = status === "paused" ? tasksReceived >= child.tasksSent : status === "accounts" && child.isPaused;
  return withChild(state, agent, { ...account, isPaused, isWorking: child.isWorking && !isSettled });
}

export function taskReceived(state: AgentState, event: EventOf<"task-received"> & At): AgentState {
  const { from, text, outside } = event;
  const received = addReceived({ ...state, refusals: 0, tasksReceived: state.tasksReceived + 1 }, outside, event);
  const task = { kind: "task", from, status: null, source: "agent", text, ...outsideOf(outside) } as const;
  return withWords(received, event, { ...task, step: state.step });
}

const withChild = (state: AgentState, id: string, child: ChildAccount): AgentState => ({
  ...state,
  children: { ...state.children, [id]: child },
});

function withoutChild(state: AgentState, id: string, { spent }: ChildAccount): AgentState {
  const { [id]: _gone, ...children } = state.children;
  const { steps, tokens, usd } = state.endedSpent;
  const endedSpent = { steps: steps + spent.steps, tokens: tokens + spent.tokens, usd: usd + spent.usd };
  return { ...state, children, endedSpent };
}
