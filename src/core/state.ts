/**
 * state.ts -- what is so about an agent, as data: a left fold over its events (evolve.ts).
 *
 * The state stays small for ever: nine messages (some more where a person asked for that), the open calls, a few counters.
 */

import type { AgentSettings } from "./agent-settings.ts";
import type { Annotations, CommandCall, Effect, Observation, WaitFor } from "./call.ts";
import type { Fallback, OutputMode, PauseCode, Usage } from "./event.ts";
import type { Origin, Reach, Spending } from "./subagents/subagent-event.ts";
import type { Text } from "./text.ts";

/** A snapshot of another version is ignored and the log refolded: raise it when the state's shape or `evolve` changes. */
export const STATE_VERSION = 6;

/** How many messages the prompt carries; what is older lives in long-term memory. */
export const SHORT_TERM_MESSAGES = 9;

/** The most that an agent may be told to carry, so that its state stays small all the same. */
export const MAX_WINDOW_BATCH = 40;

/** Code of the observation for a call that a crash cut off and of which nobody can tell the end. */
export const INTERRUPTED = "interrupted";

/** One message of short-term memory: a reply, or a result or feedback. */
export interface Message {
  /** The event that it came from. */
  readonly seq: number;
  readonly step: number;
  readonly kind: "reply" | "result" | "problem" | "feedback" | "task" | "report";
  /** Who speaks, for the line above the text: a command's name, a person, an agent. Empty for a reply. */
  readonly from: string;
  readonly status: Observation["status"] | null;
  readonly source: Observation["source"];
  readonly text: Text;
}

/** Where a frame stands between two moves. */
export type Phase =
  | { readonly kind: "thinking" }
  | { readonly kind: "asking"; readonly callId: string }
  | { readonly kind: "retrying"; readonly callId: string; readonly at: string }
  | {
      readonly kind: "reading";
      readonly callId: string;
      readonly reply: Text;
      readonly finishReason: string;
      /** How the reply was asked for. */
      readonly model: string;
      readonly mode: OutputMode;
    }
  | { readonly kind: "judging"; readonly callId: string }
  | { readonly kind: "awaiting-approval"; readonly callId: string }
  | { readonly kind: "approved"; readonly callId: string }
  | { readonly kind: "executing"; readonly callId: string }
  | { readonly kind: "waiting"; readonly callId: string; readonly waitFor: WaitFor; readonly until: string | null }
  | { readonly kind: "closing"; readonly reason: string }
  | { readonly kind: "resting"; readonly outcome: "completed"; readonly reason: string };

/** One level of self-call: its phase and what it sees. The root frame is the agent. */
export interface Frame {
  readonly id: number;
  readonly phase: Phase;
  readonly window: readonly Message[];
}

/** What was about to be done, and by which lease; older than the lease's epoch means interrupted. */
export type OpenCall =
  | {
      readonly kind: "model";
      readonly callId: string;
      readonly step: number;
      readonly attempt: number;
      readonly epoch: number;
      readonly model: string;
      readonly mode: OutputMode;
      /** What may have been charged for it and is counted nowhere else; 0 as soon as its failure is told. */
      readonly reservedTokens: number;
      readonly reservedUsd: number | null;
    }
  | {
      readonly kind: "command";
      readonly callId: string;
      readonly step: number;
      readonly call: CommandCall;
      readonly thought: string;
      /** Absent until command-started. */
      readonly intent?: {
        readonly attempt: number;
        readonly epoch: number;
        readonly at: string;
        readonly effect: Effect;
        readonly annotations: Annotations;
        readonly prepared: unknown;
        /** The newest lease that found it cut off: one death is counted once. */
        readonly seenInterruptedAt?: number;
        /** What it may spend on models and is counted nowhere else. */
        readonly reserved?: { readonly tokens: number; readonly usd: number | null };
      };
    };

/** The last command asked for, and how many times in a row with the same arguments. */
export interface Repetition {
  readonly step: number;
  readonly callId: string;
  readonly call: CommandCall;
  readonly count: number;
  /** The model has been told. */
  readonly noticed: boolean;
}

/** An agent that this one started, as far as its own log knows it. */
export interface ChildAccount {
  readonly name: string;
  /** One line. */
  readonly task: string;
  /** The call that told it something last. */
  readonly callId: string;
  /** How many tasks it was given. */
  readonly told: number;
  /** It has not finished the last one: what it may still spend is set aside. */
  readonly isWorking: boolean;
  /** It was told to end, and has not said yet that it did. */
  readonly isEnding: boolean;
  readonly reach: Reach;
  /** As it told last. */
  readonly spent: Spending;
}

export interface AgentState {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  readonly settings: AgentSettings;
  readonly turn: number;
  /** Number of model calls begun so far, repeated attempts not counted. */
  readonly step: number;
  readonly frames: readonly [Frame, ...Frame[]];
  /** A list, and no record by id: with ever new names V8 would make a class of objects for each. */
  readonly open: readonly OpenCall[];
  readonly paused: { readonly code: PauseCode; readonly reason: string } | null;
  /** Commands that a person approved ahead with `y -N`; over as soon as they say something, or the agent stops. */
  readonly grantedApprovals: number;
  /** Text from outside has been read: the policy looks at it. */
  readonly tainted: boolean;
  /** In a row, since the last one that could be read / the last that answered. */
  readonly badReplies: number;
  readonly modelFailures: number;
  /** Tries of the open question that failed, oldest first. */
  readonly failedTries: readonly { readonly model: string; readonly code: string }[];
  /** Since when the server is out of order; the tries meanwhile are not counted. */
  readonly outage: { readonly since: string } | null;
  /** In place of the agent's own model. */
  readonly fallback: Fallback | null;
  readonly usage: Usage & { readonly modelCalls: number };
  /** Reserved for calls whose end nobody saw, or that failed: it may have been charged. */
  readonly lost: { readonly tokens: number; readonly usd: number };
  /** Sum of the known costs of the replies. */
  readonly costUsd: number;
  readonly repetition: Repetition | null;
  /** Processes that died while a command of this agent ran, since the last one that came to its end. */
  readonly deaths: number;
  /** Who started it; null for a person. */
  readonly startedBy: Origin | null;
  /** Tasks that it has received from there, the first one included. */
  readonly heard: number;
  /** Files that it made or changed in this turn, newest last: what its answer names. Kept for whoever started it. */
  readonly made: readonly string[];
  /** Agents that it started and did not end, by id. */
  readonly children: Readonly<Record<string, ChildAccount>>;
  /** What those spent that are there no more. */
  readonly endedSpent: Spending;
}

export const NOTHING_SPENT: Spending = { steps: 0, tokens: 0, usd: 0 };

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
    background: false,
  },
  turn: 1,
  step: 0,
  frames: [{ id: 0, phase: { kind: "thinking" }, window: [] }],
  open: [],
  paused: null,
  grantedApprovals: 0,
  tainted: false,
  badReplies: 0,
  modelFailures: 0,
  failedTries: [],
  outage: null,
  fallback: null,
  usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false, modelCalls: 0 },
  lost: { tokens: 0, usd: 0 },
  costUsd: 0,
  repetition: null,
  deaths: 0,
  startedBy: null,
  heard: 0,
  made: [],
  children: {},
  endedSpent: NOTHING_SPENT,
};

/** The frame that moves next: the innermost one. */
export const activeFrame = (state: AgentState): Frame => state.frames.at(-1) ?? state.frames[0];

const openCall = <K extends OpenCall["kind"]>(kind: K, { open }: AgentState, callId: string) =>
  open.find((call): call is Extract<OpenCall, { kind: K }> => call.callId === callId && call.kind === kind);

/** The open call of that id, when it is one of these. */
export const openQuestion = (state: AgentState, callId: string) => openCall("model", state, callId);
export const openCommand = (state: AgentState, callId: string) => openCall("command", state, callId);

/** What it has asked a person and waits to hear; undefined when it has asked nothing. */
export function questionOf(state: AgentState): string | undefined {
  const { phase } = activeFrame(state);
  if (phase.kind !== "waiting" || phase.waitFor !== "person") return undefined;
  const { question } = openCommand(state, phase.callId)?.call.args ?? {};
  return typeof question === "string" ? question : undefined;
}

/** The turn is over: it does nothing more until it is given more to do. */
export const isFinished = (state: AgentState): boolean => activeFrame(state).phase.kind === "resting";

/** It finished, or is paused for whatever reason: nothing happens by itself. */
export const isOver = (state: AgentState): boolean => state.paused !== null || isFinished(state);

/** How many messages short-term memory may hold before it is cut back to nine: nine, or so many more as a batch has. */
export const longestWindow = ({ settings }: AgentState): number =>
  SHORT_TERM_MESSAGES + Math.min(MAX_WINDOW_BATCH, settings.windowBatch ?? 0);
