/**
 * steering.ts -- shared parts of verbs that control an agent: find it, connect to its host, print the result.
 *
 * An unknown agent is an error before any daemon is started.
 */

import type { Client } from "#api/client.ts";
import type { ControlResult } from "#api/schemas.ts";
import { printNote } from "#cli/terminal/print.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import type { AgentView } from "#views/agent-view.ts";
import { type CliContext, type GlobalOptions, openContext } from "./context.ts";
import { type Found, findState } from "./find.ts";
import { reachHost } from "./reach.ts";
import { withReading } from "./reading.ts";

export interface Steered extends Found {
  readonly context: CliContext;
  /** Connects to the agent's host; starts a daemon when there is none. */
  reach(): Promise<Client>;
}

/** Throws GOALD_NOT_FOUND with the names of all agents. `unique`: rejects a name that several agents share. */
export async function steering(
  name: string,
  options: GlobalOptions,
  steer: (agent: Steered) => Promise<number>,
  { unique = false }: { readonly unique?: boolean } = {},
): Promise<number> {
  const context = await openContext(options);
  try {
    const found = await findState(name, context);
    tellApart(name, found, unique);
    return await steer({ ...found, context, reach: () => reachHost(context) });
  } finally {
    context.output.close();
  }
}

/** A shared name selects the newest agent, with a notice. `unique`: throws GOALD_CONFLICT instead. */
function tellApart(name: string, { row, namesakes: ids }: Found, unique: boolean): void {
  if (name === row.id) return;
  if (ids.length < 2) return;
  const others = ids.filter((id) => id !== row.id).join(", ");
  if (!unique) printNote(`Using ${row.id}, the newest agent called ${row.name}. Others: ${others}.`);
  else
    throw new GoaldError("GOALD_CONFLICT", `${ids.length} agents are called ${row.name}.`, {
      hint: `Use an id: ${ids.join(", ")}`,
    });
}

/** Prints the note and the agent's state. `more`: extra members of the JSON. */
export function tellDone({ agent, note }: ControlResult, { output, redact }: CliContext, more: object = {}): number {
  if (output.json) output.data(redact(JSON.stringify({ agent, note, ...more })));
  else output.say(redact(clean(withStanding(note, standingOf(agent)))));
  return EXIT.ok;
}

/** Keeps a call at the end of the note on its own line, so that it can be pasted. */
const withStanding = (note: string, standing: string): string =>
  note === "" ? standing : `${note}${/[.…]$/.test(note) ? " " : "\n"}${standing}`;

function standingOf(agent: AgentView): string {
  const [, what] = /^(?:paused|waiting): (.+)$/.exec(agent.state) ?? [];
  const who = agent.state.startsWith("paused") ? "by a person" : "for a person";
  const why = what === undefined ? "" : what === "person" ? ` ${who}` : `: ${what}`;
  return `${agent.id} is ${stateWord(agent)}${why} (step ${agent.step}).`;
}

/** Returns `paused` for `paused: person`. */
export const stateWord = ({ state }: AgentView): string => state.split(":")[0] ?? state;

/**
 * Waits about 0.2 s for the agent to read its message, and returns its view. A waiting agent reads at once. `told`: the
 * view at delivery, returned after the timeout.
 */
export async function viewWhenHeard(client: Pick<Client, "agent">, told: AgentView): Promise<AgentView> {
  for (let look = 1; look <= LOOKS; look++) {
    const view = await client.agent(told.id);
    if (view.changedAt !== told.changedAt || view.state !== told.state) return view;
    await systemClock.sleep(LOOK_AGAIN_MS);
  }
  return told;
}

const LOOKS = 10;
const LOOK_AGAIN_MS = 20;

/** Returns the current view from the agent's log and host. */
export const viewNow = (context: CliContext, { id }: Pick<AgentRow, "id">): Promise<AgentView> =>
  withReading(context, (reading) => reading.agent(id));
