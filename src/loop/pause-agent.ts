/** pause-agent.ts -- pauses an agent from outside its main loop, while nothing of it is under way. */
import type { PauseCode } from "#core/event.ts";
import type { Lease } from "#core/ports/store.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { type JournalParts, openJournal } from "./journal.ts";

/** Consumes the inbox before the pause: an unread resume would undo it. Resolves to the state after the pause. */
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
