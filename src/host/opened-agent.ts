/** opened-agent.ts -- the parts of one agent for the main loop, claimed for one run. */
import type { WaitFor } from "#core/call.ts";
import type { PauseCode } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { AgentState } from "#core/state.ts";
import type { RunParts } from "#loop/run.ts";

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
}
