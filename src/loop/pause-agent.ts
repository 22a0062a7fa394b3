/** pause-agent.ts -- an agent paused from outside its main loop, wherever it stands, when nothing of it is under way. */
import type { PauseCode } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { type JournalParts, openJournal } from "./journal.ts";

/** What was said before, a "go on" too, is heard before the pause: left lying, it would undo it. Resolves to the state then. */
export async function pauseAgent(
  lease: Lease,
  parts: JournalParts,
  why: { readonly code: PauseCode; readonly reason: string },
): Promise<AgentState> {
  const journal = await openJournal(lease, parts);
  const earlier = journal.state.paused;
  await journal.receiveInbox();
  const wasPaused = earlier !== null && journal.state.paused === earlier;
  if (!wasPaused && !isFinished(journal.state)) journal.record({ events: [{ type: "agent-paused", ...why }] });
  await journal.commit(null);
  return journal.state;
}
