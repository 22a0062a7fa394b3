/**
 * run-parts.ts -- what the main loop needs from outside, and how it does a move: an intent to write first, and an action
 * to do then. Decided events get what only the log or the folder knows.
 */
import { hash } from "node:crypto";
import { type AskedScript, scriptOf } from "#core/call.ts";
import type { Move, Rules } from "#core/decide.ts";
import { isGoaldError } from "#core/errors.ts";
import type { NewEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { FileChange, StagedWrite } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import type { PrepareMove } from "./ask-model.ts";
import { mayCommitLater, type RunContext } from "./batched-commits.ts";
import { type Isolation, isolateCall } from "./isolate-call.ts";
import type { Journal, JournalParts, Outcome } from "./journal.ts";

export interface RunParts extends JournalParts {
  readonly rules: Rules;
  readonly clock: Clock;
  /** Turns a move into an intent and an action. Changes nothing itself. */
  readonly prepare: PrepareMove;
  /** Reads a file of the agent for a person who is asked whether its code may run. */
  readScript?(file: string): Promise<ReadScript>;
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
  /**
   * Commits come only where the events decide, and never because of time: a replay has to make the same ones. So a
   * suspect's command stays alone until it ends.
   */
  readonly hasNoTimedCommits?: boolean;
  /** Absent: no other agents run beside this one. */
  readonly isolation?: Isolation;
}

export interface PreparedMove {
  /** Durable before `perform` begins; null when `perform` has no effect outside. */
  readonly intent: Outcome | null;
  /** Resolves to null when nested work stopped before its end: the call stays open. */
  perform(runNested: RunNested): Promise<Outcome | null>;
}

/**
 * Records the events that push a frame (none when the frame is there already) and runs the loop until it is popped.
 * Resolves to false when the loop stopped before.
 */
export type RunNested = (push: readonly NewEvent[]) => Promise<boolean>;

/** A move that needs nothing from outside. */
export const effectless = (outcome: Outcome): PreparedMove => ({ intent: null, perform: async () => outcome });

type OutsideMove = Parameters<RunParts["prepare"]>[0];

/** Records the outcome. Resolves to false when the loop has to stop before the work has ended: its call stays open. */
export async function performMove(
  move: OutsideMove,
  { journal, batch }: RunContext,
  parts: RunParts,
  runNested: RunNested,
): Promise<boolean> {
  if (mayWait(move, journal.state, parts)) await journal.commit("now");
  const perform = async (): Promise<boolean> => {
    const prepared = await parts.prepare(move, journal);
    if (prepared.intent) {
      journal.record(prepared.intent);
      const mayWaitForBatch = mayCommitLater(move, journal, parts.rules, prepared.intent) && batch.mayBatch();
      if (!mayWaitForBatch) await journal.commit("now");
    }
    const outcome = await prepared.perform(runNested);
    if (!outcome) return false;
    journal.record(outcome);
    // The next recall reads the store, and must not show what this call has closed, replaced or hidden.
    if (outcome.staged?.some(changesMemory)) await journal.commit("now");
    return true;
  };
  const isCommand = move.kind === "execute" || move.kind === "probe";
  return isCommand ? isolateCall(move.callId, journal, parts, perform) : perform();
}

/** Recorded events, such as a paid reply, become durable before a move that may take long or end the process. */
function mayWait(move: OutsideMove, state: AgentState, { rules, remoteRecall }: RunParts): boolean {
  if (move.kind === "ask") return remoteRecall();
  if (move.kind !== "execute") return move.kind === "probe";
  const name = openCommand(state, move.callId)?.call.name ?? "";
  return move.attempt > 1 || rules.facts(name)?.prepare !== undefined;
}

const changesMemory = (write: StagedWrite): boolean =>
  write.kind === "memory" && (write.supersedes !== undefined || write.factKey !== undefined);

/**
 * Adds to a decided event what only the log or the folder knows: the script of a question, the memory of a turn. Both
 * events are always decided alone.
 */
export async function completeEvents(
  events: readonly NewEvent[],
  journal: Journal,
  parts: Pick<RunParts, "readScript" | "keepText" | "rules">,
): Promise<Outcome> {
  const [event] = events;
  switch (event?.type) {
    case "approval-asked": {
      const call = openCommand(journal.state, event.callId)?.call;
      const file = call && scriptOf(call);
      if (file === undefined || !parts.readScript) return { events };
      return { events: [{ ...event, script: { file, ...(await parts.readScript(file)) } }] };
    }
    case "turn-finished":
      return (await import("./turn-memory.ts")).rememberTurn(event, journal, parts);
    default:
      return { events };
  }
}

/** Larger files are not run. */
const MAX_SCRIPT_BYTES = 1024 * 1024;

export async function readScript(file: string, workspace: Pick<Workspace, "stat" | "read">): Promise<ReadScript> {
  try {
    const stat = await workspace.stat(file);
    if (!stat || stat.bytes > MAX_SCRIPT_BYTES) return UNREADABLE;
    const bytes = await workspace.read(file);
    return { sha256: hash("sha256", bytes), code: Buffer.from(bytes).toString("utf8") };
  } catch (error) {
    if (isGoaldError(error)) return UNREADABLE;
    throw error;
  }
}

type ReadScript = Omit<AskedScript, "file">;
const UNREADABLE: ReadScript = { sha256: null, code: "" };
