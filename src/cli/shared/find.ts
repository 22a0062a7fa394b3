/**
 * find.ts -- the agent that a person means, and where it stands, read from the store: no host is needed for that.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { type AgentState, initialState, isFinished, STATE_VERSION } from "#core/state.ts";
import { findAgent } from "#views/load-agent.ts";
import type { CliContext } from "./context.ts";
import { readStore } from "./reading.ts";

export interface Found {
  readonly row: AgentRow;
  readonly state: AgentState;
  /** Number of the last event in the state. */
  readonly head: number;
}

/** By id or name. Throws GOALD_NOT_FOUND, naming those that are there. */
export const findState = (name: string, context: CliContext): Promise<Found> =>
  readStore(context, async (reader) => load(reader, await findAgent(reader, name)));

/** Ids of all agents of that name, the oldest first. */
export const namesakes = (name: string, context: CliContext): Promise<readonly string[]> =>
  readStore(context, async (reader) =>
    (await reader.agents()).filter((row) => row.name.toLowerCase() === name.toLowerCase()).map(({ id }) => id),
  );

/**
 * The agent that changed last of those that are not finished; else the one that changed last; undefined when there are none.
 * One whose log is damaged hides no other.
 */
export const lastAgent = (context: CliContext): Promise<Found | undefined> =>
  readStore(context, async (reader) => {
    const rows = [...(await reader.agents())].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    let newest: Found | undefined;
    for (const row of rows) {
      const found = await load(reader, row).catch(undefinedIfDamaged);
      if (!found) continue;
      if (!isFinished(found.state)) return found;
      newest ??= found;
    }
    return newest;
  });

/** The one that is named, or the last one. */
export async function findNamedOrLast(name: string | undefined, context: CliContext): Promise<Found> {
  const found = name === undefined ? await lastAgent(context) : await findState(name, context);
  if (found) return found;
  throw new GoaldError("GOALD_NOT_FOUND", "There is no agent to go on with.", { hint: "See them all: goald ps" });
}

async function load(reader: StoreReader, row: AgentRow): Promise<Found> {
  const { head, snapshot, events } = await reader.load(row.id, STATE_VERSION);
  return { row, head, state: replay(events, (snapshot?.state as AgentState | undefined) ?? initialState) };
}

function undefinedIfDamaged(error: unknown): undefined {
  if (!isGoaldError(error, "GOALD_STORE_DAMAGED")) throw error;
}
