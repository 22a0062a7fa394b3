/** run-parts.ts -- what the main loop needs from outside. */
import type { AskedScript } from "#core/call.ts";
import type { Move, Rules } from "#core/decide.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { Isolation } from "./isolate-call.ts";
import type { JournalParts } from "./journal.ts";
import type { Prepare } from "./perform.ts";

export interface RunParts extends JournalParts {
  readonly rules: Rules;
  readonly clock: Clock;
  /** Turns a move into an intent and an action. Changes nothing itself. */
  readonly prepare: Prepare;
  /** Reads a file of the agent for a person who is asked whether its code may run. */
  readScript?(file: string): Promise<Omit<AskedScript, "file">>;
  /** Writes a text into a file of goald's in the agent's folder, such as a long argument of a call. Throws a GoaldError when it cannot. */
  keepText?(path: string, text: string): Promise<readonly FileChange[]>;
  /** True when a recall may send a request. Results become durable before it. */
  remoteRecall(): boolean;
  /** Resolves to true when the time has come or a message has arrived, to false when this host does not wait for it. */
  wait(move: Extract<Move, { kind: "wait" }>, state: AgentState): Promise<boolean>;
  /** Aborted when the host shuts down: the current step finishes, and no other begins. */
  readonly draining?: AbortSignal;
  /** Aborted when the host cuts the agent off. A command under way is then recorded as cut off. */
  readonly cutOff?: AbortSignal;
  /** Commits come only where the events decide, and never because of time: a replay has to make the same ones. */
  readonly hasNoTimedCommits?: boolean;
  /** Absent: no other agents run beside this one. */
  readonly isolation?: Isolation;
}
