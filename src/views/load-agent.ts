/** load-agent.ts -- an agent found by what a person calls it, and its state as the log has it. */
import { GoaldError } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";

/** By id, else by name; the newest of that name, those that no agent started first. Throws GOALD_NOT_FOUND, naming those that are there. */
export async function findAgent(reader: Pick<StoreReader, "agents" | "agent">, name: string): Promise<AgentRow> {
  const byId = await reader.agent(name);
  if (byId) return byId;
  const all = await reader.agents();
  const namesakes = all.filter((row) => row.name.toLowerCase() === name.toLowerCase());
  const byName = namesakes.findLast(({ parent }) => parent === null) ?? namesakes.at(-1);
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

/** Those that it has started, and those that they have, parents first. */
export async function descendantsOf(id: string, reader: Pick<StoreReader, "agents">): Promise<readonly AgentRow[]> {
  const found = new Set([id]);
  // A parent is older than what it starts, and rows are in order of age.
  return (await reader.agents()).filter(
    ({ id: own, parent }) => parent !== null && found.has(parent) && found.add(own),
  );
}
