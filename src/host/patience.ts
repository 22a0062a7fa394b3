/** patience.ts -- how long a run stays open while its agent waits. */
import type { WaitFor } from "#core/call.ts";
import type { AgentState } from "#core/state.ts";
import { underWay } from "#core/under-way.ts";
import type { OpenedAgent } from "./opened-agent.ts";

const LONGEST_WAIT_MS = 10_000;
/**
 * A person who is there answers within minutes, and running a cell again costs up to the time that its code took. A process of
 * the sandbox holds some 200 MB.
 */
const CELL_WAIT_MS = 600_000;
/** How often a waiting cell looks whether others wait for its process. */
const CROWD_CHECK_MS = 500;

export interface Patience {
  /** A wait that is known to be longer is not begun. */
  readonly longestMs: number;
  /** Set inside a cell: whether the run must be left, looked at every `everyMs`. */
  readonly leave?: { readonly everyMs: number; when(waitedMs: number): boolean };
}

export function patienceFor(waitFor: WaitFor, state: AgentState, opened: OpenedAgent): Patience {
  switch (underWay(state, opened.lease.epoch)) {
    case "nothing":
      return { longestMs: opened.longestWaitMs?.(waitFor) ?? LONGEST_WAIT_MS };
    case "command":
      // Leaving it would interrupt it.
      return { longestMs: Number.POSITIVE_INFINITY };
    case "cell": {
      const when = (waitedMs: number): boolean => waitedMs >= CELL_WAIT_MS || opened.isSandboxCrowded?.() === true;
      const longestMs = waitFor === "time" ? CELL_WAIT_MS : Number.POSITIVE_INFINITY;
      return { longestMs, leave: { everyMs: CROWD_CHECK_MS, when } };
    }
  }
}
