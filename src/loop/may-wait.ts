/** may-wait.ts -- which moves may take long, or end the process, before their intent is durable. */
import type { Move } from "#core/move.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import type { RunParts } from "./run-parts.ts";

/** What is recorded becomes durable before such a move: a reply that was paid, and what we know about a crash. */
export function mayWait(move: Move, state: AgentState, { rules, remoteRecall }: RunParts): boolean {
  if (move.kind === "ask") return remoteRecall();
  if (move.kind !== "execute") return move.kind === "probe";
  const name = openCommand(state, move.callId)?.call.name ?? "";
  return move.attempt > 1 || rules.facts(name)?.prepare !== undefined;
}
