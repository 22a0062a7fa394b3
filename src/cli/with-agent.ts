/** with-agent.ts -- finds the agent that a person names, reaches the daemon, and says what was done. */
import type { Client } from "#api/client.ts";
import { ensureDaemon, findRunning, type Reached } from "#api/find-daemon.ts";
import type { ControlResult, DaemonStatus } from "#api/schemas.ts";
import { printNote } from "#cli/terminal/print.ts";
import { conflict, GoaldError, isGoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { isFinished } from "#core/state.ts";
import { systemClock } from "#util/clock.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { LoadedAgent } from "#views/read-agent.ts";
import { readVersion } from "../shipped.ts";
import { isGoing, lookAgain, withReading } from "./agents.ts";
import { type AtHome, type CliContext, type GlobalOptions, openContext, printValue } from "./context.ts";

export interface Steered extends Found {
  readonly context: CliContext;
  /** Connects to the agent's host; starts a daemon when there is none. */
  reach(): Promise<Client>;
}

/**
 * Throws GOALD_NOT_FOUND with the names of all agents, before any daemon is started. `unique`: rejects a name that
 * several agents share. Without a name: the only agent that `fits`; by default one that runs or waits.
 */
export async function withAgent(
  name: string | undefined,
  options: GlobalOptions,
  steer: (agent: Steered) => Promise<number>,
  { unique = false, fits = isGoing }: { readonly unique?: boolean; readonly fits?: (view: AgentView) => boolean } = {},
): Promise<number> {
  using context = await openContext(options);
  const found = await findState(name ?? (await findOnly(fits, context)), context);
  if (name !== undefined) tellApart(name, found, unique);
  return await steer({ ...found, context, reach: () => reachHost(context) });
}

/** Throws GOALD_USAGE when none fits or more than one. */
async function findOnly(fits: (view: AgentView) => boolean, context: CliContext): Promise<string> {
  const views = await withReading(context, (reading) => reading.agents());
  const [only, ...others] = views.filter(fits);
  if (only && others.length === 0) return only.id;
  const hint = only ? `Name one: ${[only, ...others].map(({ id }) => id).join(", ")}` : "List the agents: goald ps";
  const problem = only ? "Which agent? Several could be meant." : "No agent could be meant.";
  throw new GoaldError("GOALD_USAGE", problem, { hint });
}

/** A shared name selects the newest agent, with a notice. `unique`: throws GOALD_CONFLICT instead. */
function tellApart(name: string, { row, namesakes: ids }: Found, unique: boolean): void {
  if (name === row.id || ids.length < 2) return;
  const others = ids.filter((id) => id !== row.id).join(", ");
  if (!unique) printNote(`Using ${row.id}, the newest agent called ${row.name}. Others: ${others}.`);
  else throw conflict(`${ids.length} agents are called ${row.name}.`, `Use an id: ${ids.join(", ")}`);
}

/** Prints the note and the agent's state. `more`: extra members of the JSON. */
export const tellDone = ({ agent, note }: ControlResult, context: CliContext, more: object = {}): number =>
  printValue(context, { agent, note, ...more }, () => withStanding(note, describeStanding(agent)));

/** Keeps a call at the end of the note on its own line, so that it can be pasted. */
const withStanding = (note: string, standing: string): string =>
  note === "" ? standing : `${note}${/[.…]$/.test(note) ? " " : "\n"}${standing}`;

function describeStanding(agent: AgentView): string {
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
  const changed = await lookAgain({ looks: 10, everyMs: 20 }, async () => {
    const view = await client.agent(told.id);
    return view.changedAt !== told.changedAt || view.state !== told.state ? view : undefined;
  });
  return changed ?? told;
}

export const viewNow = (context: CliContext, { id }: Pick<AgentRow, "id">): Promise<AgentView> =>
  withReading(context, (reading) => reading.agent(id));

export type Found = LoadedAgent;

/** Finds an agent by id or name. Throws GOALD_NOT_FOUND, whose hint lists known ids. */
export const findState = (name: string, context: CliContext): Promise<Found> =>
  withReading(context, (reading) => reading.state(name));

/** Returns the last changed unfinished agent, else the last changed one. Skips agents whose log cannot be read. */
export const lastAgent = (context: CliContext): Promise<Found | undefined> =>
  withReading(context, async (reading) => {
    const views = (await reading.agents()).filter(({ state }) => state !== "damaged");
    let newest: Found | undefined;
    for (const { id } of views.sort((a, b) => (a.changedAt < b.changedAt ? 1 : -1))) {
      const found = await reading.state(id);
      if (!isFinished(found.state) || found.hasTurnWaiting) return found;
      newest ??= found;
    }
    return newest;
  });

export async function findNamedOrLast(name: string | undefined, context: CliContext): Promise<Found> {
  const found = name === undefined ? await lastAgent(context) : await findState(name, context);
  if (found) return found;
  throw new GoaldError("GOALD_NOT_FOUND", "There is no agent to continue.", { hint: "List the agents: goald ps" });
}

export const reachHost = async (context: AtHome): Promise<Client> => (await reachDaemon(context)).client;

export async function reachDaemon({ home, output }: AtHome): Promise<Reached> {
  const reached = await ensureDaemon(home, { version: readVersion() });
  if (reached.started && !output.json) printNote(`Started the daemon (pid ${reached.status.pid}).`);
  return reached;
}

/** Wait in ms after a daemon's death: who ended it may end this call too. */
const REST_MS = 1_000;
/** A command that kills daemons pauses its agent before it has killed as many. */
const MAX_DEATHS = 5;

/** Repeats a request with a key when the daemon dies before its answer: what has the same key is done once. */
export async function askThroughDeaths<T>(context: AtHome, ask: () => Promise<T>): Promise<T> {
  for (let deaths = 1; ; deaths++)
    try {
      return await ask();
    } catch (thrown) {
      if (!isGoaldError(thrown, "GOALD_DAEMON") || deaths === MAX_DEATHS) throw thrown;
      await systemClock.sleep(REST_MS);
      await reachDaemon(context);
    }
}

/** Returns the status of the running daemon; undefined when there is none. Throws when it does not answer. */
export async function findDaemon({ home }: Pick<CliContext, "home">): Promise<DaemonStatus | undefined> {
  const onSilence = (why: GoaldError): never => {
    throw why;
  };
  return (await findRunning(home, { version: readVersion(), onSilence }))?.status;
}
