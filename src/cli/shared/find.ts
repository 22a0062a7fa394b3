/** find.ts -- finds the agent that a person names, with its state. Needs no host. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { isFinished } from "#core/state.ts";
import type { LoadedAgent } from "#views/read-agent.ts";
import type { CliContext } from "./context.ts";
import { withReading } from "./reading.ts";

export type Found = LoadedAgent;

/** Finds an agent by id or name. Throws GOALD_NOT_FOUND, whose hint lists known ids. */
export const findState = (name: string, context: CliContext): Promise<Found> =>
  withReading(context, (reading) => reading.state(name));

/** Returns the last changed unfinished agent, else the last changed one. Skips agents whose log cannot be read. */
export const lastAgent = (context: CliContext): Promise<Found | undefined> =>
  withReading(context, async (reading) => {
    const views = [...(await reading.agents())].sort((a, b) => (a.changedAt < b.changedAt ? 1 : -1));
    let newest: Found | undefined;
    for (const { id } of views) {
      const found = await reading.state(id).catch(undefinedIfDamaged);
      if (!found) continue;
      if (!isFinished(found.state) || found.hasTurnWaiting) return found;
      newest ??= found;
    }
    return newest;
  });

/** Returns the named agent, or the last one. */
export async function findNamedOrLast(name: string | undefined, context: CliContext): Promise<Found> {
  const found = name === undefined ? await lastAgent(context) : await findState(name, context);
  if (found) return found;
  throw new GoaldError("GOALD_NOT_FOUND", "There is no agent to continue.", { hint: "List the agents: goald ps" });
}

function undefinedIfDamaged(error: unknown): undefined {
  if (!isGoaldError(error, "GOALD_STORE_DAMAGED")) throw error;
}
