/**
 * state.ts -- the state of an agent: a left fold over its events (evolve.ts). Its size does not grow with the agent's
 * age: nine messages (plus a configured batch), the open calls, a few counters.
 */
import type { AgentSettings, ReplyForm } from "./agent-settings.ts";
import type { CommandCall, Observation, OpenCall, WaitFor } from "./call.ts";
import type { Fallback, OfCall, OutputMode, PauseCode, TurnMemory, Usage } from "./event.ts";
import type { NamespaceRef } from "./evolve-step.ts";
import type { CheckResult, GoalCheck } from "./goal-check.ts";
import type { PlanTask } from "./plan.ts";
import type { OutsideSource, Received } from "./provenance.ts";
import type { ChildAccount, Origin, Spending } from "./subagent.ts";
import type { Text } from "./text.ts";

/** One message of short-term memory. */
export interface Message {
  /** Number of the event that it came from. */
  readonly seq: number;
  readonly step: number;
  readonly kind: "reply" | "result" | "problem" | "feedback" | "task" | "report";
  /** The speaker: a command's name, a person, an agent. Empty for a reply. */
  readonly from: string;
  readonly status: Observation["status"] | null;
  readonly source: Observation["source"];
  /** Sources of the outside words in the text. Absent: none, or only `source` is known. */
  readonly outside?: readonly OutsideSource[];
  readonly text: Text;
  /** A reply that is not JSON with a command: the form in which the model wrote it. */
  readonly form?: ActionForm | "plan";
  /** A result: what the command did beside returning it. Absent: nothing that the plan's hint is about. */
  readonly did?: Deed;
  /** A problem: the reasoning tokens of a reply that was cut off before an answer began. Absent: another problem. */
  readonly reasoningTokens?: number;
}

/** Set when the call changed files, recorded a thought or changed the plan; the newest of several. */
export type Deed = "files" | "think" | "plan";

/** The forms in which a reply is text with a piece of code. */
export type ActionForm = Extract<ReplyForm, "react" | "code">;

/** What a frame is doing between two moves. */
export type Phase =
  | { readonly kind: "thinking" }
  | { readonly kind: "asking"; readonly callId: string }
  /** `since`: the time of the failure. An earlier time now means that the clock was set back, and ends the wait. */
  | {
      readonly kind: "retrying";
      readonly callId: string;
      readonly since: string;
      readonly at: string;
      readonly why: string;
    }
  | {
      readonly kind: "reading";
      readonly callId: string;
      readonly reply: Text;
      readonly finishReason: string;
      readonly model: string;
      readonly mode: OutputMode;
    }
  | { readonly kind: "judging"; readonly callId: string }
  /** `reason`: why a person must approve the call. `until`: ISO time at which the question expires; null for never. */
  | {
      readonly kind: "awaiting-approval";
      readonly callId: string;
      readonly reason: string;
      readonly until: string | null;
    }
  | { readonly kind: "approved"; readonly callId: string }
  | { readonly kind: "executing"; readonly callId: string }
  | { readonly kind: "waiting"; readonly callId: string; readonly waitFor: WaitFor; readonly until: string | null }
  /** The code of a cell asked to end the work. */
  | { readonly kind: "ending"; readonly reason: string }
  | { readonly kind: "closing"; readonly end: { readonly reason: string } }
  /** Nested work only: the event with the result, or the reason why there is none. */
  | {
      readonly kind: "ended";
      readonly resultSeq: number | null;
      readonly problem?: { readonly code: string; readonly text: string };
    }
  | { readonly kind: "resting"; readonly outcome: "completed"; readonly reason: string };

/** One level of nested work (frames.ts). The root frame is the agent. */
export interface Frame {
  readonly id: number;
  readonly kind: "agent" | "call" | "run";
  /** Prefix of the ids of its calls, and the id of the call of a frame of kind `call`. Empty for the agent. */
  readonly path: string;
  readonly phase: Phase;
  /** Further calls of the reply, which are judged one after the other when the call of the phase has ended. */
  readonly queue: readonly string[];
  /** Empty in a frame of kind `call`. */
  readonly window: readonly Message[];
  /** Number of model calls begun; repeated attempts do not count. */
  readonly asked: number;
  /** Consecutive unreadable replies, and consecutive failed model calls. */
  readonly badReplies: number;
  readonly modelFailures: number;
  /** Failed attempts of the open model call, oldest first. */
  readonly failedTries: readonly { readonly model: string; readonly code: string }[];
  readonly repetition: Repetition | null;
  /** Consecutive cells of code that failed. */
  readonly failedCells: number;
  /** Results of this run that did not match its schema. */
  readonly badResults: number;
  /** Null for the agent. */
  readonly origin: FrameOrigin | null;
}

export interface FrameOrigin extends OfCall, Pick<NestedResult, "ordinal" | "hash"> {
  readonly command: string;
  /** Number of the event that pushed the frame. */
  readonly seq: number;
  readonly task: Text;
  readonly returns: Readonly<Record<string, unknown>>;
  /** How the model answers in this run. Absent: as in the frame below. */
  readonly form?: ReplyForm;
}

/** The recorded end of nested work. The result itself is in the log. */
export interface NestedResult {
  readonly ordinal: number;
  readonly hash: string;
  /** Number of the event that holds it. */
  readonly seq: number;
  /** Number of the event that began it. Absent: it was a call. */
  readonly from?: number;
}

/** A sub-task that has ended, as later sub-tasks of the same command see it. */
export interface EndedRun {
  readonly ordinal: number;
  /** Beginnings of both texts. */
  readonly task: string;
  readonly result: string;
}

/** The commands of the last reply and how many times in a row they came with the same arguments. */
export interface Repetition {
  readonly step: number;
  /** The first call of the reply. */
  readonly callId: string;
  readonly calls: readonly [CommandCall, ...CommandCall[]];
  /** The reply before, when its first call was the same. */
  readonly last: Pick<Repetition, "calls" | "count" | "noticed"> | null;
  readonly count: number;
  /** The model has been warned. */
  readonly noticed: boolean;
}

export function createFrame(given: Pick<Frame, "id" | "kind" | "path" | "origin">): Frame {
  return {
    ...given,
    phase: { kind: "thinking" },
    queue: [],
    window: [],
    asked: 0,
    badReplies: 0,
    modelFailures: 0,
    failedTries: [],
    repetition: null,
    failedCells: 0,
    badResults: 0,
  };
}

/** Raise this when the state's shape or `evolve` changes: snapshots of other versions are ignored and the log is refolded. */
export const STATE_VERSION = 19;

/** Observation code of a call that a crash interrupted and whose outcome is unknown. */
export const INTERRUPTED = "interrupted";

export interface AgentState {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  readonly checks: readonly GoalCheck[];
  /** The newest result of each check that has run in this turn. */
  readonly proofs: readonly CheckResult[];
  readonly settings: AgentSettings;
  readonly turn: number;
  /** The newest turn that the goals opened. Words opened the later ones. */
  readonly goalsTurn: number;
  /** The step and the number of the event at which this turn began. */
  readonly turnBegan: { readonly step: number; readonly seq: number };
  /** Words that arrived after the last turn, before the first step of this one: what this turn is for. */
  readonly asked: readonly Message[];
  /** Memories of finished turns, oldest first: the newest, and older ones that are small. */
  readonly turns: readonly TurnMemory[];
  /** Null until the model or a person uses it (`planOf`). */
  readonly plan: PlanTask | null;
  /** Number of model calls begun; repeated attempts do not count. */
  readonly step: number;
  /** A stack; the last one is the innermost. */
  readonly frames: readonly [Frame, ...Frame[]];
  /** Number of frames pushed so far, which is the id of the newest. */
  readonly framesPushed: number;
  /** A list instead of a record by id, because V8 makes a hidden class for every new key. */
  readonly open: readonly OpenCall[];
  readonly paused: { readonly code: PauseCode; readonly reason: string } | null;
  /** Commands approved ahead with `y -N`. Reset when a person says something or the agent stops. */
  readonly grantedApprovals: number;
  /** Outside sources received since the last clean state, oldest first; empty: none. The policy uses this (`isTainted`). */
  readonly received: readonly Received[];
  /** A person trusts all words in the agent's files and memories up to this event; 0: none. */
  readonly trustedSeq: number;
  /** Outside sources that the parent had received when it wrote the goals; empty: none, or a person has set the goals. */
  readonly goalsOutside: readonly OutsideSource[];
  /** Reports of work as finished, in a row, that were refused. */
  readonly refusals: number;
  /** Replies that the server cut off. Later replies get more room. */
  readonly cutReplies: number;
  /** Start of the server's outage. Attempts during an outage do not count as failures. */
  readonly outage: { readonly since: string } | null;
  /** Used in place of the agent's own model. */
  readonly fallback: Fallback | null;
  readonly usage: Usage & { readonly modelCalls: number };
  /** The newest usage with more output tokens than its request allowed; absent: none. */
  readonly excess?: Usage;
  /** Reservations of interrupted or failed calls, which may have been charged. */
  readonly lost: { readonly tokens: number; readonly usd: number };
  /** US dollars: sum of the known costs. */
  readonly costUsd: number;
  /** Bytes of all files and repositories that its commands downloaded. */
  readonly downloadedBytes: number;
  /**
   * Process deaths that this agent's commands may have caused, since the last command that ended or the last reset: deaths
   * beside commands of other agents count one in all, deaths while its command was isolated one each. Above 0: a suspect.
   */
  readonly deaths: number;
  /** Times that results of nested work reset `deaths` since the last command that ended. */
  readonly deathResets: number;
  /** All process deaths during this agent's commands since the last command that ended. */
  readonly interruptions: number;
  /** The call that runs while no other suspect's command does. */
  readonly isolated: { readonly callId: string; readonly epoch: number } | null;
  /** Newest epoch whose host left a command of this agent in an orderly way. */
  readonly cutOffAt: number;
  /** Newest epoch that found a call interrupted. */
  readonly deathSeenAt: number;
  /** The parent; null when a person started the agent. */
  readonly startedBy: Origin | null;
  /** Tasks received from the parent, the first one included. */
  readonly tasksReceived: number;
  /** Files changed in this turn, newest last, for a sub-agent's report to its parent. */
  readonly made: readonly string[];
  /** Sub-agents that have not ended, by id. */
  readonly children: Readonly<Record<string, ChildAccount>>;
  /** Total spending of sub-agents that have ended. */
  readonly endedSpent: Spending;
  /** The newest saved namespace; null before the first. */
  readonly namespace: NamespaceRef | null;
  /** Methods that searches found, newest first. */
  readonly foundMethods: readonly string[];
}

export const NOTHING_SPENT: Spending = { steps: 0, tokens: 0, usd: 0 };

export const initialState: AgentState = {
  name: "",
  role: "",
  goals: [],
  checks: [],
  proofs: [],
  settings: {
    approve: "always",
    stepLimit: null,
    tokenLimit: null,
    budgetUsd: null,
    deadline: null,
    model: null,
    windowBatch: 0,
    form: "json",
    plan: "free",
    commands: null,
    background: false,
  },
  turn: 1,
  goalsTurn: 1,
  turnBegan: { step: 0, seq: 0 },
  asked: [],
  turns: [],
  plan: null,
  step: 0,
  frames: [createFrame({ id: 0, kind: "agent", path: "", origin: null })],
  framesPushed: 0,
  open: [],
  paused: null,
  grantedApprovals: 0,
  received: [],
  trustedSeq: 0,
  goalsOutside: [],
  refusals: 0,
  cutReplies: 0,
  outage: null,
  fallback: null,
  usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false, modelCalls: 0 },
  lost: { tokens: 0, usd: 0 },
  costUsd: 0,
  downloadedBytes: 0,
  deaths: 0,
  deathResets: 0,
  interruptions: 0,
  isolated: null,
  cutOffAt: 0,
  deathSeenAt: 0,
  startedBy: null,
  tasksReceived: 0,
  made: [],
  children: {},
  endedSpent: NOTHING_SPENT,
  namespace: null,
  foundMethods: [],
};

/** The innermost frame, which moves next. */
export const activeFrame = (state: AgentState): Frame => state.frames.at(-1) ?? state.frames[0];

/** How the model answers in a frame, by default the innermost one: as the frame says, else as the one below it. */
export function formOfFrame(
  { frames, settings }: AgentState,
  frame: Frame = frames[frames.length - 1] ?? frames[0],
): ReplyForm {
  const nearest = frames.slice(0, frames.indexOf(frame) + 1).findLast(({ origin }) => origin?.form !== undefined);
  return nearest?.origin?.form ?? settings.form;
}

const openCall = <K extends OpenCall["kind"]>(kind: K, { open }: AgentState, callId: string) =>
  open.find((call): call is Extract<OpenCall, { kind: K }> => call.callId === callId && call.kind === kind);

/** The open call of that id; undefined when it is of the other kind or not open. */
export const openQuestion = (state: AgentState, callId: string) => openCall("model", state, callId);
export const openCommand = (state: AgentState, callId: string) => openCall("command", state, callId);
/** The step in which the command was requested; the present one when it is not open. */
export const stepOfCall = (state: AgentState, callId: string): number => openCommand(state, callId)?.step ?? state.step;

/** The open question whether a command may run, of a paused agent too; undefined when there is none. */
export function approvalOf(state: AgentState) {
  const { phase } = activeFrame(state);
  if (phase.kind !== "awaiting-approval") return undefined;
  const open = openCommand(state, phase.callId);
  return open && { ...phase, step: open.step, call: open.call };
}

/** The call that waits for a person's answer, in any frame; undefined when there is none. */
export function callForPerson(state: AgentState) {
  for (const { phase } of state.frames)
    if (phase.kind === "waiting" && phase.waitFor === "person") return openCommand(state, phase.callId);
  return undefined;
}

/** The agent's open question to a person; undefined when there is none. */
export function questionOf(state: AgentState): string | undefined {
  const { question } = callForPerson(state)?.call.args ?? {};
  return typeof question === "string" ? question : undefined;
}

/** True when the agent only waits for the approval of a command. */
export const isAwaitingApproval = (state: AgentState): boolean =>
  state.paused === null && approvalOf(state) !== undefined;

/** True when the agent only waits for an approval or an answer of a person. */
export const isAwaitingPerson = (state: AgentState): boolean =>
  isAwaitingApproval(state) || (state.paused === null && questionOf(state) !== undefined);

/** The turn is over: the agent does nothing until it gets more work. */
export const isFinished = (state: AgentState): boolean => state.frames[0].phase.kind === "resting";

/** Finished or paused: nothing happens by itself. */
export const isOver = (state: AgentState): boolean => state.paused !== null || isFinished(state);

/** Paused, or waiting to repeat a request to the model: a resume lets it go on at once. */
export const isHeld = (state: AgentState): boolean =>
  state.paused !== null || state.outage !== null || activeFrame(state).phase.kind === "retrying";

/** True when the agent has received outside words since its last clean state. */
export const isTainted = ({ received }: AgentState): boolean => received.length > 0;
