/**
 * steering.ts -- what the verbs that steer an agent have in common: they find it, reach its host, and say what came of it.
 *
 * An agent that is not there is found out before any daemon is started for it.
 */
import type { Client } from "#api/client.ts";
import type { ControlResult } from "#api/control.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { AgentView } from "#views/agent-view.ts";
import { type CliContext, type GlobalOptions, openContext } from "./context.ts";
import { type Found, findState } from "./find.ts";
import { reachHost } from "./reach.ts";
import { withReading } from "./reading.ts";

export interface Steered extends Found {
  readonly context: CliContext;
  /** The host of the agent; a daemon is started when there is none. */
  reach(): Promise<Client>;
}

/** Throws GOALD_NOT_FOUND, naming the agents that are there. `unique`: a name of several agents is not good enough. */
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

/**
 * A name may be that of several agents: it means the newest, and a person who did not know that is told. `unique`: for
 * what cannot be undone it is not good enough. Throws GOALD_CONFLICT then.
 */
function tellApart(name: string, { row, namesakes: ids }: Found, unique: boolean): void {
  if (name === row.id) return;
  if (ids.length < 2) return;
  const others = ids.filter((id) => id !== row.id).join(", ");
  if (!unique) console.error(clean(`This is ${row.id}, the newest called ${row.name}. There are others: ${others}.`));
  else
    throw new GoaldError("GOALD_CONFLICT", `${ids.length} agents are called ${row.name}: which one is meant?`, {
      hint: `Name it by its id: ${ids.join(", ")}`,
    });
}

/** Says what was done, and where the agent stands now. `more`: for programs only. */
export function tellDone({ agent, note }: ControlResult, { output, redact }: CliContext, more: object = {}): number {
  if (output.json) output.data(redact(JSON.stringify({ agent, note, ...more })));
  else output.say(redact(clean(withStanding(note, standingOf(agent)))));
  return EXIT.ok;
}

/** A call to be pasted at the end of the note stays the end of its line. */
const withStanding = (note: string, standing: string): string =>
  note === "" ? standing : `${note}${/[.…]$/.test(note) ? " " : "\n"}${standing}`;

function standingOf({ id, state, step }: AgentView): string {
  const [, kind = state, what] = /^(paused|waiting): (.+)$/.exec(state) ?? [];
  const why =
    what === "person" ? ` ${kind === "paused" ? "by" : "for"} a person` : what === undefined ? "" : ` (${what})`;
  return `${id} is ${kind}${why}, at step ${step}.`;
}

/**
 * The agent as it stands when it has heard what it was told, which it does at once where it waits or rests. `told`: as it
 * stood then. It is not waited for long: what is told is durable, and so is no less true when it comes late.
 */
export async function viewWhenHeard(client: Client, told: AgentView): Promise<AgentView> {
  for (let look = 1; look <= LOOKS; look++) {
    const view = await client.agent(told.id);
    if (view.changedAt !== told.changedAt || view.state !== told.state) return view;
    await systemClock.sleep(LOOK_AGAIN_MS);
  }
  return told;
}

const LOOKS = 10;
const LOOK_AGAIN_MS = 20;

/** As its log and its host show it now. */
export const viewNow = (context: CliContext, { id }: Pick<AgentRow, "id">): Promise<AgentView> =>
  withReading(context, (reading) => reading.agent(id));
