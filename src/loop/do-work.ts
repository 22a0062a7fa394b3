/** do-work.ts -- does the work of one move: prepare, intent, commit, act, record. */
import type { StagedWrite } from "#core/ports/store.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import { isolateCall } from "./isolate-call.ts";
import type { Outcome } from "./journal.ts";
import { mayDefer, type OpenRun } from "./lots.ts";
import type { RunParts } from "./run-parts.ts";
import type { Enter } from "./work.ts";

type WorkMove = Parameters<RunParts["prepare"]>[0];

/** Records the outcome. Resolves to false when the loop has to stop before the work has ended: its call stays open. */
export async function doWork(move: WorkMove, run: OpenRun, parts: RunParts, enter: Enter): Promise<boolean> {
  const { journal } = run;
  if (mayWait(move, journal.state, parts)) await journal.commit("now");
  const act = async (): Promise<boolean> => {
    const outcome = await prepareAndAct(move, run, parts, enter);
    if (!outcome) return false;
    journal.record(outcome);
    // The next recall reads the store, and must not show what this call has closed, replaced or hidden.
    if (outcome.staged?.some(changesMemory)) await journal.commit("now");
    return true;
  };
  const isCommand = move.kind === "execute" || move.kind === "probe";
  return isCommand ? isolateCall(move.callId, journal, parts, act) : act();
}

/** Recorded events, such as a paid reply, become durable before a move that may take long or end the process. */
function mayWait(move: WorkMove, state: AgentState, { rules, remoteRecall }: RunParts): boolean {
  if (move.kind === "ask") return remoteRecall();
  if (move.kind !== "execute") return move.kind === "probe";
  const name = openCommand(state, move.callId)?.call.name ?? "";
  return move.attempt > 1 || rules.facts(name)?.prepare !== undefined;
}

const changesMemory = (write: StagedWrite): boolean =>
  write.kind === "memory" && (write.supersedes !== undefined || write.factKey !== undefined);

async function prepareAndAct(
  move: WorkMove,
  { journal, lots }: OpenRun,
  parts: RunParts,
  enter: Enter,
): Promise<Outcome | null> {
  const work = await parts.prepare(move, journal);
  if (work.intent) {
    journal.record(work.intent);
    if (!mayDefer(move, journal, parts.rules, work.intent) || !lots.defer()) await journal.commit("now");
  }
  return work.act(enter);
}
