/** delivery-note.ts -- tells a person when the agent will read their message. */

import { opensTurn } from "#core/inbox.ts";
import { limitReached } from "#core/limits.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import { type AgentState, isFinished, questionOf } from "#core/state.ts";

interface Delivery {
  readonly message: InboxMessage;
  /** A host runs the agent without a resume. */
  readonly runs: boolean;
  readonly now: Date;
}

export function deliveryNote(
  { id }: Pick<AgentRow, "id">,
  state: AgentState,
  { message, runs, now }: Delivery,
): string {
  if (isFinished(state) && opensTurn(message)) {
    const limit = limitReached(state, state.step + 1, now);
    const more = limit ? ` ${limit.reason.replaceAll("<agent>", id)}` : "";
    return `It had finished. This begins turn ${state.turn + 1}.${more}`;
  }
  if (state.paused) return `It is paused and will read this when it goes on: goald resume ${id}`;
  if (questionOf(state) !== undefined && runs && message.type === "say")
    return "It goes on with this as the answer to its question.";
  return runs ? "It will read this with its next step." : `It does not run: goald resume ${id}`;
}
