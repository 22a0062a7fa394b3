/** do-work.ts -- does the work of one move: prepare, intent, commit, act. */
import { isolateCall } from "./isolate-call.ts";
import type { Journal, Outcome } from "./journal.ts";
import { mayWait } from "./may-wait.ts";
import type { RunParts } from "./run-parts.ts";
import type { Enter } from "./work.ts";

type WorkMove = Parameters<RunParts["prepare"]>[0];

/** Resolves to null when the loop has to stop before the work has ended: its call stays open. */
export async function doWork(move: WorkMove, journal: Journal, parts: RunParts, enter: Enter): Promise<Outcome | null> {
  if (mayWait(move, journal.state, parts)) await journal.commit("now");
  const act = (): Promise<Outcome | null> => prepareAndAct(move, journal, parts, enter);
  const isCommand = move.kind === "execute" || move.kind === "probe";
  return isCommand ? isolateCall(move.callId, journal, parts, act) : act();
}

async function prepareAndAct(move: WorkMove, journal: Journal, parts: RunParts, enter: Enter): Promise<Outcome | null> {
  const work = await parts.prepare(move, journal);
  if (work.intent) {
    journal.record(work.intent);
    await journal.commit("now");
  }
  return work.act(enter);
}
