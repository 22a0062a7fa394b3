/**
 * event.ts -- everything that can happen to an agent, as data.
 *
 * The event log is the truth about an agent: nothing is so that cannot be read
 * back from its events, and a killed process goes on exactly where the log ends.
 * Events are named noun-verb in the past tense, carry plain JSON, and are never
 * changed once written; a new need gets a new type or, with `upcast`, a new version.
 *
 * Terms
 *   agent        name, role and goals; lives until it is removed
 *   turn         one set of goals, up to task_complete; a follow-up opens the next
 *   step         one model call and what it led to
 *   message      one reply, or one result or feedback: what short-term memory holds nine of
 *   call         one command with its arguments, as the model asked for it
 *   observation  what came of a call; a failure is one too
 *   effect       what may happen outside when a call runs, and so what a crash may leave
 *   intent       the event that says "about to": durable before the effect
 *   frame        one level of self-call; the root frame, 0, is the agent
 *   lease, epoch who may append now, and how often that has changed
 */
import type { Annotations, Effect } from "./command.ts";
import type { FamilyEvent, Origin } from "./family-event.ts";
import type { Text } from "./text.ts";

/** The version that this code writes; `upcast` reads every older one. */
export const EVENT_VERSION = 1;

/** One command that the model asked for. */
export interface CommandCall {
  readonly name: string;
  /** Checked against the command's schema; a string over 32 KB is a reference. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** What the world answered. A failure is an observation too: the model reads it and adapts. */
export interface Observation {
  readonly status: "ok" | "failed" | "denied" | "cancelled" | "unknown";
  readonly text: Text;
  /** For programs: why it failed, such as `file-missing`. */
  readonly code?: string;
  /** Where the text came from. Text from outside is data, and taints. */
  readonly source: "goald" | "workspace" | "person" | "web" | "agent" | "model";
  /** Workspace paths that this call made or changed. */
  readonly artifacts: readonly string[];
}

/** How a reply is asked for: bound to a schema, as some JSON, or in words alone. It is read alike in every mode. */
export type OutputMode = "json_schema" | "json_object" | "plain";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** True when the server did not say and goald counted by its own rule. */
  readonly estimated: boolean;
}

/** Dollars are null when no price is known. */
export interface ModelSpending {
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly modelCalls: number;
}

/** When a command runs by itself and when a person is asked first. */
export type ApprovalMode = "always" | "risky" | "never";

export interface AgentSettings {
  readonly approve: ApprovalMode;
  /** The step after which the agent pauses; null for none. */
  readonly stepLimit: number | null;
  /** Tokens in and out, over the agent's life, after which it pauses; null for none. */
  readonly tokenLimit: number | null;
  /** US dollars over the agent's life; null for none. */
  readonly budgetUsd: number | null;
  /** ISO time at which it pauses; null for none. Nights in which nothing ran count too. */
  readonly deadline: string | null;
  /** null: the model of the settings. */
  readonly model: string | null;
  /** How many messages more than nine short-term memory may hold before it is cut back to nine. */
  readonly windowBatch: number;
  /** Runs without a terminal: a daemon goes on with it by itself, after a restart too. */
  readonly background: boolean;
}

/** What an agent is created with; the rest has its default (state.ts). */
export type GivenSettings = Pick<AgentSettings, "approve" | "stepLimit"> & Partial<AgentSettings>;

export type PauseCode =
  | "person"
  | "stopped"
  | "killed"
  /** The agent that started it was stopped. */
  | "parent"
  /** The agent that started it does not need it any more. */
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
  | "crash-loop";

/** What a waiting command or agent waits for. */
export type WaitFor = "time" | "approval" | "person" | "agent";

export interface Fallback {
  readonly model: string;
  /** ISO time, from which the agent's own model is tried again. */
  readonly until: string;
}

interface OfCall {
  readonly step: number;
  readonly callId: string;
}

export type EventBody =
  | ({
      readonly type: "agent-created";
      readonly name: string;
      readonly role: string;
      readonly goals: readonly string[];
      /** Absent: a person did. */
      readonly startedBy?: Origin;
    } & GivenSettings)
  | ({ readonly type: "settings-changed" } & Partial<AgentSettings>)
  | { readonly type: "goals-changed"; readonly goals: readonly string[] }
  // -- one step: the model is asked, answers, and its answer is read
  | ({
      readonly type: "model-asked";
      readonly attempt: number;
      readonly epoch: number;
      readonly model: string;
      readonly mode: OutputMode;
      /** SHA-256 of model and messages: the same question has the same hash. */
      readonly requestHash: string;
      readonly recallIds: readonly string[];
      /** A recall in the prompt holds text from outside. */
      readonly tainted?: true;
      /** Counted against limits before the request leaves; the reply's usage replaces it. */
      readonly reservedTokens: number;
      /** The same in US dollars; null when the model has no known price, absent in old logs. */
      readonly reservedUsd?: number | null;
    } & OfCall)
  | ({
      readonly type: "model-replied";
      readonly text: Text;
      readonly finishReason: string;
      readonly usage: Usage;
      /** What it cost in US dollars; null when the model has no known price, absent in old logs. */
      readonly costUsd?: number | null;
      readonly durationMs: number;
    } & OfCall)
  | ({
      readonly type: "model-failed";
      readonly code: string;
      readonly message: string;
      /** ISO time of the next attempt, or null when another attempt cannot help. */
      readonly retryAt: string | null;
      /** The next attempt is another request, which heeds what the server said: no failure of the model. */
      readonly changed?: true;
      /** The server is out of order: it is tried again from time to time, for as long as that takes. */
      readonly outage?: true;
      /** The model that is asked from now on until that time, in place of one that fails for good. */
      readonly fallback?: Fallback;
    } & OfCall)
  | { readonly type: "reply-rejected"; readonly step: number; readonly problems: readonly string[] }
  // -- the command: requested, judged, started, finished
  | ({
      readonly type: "command-requested";
      readonly call: CommandCall;
      /** One line of what the model was thinking, for people, memory and `why`. */
      readonly thought: string;
      /** True when the JSON had to be mended before it could be read. */
      readonly repaired: boolean;
    } & OfCall)
  | ({ readonly type: "command-approved"; readonly by: "policy" | "person" | "earlier-approval" } & OfCall)
  | ({ readonly type: "command-denied"; readonly by: "policy" | "person"; readonly reason: string } & OfCall)
  | ({ readonly type: "approval-asked"; readonly reason: string } & OfCall)
  | ({
      readonly type: "command-started";
      readonly attempt: number;
      readonly epoch: number;
      readonly effect: Effect;
      readonly annotations: Annotations;
      /** What the command's `prepare` returned: what `probe` needs to tell whether the effect happened. */
      readonly prepared: unknown;
      /** What the call may spend on models of any kind, counted until its end says what it spent; absent: nothing. */
      readonly reserved?: { readonly tokens: number; readonly usd: number | null };
    } & OfCall)
  /** A later process found it begun and without an end: the one that ran it died. Once for each such process. */
  | ({ readonly type: "call-interrupted"; readonly epoch: number } & OfCall)
  /** The model asked for the same command with the same arguments so many times in a row. */
  | ({ readonly type: "repetition-noticed"; readonly count: number } & OfCall)
  | ({
      readonly type: "command-waiting";
      readonly waitFor: WaitFor;
      readonly until: string | null;
      /** What the call has spent before it began to wait, as in `command-finished`; nothing of what was reserved is left. */
      readonly spent?: ModelSpending;
    } & OfCall)
  | ({
      readonly type: "command-finished";
      readonly observation: Observation;
      readonly durationMs: number;
      /** What the call spent on models of any kind. */
      readonly spent?: ModelSpending;
      /** True when a crash had cut the call off and its effect was found done. */
      readonly reconciled?: boolean;
      /** Set by task_complete: the model says that the goals are reached. */
      readonly closesTurn?: boolean;
    } & OfCall)
  // -- from outside, by the inbox
  | { readonly type: "approvals-granted"; readonly count: number }
  | { readonly type: "message-received"; readonly from: string; readonly text: Text }
  | { readonly type: "agent-paused"; readonly code: PauseCode; readonly reason: string }
  | { readonly type: "agent-resumed" }
  /** More to do after the last turn was finished: new goals, or a person's words. */
  | { readonly type: "turn-started"; readonly turn: number }
  | { readonly type: "turn-finished"; readonly outcome: "completed"; readonly reason: string }
  | FamilyEvent;

/** An event before the writer has stamped it; the frame defaults to the root. */
export type NewEvent = EventBody & { readonly frame?: number };

/** An event as it lies in the log: numbered without gaps from 1, stamped once, by the writer. */
export type RecordedEvent = EventBody & {
  readonly v: typeof EVENT_VERSION;
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly frame: number;
};

export type EventOf<T extends EventBody["type"]> = Extract<EventBody, { readonly type: T }>;
