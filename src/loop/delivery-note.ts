/** delivery-note.ts -- tells a person when the agent will read their message. */
import type { AgentRow } from "#core/ports/agent.ts";
import { type AgentState, isFinished, questionOf } from "#core/state.ts";

/** `runs`: a host runs the agent without a resume. */
export function deliveryNote({ id }: Pick<AgentRow, "id">, state: AgentState, runs: boolean): string {
  if (state.paused) return `It is paused and will read this when it goes on: goald resume ${id}`;
  if (isFinished(state)) return "It had finished, and goes on with this as its next turn.";
  if (questionOf(state) !== undefined && runs) return "It goes on with this as the answer to its question.";
  return runs ? "It will read this with its next step." : `It does not run: goald resume ${id}`;
}
