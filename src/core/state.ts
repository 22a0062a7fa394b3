/**
 * state.ts -- the state of an agent: a left fold over its events (evolve.ts).
 *
 * Its size does not grow with the agent's age: nine messages (plus a configured batch), the open calls, a few counters.
 */

import type { AgentSettings } from "./agent-settings.ts";
import type { Annotations, CommandCall, Effect, Observation, WaitFor } from "./call.ts";
import type { Fallback, OutputMode, PauseCode, Usage } from "./event.ts";
import type { Origin, Reach, Spending } from "./subagents/subagent-event.ts";
import type { Text } from "./text.ts";

/** Raise this when the state's shape or `evolve` changes: snapshots of other versions are ignored and the log is refolded. */
export const STATE_VERSION = 7;

/** Number of messages in the prompt; older ones are in long-term memory. */
export const SHORT_TERM_MESSAGES = 9;

/** Upper bound of `windowBatch`, which keeps the state small. */
export const MAX_WINDOW_BATCH = 40;

/** Observation code of a call that a crash interrupted and whose outcome is unknown. */
export const INTERRUPTED = "interrupted";

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
  readonly text: Text;
}

/** What a frame is doing between two moves. */
export type Phase =
  | { readonly kind: "thinking" }
  | { readonly kind: "asking"; readonly callId: string }
  | { readonly kind: "retrying"; readonly callId: string; readonly at: string }
  | {
      readonly kind: "reading";
      readonly callId: string;
      readonly reply: Text;
      readonly finishReason: string;
      /** The model and output mode that produced the reply. */
      readonly model: string;
      readonly mode: OutputMode;
    }
  | { readonly kind: "judging"; readonly callId: string }
  | { readonly kind: "awaiting-approval"; readonly callId: string }
  | { readonly kind: "approved"; readonly callId: string }
  | { readonly kind: "executing"; readonly callId: string }
  | { readonly kind: "waiting"; readonly callId: string; readonly waitFor: WaitFor; readonly until: string | null }
  | { readonly kind: "closing"; readonly reason: string }
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
  /** Null for the agent. */
  readonly origin: FrameOrigin | null;
}

/** Where a frame was pushed, and for what. */
export interface FrameOrigin extends Pick<NestedResult, "ordinal" | "hash"> {
  /** The running command. */
  readonly callId: string;
  readonly command: string;
  readonly step: number;
  readonly task: Text;
  readonly returns: Readonly<Record<string, unknown>>;
}

/** The recorded end of nested work. The result itself is in the log. */
export interface NestedResult {
  readonly ordinal: number;
  readonly hash: string;
  /** Number of the event that holds it. */
  readonly seq: number;
}

/** A call that has begun and not ended. An intent whose epoch is older than the lease's was interrupted. */
export type OpenCall =
  | {
      readonly kind: "model";
      readonly callId: string;
      readonly frame: number;
      readonly step: number;
      readonly attempt: number;
      readonly epoch: number;
      readonly model: string;
      readonly mode: OutputMode;
      /** Possible charges that no other field counts; 0 once a failure is recorded. */
      readonly reservedTokens: number;
      readonly reservedUsd: number | null;
    }
  | {
      readonly kind: "command";
      readonly callId: string;
      readonly frame: number;
      readonly step: number;
      readonly call: CommandCall;
      readonly thought: string;
      /** Results of nested work that has ended, in order of their ordinals; absent: none. */
      readonly results?: readonly NestedResult[];
      /** Absent until command-started. */
      readonly intent?: {
        readonly attempt: number;
        readonly epoch: number;
        readonly at: string;
        readonly effect: Effect;
        readonly annotations: Annotations;
        readonly prepared: unknown;
        /** Newest epoch that found the call interrupted, so that one death counts once. */
        readonly seenInterruptedAt?: number;
        /** The most that the call may spend on models. */
        readonly reserved?: { readonly tokens: number; readonly usd: number | null };
      };
    };

/** The last requested command and how many times in a row it came with the same arguments. */
export interface Repetition {
  readonly step: number;
  readonly callId: string;
  readonly call: CommandCall;
  readonly count: number;
  /** The model has been warned. */
  readonly noticed: boolean;
}

/** A sub-agent, as far as the parent's log knows it. */
export interface ChildAccount {
  readonly name: string;
  /** One line. */
  readonly task: string;
  /** The call that last sent it a task. */
  readonly callId: string;
  /** Number of tasks sent to it. */
  readonly told: number;
  /** It has not finished its last task: its allowance counts as spent. */
  readonly isWorking: boolean;
  /** It was ended and has not confirmed it yet. */
  readonly isEnding: boolean;
  readonly reach: Reach;
  /** Spending in its last report. */
  readonly spent: Spending;
}

export interface AgentState {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  readonly settings: AgentSettings;
  readonly turn: number;
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
  /** The agent has read text from outside; the policy uses this. */
  readonly tainted: boolean;
  /** Start of the server's outage. Attempts during an outage do not count as failures. */
  readonly outage: { readonly since: string } | null;
  /** Used in place of the agent's own model. */
  readonly fallback: Fallback | null;
  readonly usage: Usage & { readonly modelCalls: number };
  /** Reservations of interrupted or failed calls, which may have been charged. */
  readonly lost: { readonly tokens: number; readonly usd: number };
  /** US dollars: sum of the known costs. */
  readonly costUsd: number;
  /** Process deaths during this agent's commands since the last command that ended. */
  readonly deaths: number;
  /** Newest epoch that found a call interrupted. */
  readonly deathSeenAt: number;
  /** The parent; null when a person started the agent. */
  readonly startedBy: Origin | null;
  /** Tasks received from the parent, the first one included. */
  readonly heard: number;
  /** Files changed in this turn, newest last, for a sub-agent's report to its parent. */
  readonly made: readonly string[];
  /** Sub-agents that have not ended, by id. */
  readonly children: Readonly<Record<string, ChildAccount>>;
  /** Total spending of sub-agents that have ended. */
  readonly endedSpent: Spending;
}

export const NOTHING_SPENT: Spending = { steps: 0, tokens: 0, usd: 0 };

export function createFrame(given: Pick<Frame, "id" | "kind" | "path" | "origin">): Frame {
  return {
    ...given,
    phase: { kind: "thinking" },
    window: [],
    asked: 0,
    badReplies: 0,
    modelFailures: 0,
    failedTries: [],
    repetition: null,
  };
}

export const initialState: AgentState = {
  name: "",
  role: "",
  goals: [],
  settings: {
    approve: "always",
    stepLimit: null,
    tokenLimit: null,
    budgetUsd: null,
    deadline: null,
    model: null,
    windowBatch: 0,
    form: "json",
    background: false,
  },
  turn: 1,
  step: 0,
  frames: [createFrame({ id: 0, kind: "agent", path: "", origin: null })],
  framesPushed: 0,
  open: [],
  paused: null,
  grantedApprovals: 0,
  tainted: false,
  outage: null,
  fallback: null,
  usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false, modelCalls: 0 },
  lost: { tokens: 0, usd: 0 },
  costUsd: 0,
  deaths: 0,
  deathSeenAt: 0,
  startedBy: null,
  heard: 0,
  made: [],
  children: {},
  endedSpent: NOTHING_SPENT,
};

/** The innermost frame, which moves next. */
export const activeFrame = (state: AgentState): Frame => state.frames.at(-1) ?? state.frames[0];

const openCall = <K extends OpenCall["kind"]>(kind: K, { open }: AgentState, callId: string) =>
  open.find((call): call is Extract<OpenCall, { kind: K }> => call.callId === callId && call.kind === kind);

/** The open call of that id; undefined when it is of the other kind or not open. */
export const openQuestion = (state: AgentState, callId: string) => openCall("model", state, callId);
export const openCommand = (state: AgentState, callId: string) => openCall("command", state, callId);

/** The agent's open question to a person; undefined when there is none. */
export function questionOf(state: AgentState): string | undefined {
  const { phase } = activeFrame(state);
  if (phase.kind !== "waiting" || phase.waitFor !== "person") return undefined;
  const { question } = openCommand(state, phase.callId)?.call.args ?? {};
  return typeof question === "string" ? question : undefined;
}

/** The turn is over: the agent does nothing until it gets more work. */
export const isFinished = (state: AgentState): boolean => state.frames[0].phase.kind === "resting";

/** Finished or paused: nothing happens by itself. */
export const isOver = (state: AgentState): boolean => state.paused !== null || isFinished(state);

/** Number of messages at which short-term memory is cut back to nine. */
export const longestWindow = ({ settings }: AgentState): number =>
  SHORT_TERM_MESSAGES + Math.min(MAX_WINDOW_BATCH, settings.windowBatch ?? 0);
