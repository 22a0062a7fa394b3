/** load-agent.ts -- an agent found by what a person calls it, and its state as the log has it. */
import { GoaldError } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, StoreReader } from "#core/ports.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";

/** By id, else by name; the newest of that name. Throws GOALD_NOT_FOUND, naming those that are there. */
export async function findAgent(reader: Pick<StoreReader, "agents" | "agent">, name: string): Promise<AgentRow> {
  const byId = await reader.agent(name);
  if (byId) return byId;
  const all = await reader.agents();
  const byName = all.findLast((row) => row.name.toLowerCase() === name.toLowerCase());
  if (byName) return byName;
  const known = all.map((row) => row.id).slice(-10);
  const hint = known.length > 0 ? `There are: ${known.join(", ")}.` : "There are none yet. Set one up: goald run";
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected the id or name of an agent, found none called ${JSON.stringify(name)}.`,
    { hint },
  );
}

/** Throws GOALD_STORE_DAMAGED for a log that cannot be read. */
export async function stateOf(reader: Pick<StoreReader, "load">, { id }: Pick<AgentRow, "id">): Promise<AgentState> {
  const { snapshot, events } = await reader.load(id, STATE_VERSION);
  return replay(events, (snapshot?.state as AgentState | undefined) ?? initialState);
}
