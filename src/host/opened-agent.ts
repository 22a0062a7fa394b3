/** opened-agent.ts -- one agent's parts for the main loop, claimed for one run. */
import type { WaitFor } from "#core/call.ts";
import type { PauseCode } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { AgentState } from "#core/state.ts";
import type { RunParts } from "#loop/run.ts";

export interface PauseReason {
  readonly code: PauseCode;
  readonly reason: string;
}

/** A run sleeps through waits up to this many ms; for a longer one it ends. Default: 10 s. */
export type LongestWait = (waitFor: WaitFor) => number;

export interface OpenedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<RunParts, "wait" | "draining" | "onCommitted" | "onSent">;
  /** Wraps the loop's parts of an agent that is recorded or replayed. */
  through?(parts: RunParts): RunParts;
  /** Called with the last state, when the loop has returned. */
  ended?(state: AgentState): Promise<void>;
  readonly longestWaitMs?: LongestWait;
}
