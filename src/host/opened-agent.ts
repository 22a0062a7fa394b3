/** opened-agent.ts -- one agent's parts for the main loop, claimed for one run. */
import type { PauseCode } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { AgentState } from "#core/state.ts";
import type { RunParts } from "#loop/run.ts";

export interface PauseReason {
  readonly code: PauseCode;
  readonly reason: string;
}

export interface OpenedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<RunParts, "wait" | "draining" | "onCommitted" | "onSent">;
  /** Wraps the loop's parts of an agent that is recorded or replayed. */
  through?(parts: RunParts): RunParts;
  /** Called with the last state, when the loop has returned. */
  ended?(state: AgentState): Promise<void>;
  /** The run sleeps through waits up to this length; for a longer one it ends. Default: 10 s. */
  readonly longestWaitMs?: number;
}
