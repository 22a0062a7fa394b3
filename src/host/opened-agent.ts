/** opened-agent.ts -- the parts of one agent for the main loop, claimed for one run. */
import type { WaitFor } from "#core/call.ts";
import type { PauseCode, RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Lease } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { RunParts } from "#loop/run-parts.ts";
import type { IsolationQueue } from "./isolation-queue.ts";

export interface PauseReason {
  readonly code: PauseCode;
  readonly reason: string;
}

/** Longest wait in ms that a run sleeps through; it ends for a longer one. Default: 10 s. */
export type LongestWait = (waitFor: WaitFor) => number;

export interface OpenedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<RunParts, "wait" | "draining" | "onCommitted" | "onSent">;
  /** Wraps the loop's parts of a recorded or replayed agent. */
  through?(parts: RunParts): RunParts;
  /** Called with the last state when the loop has returned. */
  ended?(state: AgentState): Promise<void>;
  readonly longestWaitMs?: LongestWait;
  /** True while cells of other agents wait for a process. Absent: never. */
  isSandboxCrowded?(): boolean;
}

export interface RunnerParts {
  readonly clock: Clock;
  /** Aborted when the host shuts down. No new run or step starts after that. */
  readonly draining: AbortSignal;
  /** Aborting `signal` cuts the agent off. `pause` is set when the agent is opened only to be paused. */
  open(agent: string, signal: AbortSignal, pause?: PauseReason): Promise<OpenedAgent>;
  onCommitted(agent: string, events: readonly RecordedEvent[], state: AgentState): void;
  /** Called when the agent has started these agents or sent them a message. */
  onSent?(agents: readonly string[]): void;
  /** Turns of this host's agents to run a command alone. */
  readonly isolation: IsolationQueue;
  /** Called after each run, when the agent is idle. A rejection is reported and changes nothing. */
  onStopped(agent: string, state: AgentState): Promise<void>;
  /** Called when a run has failed. The runner retries it or pauses the agent. */
  onFailed?(agent: string, error: Error): void;
  /** Reports a problem with an agent, as a sentence. */
  report(agent: string, problem: string): void;
  /** Called when the runner holds nothing, not even a timer, and may be discarded. */
  onIdle(agent: string): void;
}
