/**
 * event.ts -- everything that can happen to an agent, as data.
 *
 * The event log is the truth about an agent: its state is a fold over its events, and a process that was killed
 * continues exactly where the log ends. Events are named noun-verb in the past tense, carry plain JSON, and never
 * change once written. A new need gets a new type or a new version.
 *
 * docs/design.md explains the terms: turn, step, call, observation, effect, intent, frame, lease, epoch.
 */
import type { AgentSettings, GivenSettings, ReplyForm } from "./agent-settings.ts";
import type { Annotations, AskedScript, CommandCall, Effect, Observation, WaitFor } from "./call.ts";
import type { FilesRestored } from "./evolve.ts";
import type { CheckResult, GoalCheck } from "./goal-check.ts";
import type { NewTask, TaskState } from "./plan.ts";
import type { OutgoingText } from "./policy.ts";
import type { ShownRecall } from "./ports/memory.ts";
import type { LostName, NamespaceChange } from "./ports/sandbox.ts";
import type { OutsideSource, TrustedWords } from "./provenance.ts";
import type { Origin, SubagentEvent } from "./subagent.ts";
import type { Text } from "./text.ts";

/** The version that this code reads and writes. */
export const EVENT_VERSION = 1;

/**
 * The request asked for JSON bound to a schema, any JSON, plain text or a tool call, which are read alike; or for an action as
 * JSON; or for an action or a block of code in text.
 */
export type OutputMode = "json_schema" | "json_object" | "plain" | "tools" | "plan" | "react" | "code";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** The server reported no usage, and goald estimated it. */
  readonly estimated: boolean;
  /** The maximum of output tokens that the request carried. Absent unless the server reported more. */
  readonly allowedTokens?: number;
}

/** `costUsd` is null when no price is known. */
export interface ModelSpending {
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly modelCalls: number;
}

export interface Fallback {
  readonly model: string;
  /** ISO time at which the agent's own model is tried again. */
  readonly until: string;
}

/** Fields of every event that belongs to a call. */
export interface OfCall {
  readonly step: number;
  readonly callId: string;
}

export type EventBody =
  | ({
      readonly type: "agent-created";
      readonly name: string;
      readonly role: string;
      readonly goals: readonly string[];
      /** Absent: none. */
      readonly checks?: readonly GoalCheck[];
      /** Absent when a person created it. */
      readonly startedBy?: Origin;
    } & GivenSettings)
  | ({ readonly type: "settings-changed" } & Partial<AgentSettings>)
  | { readonly type: "goals-changed"; readonly goals: readonly string[]; readonly checks?: readonly GoalCheck[] }
  // -- one step: ask the model, receive its reply, read it
  | ({
      readonly type: "model-asked";
      readonly attempt: number;
      readonly epoch: number;
      readonly model: string;
      readonly mode: OutputMode;
      /** SHA-256 of model and messages. */
      readonly requestHash: string;
      readonly recallIds: readonly string[];
      /** Lists the recalls that the prompt did not show whole and alone, with what it showed. Absent without recalls. */
      readonly shown?: readonly ShownRecall[];
      /** Spent on embeddings for the recall that came before it. */
      readonly spent?: ModelSpending;
      /** The files that the prompt shows, a line for each; absent for none. */
      readonly folder?: string;
      /** Sources of the outside words in the recalls of the prompt; absent: none. */
      readonly outside?: readonly OutsideSource[];
      /** Counts against limits from before the request is sent until the reply's usage replaces it. */
      readonly reservedTokens: number;
      /** null when the model has no known price. */
      readonly reservedUsd?: number | null;
    } & OfCall)
  | ({
      readonly type: "model-replied";
      readonly text: Text;
      readonly finishReason: string;
      readonly usage: Usage;
      /** US dollars; null when the model has no known price. */
      readonly costUsd?: number | null;
      readonly durationMs: number;
    } & OfCall)
  | ({
      readonly type: "model-failed";
      readonly code: string;
      readonly message: string;
      /** ISO time of the next attempt; null when another attempt cannot help. */
      readonly retryAt: string | null;
      /** The next attempt sends a different request, as the server demanded. Does not count as a model failure. */
      readonly changed?: true;
      /** The server is down: goald retries from time to time until it is back. */
      readonly outage?: true;
      /** Charged for a reply that was cut off. Replaces the reservation. */
      readonly spent?: ModelSpending;
      /** Model used until the given time in place of one that fails permanently. */
      readonly fallback?: Fallback;
    } & OfCall)
  | {
      readonly type: "reply-rejected";
      readonly step: number;
      readonly problems: readonly string[];
      /** Reasoning tokens of a reply that was cut off before an answer began; all its tokens if unknown. */
      readonly reasoningTokens?: number;
      /** The reply was readable, and gave a result that the sub-task's schema does not allow. */
      readonly isBadResult?: true;
    }
  // -- one command: requested, judged, started, finished
  | ({
      readonly type: "command-requested";
      readonly call: CommandCall;
      /** One line of the model's thoughts, for people, memory and `why`. */
      readonly thought: string;
      /** The JSON was invalid and had to be repaired. */
      readonly repaired: boolean;
      /** The text that the call would send out; absent when there is nothing to ask about. */
      readonly leaving?: OutgoingText;
    } & OfCall)
  | ({ readonly type: "command-approved"; readonly by: "policy" | "person" | "earlier-approval" } & OfCall)
  | ({
      readonly type: "command-denied";
      readonly by: "policy" | "person";
      readonly reason: string;
      /** Why the turn may not end yet: sub-agents work, or tasks of the plan are unfinished. Such refusals are counted. */
      readonly refusal?: "helpers" | "plan";
    } & OfCall)
  | ({
      readonly type: "approval-asked";
      readonly reason: string;
      /** ISO time after which the call counts as denied; absent for never. */
      readonly until?: string;
      /** Absent: the call runs no file. */
      readonly script?: AskedScript;
    } & OfCall)
  | ({
      readonly type: "command-started";
      readonly attempt: number;
      readonly epoch: number;
      readonly effect: Effect;
      readonly annotations: Annotations;
      /** Result of the command's `prepare`; `probe` uses it to tell whether the effect happened. */
      readonly prepared: unknown;
      /** Sources of the outside words that `prepare` read; absent: none. */
      readonly outside?: readonly OutsideSource[];
      /** The most that the call may spend on models. Counts against limits until the call ends; absent: nothing. */
      readonly reserved?: { readonly tokens: number; readonly usd: number | null };
    } & OfCall)
  /** A later process found the call started but not finished: the process that ran it died. Recorded once per death. */
  | ({ readonly type: "call-interrupted"; readonly epoch: number } & OfCall)
  /** The host left the call unfinished in an orderly way: it went down, or nested work has to wait. Not a death. */
  | ({ readonly type: "call-cut-off"; readonly epoch: number } & OfCall)
  /** After a death: until the call ends or is cleared, no command of another suspect runs beside it. */
  | ({ readonly type: "call-isolated"; readonly epoch: number } & OfCall)
  /** The isolated call ran long enough without a death. It goes on, and other suspects' commands may run beside it. */
  | ({ readonly type: "call-cleared" } & OfCall)
  /** The model asked for the same command with the same arguments `count` times in a row. */
  | ({ readonly type: "repetition-noticed"; readonly count: number } & OfCall)
  | ({
      readonly type: "command-waiting";
      readonly waitFor: WaitFor;
      readonly until: string | null;
      /** Sources of the outside words that the call received before the wait; absent: none. */
      readonly outside?: readonly OutsideSource[];
      /** Spent before the wait began, as in `command-finished`. The reservation is released. */
      readonly spent?: ModelSpending;
    } & OfCall)
  | ({
      readonly type: "command-finished";
      readonly observation: Observation;
      readonly durationMs: number;
      /** Spent by the call on models of any kind. */
      readonly spent?: ModelSpending;
      readonly downloadedBytes?: number;
      /** A crash interrupted the call, and `probe` found its effect done. */
      readonly reconciled?: boolean;
      /** Set by task_complete: the model reports the goals as reached. */
      readonly closesTurn?: boolean;
    } & OfCall)
  // -- nested work of a running command, and cells of code
  | NestedEvent
  // -- from outside, through the inbox
  | { readonly type: "approvals-granted"; readonly count: number }
  /** A person trusts the outside words that the agent received until now, or those of one file or placed folder. */
  | ({ readonly type: "words-trusted" } & TrustedWords)
  | { readonly type: "message-received"; readonly from: string; readonly text: Text }
  | FilesRestored
  | {
      readonly type: "agent-paused";
      readonly code: PauseCode;
      readonly reason: string;
      /** Spent on embeddings for a request that was not sent. */
      readonly spent?: ModelSpending;
    }
  | { readonly type: "agent-resumed" }
  | PlanEvent
  | TurnEvent
  | SubagentEvent;

/** An event before the journal stamps it; `frame` defaults to the frame of its call, else to the innermost one. */
export type NewEvent = EventBody & { readonly frame?: number };

/** An event in the log: numbered from 1 without gaps, stamped once by the journal. */
export type RecordedEvent = EventBody & {
  readonly v: typeof EVENT_VERSION;
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly frame: number;
};

export type EventOf<T extends EventBody["type"]> = Extract<EventBody, { readonly type: T }>;

/**
 * Events of nested work: the stack of frames (frames.ts), and the namespaces of cells (evolve-step.ts). `frame` is the
 * frame that is pushed or popped.
 */
type NestedEvent =
  | ({
      readonly type: "frame-pushed";
      readonly kind: "call" | "run";
      /** Position among the nested work of the command, from 1. */
      readonly ordinal: number;
      /** SHA-256 of what was asked for. A repeated run of the command must ask for the same at the same position. */
      readonly hash: string;
      /** Set for a run: the task in words, and the JSON Schema of its result. */
      readonly task?: Text;
      readonly returns?: Readonly<Record<string, unknown>>;
      /** How the model answers in this run; absent: as in the frame below. */
      readonly form?: ReplyForm;
      /** Sources of the outside words that the command had received when it asked. */
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  | ({
      readonly type: "frame-popped";
      readonly ordinal: number;
      readonly hash: string;
      /** Number of the event that holds the result; null for a run without one. */
      readonly resultSeq: number | null;
      /** Why the run has no result. */
      readonly problem?: { readonly code: string; readonly text: string };
    } & OfCall)
  /** A cell has ended. Committed with its result. */
  | ({
      readonly type: "namespace-saved";
      readonly version: string;
      /** Each source and each value is stored on its own, so that an unchanged long one is stored once. */
      readonly definitions: readonly (readonly [name: string, source: string])[];
      readonly values: Readonly<Record<string, string>>;
      readonly lost: readonly LostName[];
      /** Of a cell that ran inside another one: what it changed. */
      readonly change?: NamespaceChange;
      /** Sources of all outside words that the namespace has received; absent: none. */
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  /** A search for methods found these, best first. */
  | ({ readonly type: "methods-found"; readonly names: readonly string[] } & OfCall);

type ChangedBy = ({ readonly by: "agent" } & OfCall) | { readonly by: "person" };

type PlanEvent =
  | ({
      readonly type: "task-added";
      /** Id of the task that it was added to. */
      readonly parent: string;
      readonly task: NewTask;
    } & ChangedBy)
  | ({
      readonly type: "task-changed";
      readonly id: string;
      readonly state: TaskState;
    } & ChangedBy)
  /** Checks of goals ran, because the agent reported them as reached. */
  | ({ readonly type: "goals-checked"; readonly results: readonly CheckResult[] } & OfCall);

/** A command that succeeded in a turn. */
export interface RememberedCall {
  readonly name: string;
  /** The arguments, bounded; a longer one is named by its file and its beginning. */
  readonly input: string;
}

/** The compact memory of a finished turn: what was asked, what succeeded, and what came of it. It has no thoughts and no failures. */
export interface TurnMemory {
  readonly turn: number;
  /** The turn's last step. */
  readonly step: number;
  /** The words or goals that the turn was for. */
  readonly asked: readonly string[];
  /** In order. */
  readonly calls: readonly RememberedCall[];
  /** Number of earlier calls that were left out, because there were too many. A very long turn had more. */
  readonly callsLeftOut: number;
  /** Paths of files that the turn's commands created or changed. */
  readonly artifacts: readonly string[];
  /** The agent's closing words. */
  readonly output: string;
  /** Sources of the outside words that the agent had received; absent: none. */
  readonly outside?: readonly OutsideSource[];
}

type TurnEvent =
  /** New goals or a person's words arrived after the last turn was finished. */
  | { readonly type: "turn-started"; readonly turn: number }
  | { readonly type: "turn-finished"; readonly outcome: "completed"; readonly reason: string }
  /** Recorded right before the turn is finished. */
  | ({ readonly type: "turn-remembered" } & TurnMemory);

export type PauseCode =
  | "person"
  | "stopped"
  | "killed"
  /** The parent agent was stopped. */
  | "parent"
  /** The parent agent ended it. */
  | "ended"
  | "step-limit"
  | "token-limit"
  | "budget"
  | "time-limit"
  | "loop"
  | "bad-replies"
  | "key-refused"
  | "model-refused"
  | "model-unreachable"
  | "prompt-too-long"
  /** The server sent more than the maximum of a reply. */
  | "cap-ignored"
  /** The agent reported unfinished work as finished several times. */
  | "not-proven"
  /** Several cells of code in a row failed. */
  | "failing-cells"
  /** A memory or a long text that the agent needs was changed. An agent whose log was changed cannot be paused. */
  | "damaged"
  | "crash-loop";
