/**
 * steering.ts -- what the verbs that steer an agent have in common: they find it, reach its host, and say what came of it.
 *
 * An agent that is not there is found out before any daemon is started for it.
 */
import type { Client } from "#client/client.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports.ts";
import type { AgentView, Done } from "#daemon/control.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { type Found, findState } from "./find.ts";
import { type GlobalOptions, type House, openHouse } from "./house.ts";
import { reachHost } from "./reach.ts";
import { readStore, viewAgents } from "./reading.ts";

export interface Steered extends Found {
  readonly house: House;
  /** The host of the agent; a daemon is started when there is none. */
  reach(): Promise<Client>;
}

/** Throws GOALD_NOT_FOUND, naming the agents that are there. */
export async function steering(
  name: string,
  options: GlobalOptions,
  steer: (agent: Steered) => Promise<number>,
): Promise<number> {
  const house = await openHouse(options);
  try {
    return await steer({ ...(await findState(name, house)), house, reach: () => reachHost(house) });
  } finally {
    house.talk.close();
  }
}

/** Says what was done, and where the agent stands now. `more`: for programs only. */
export function tellDone({ agent, note }: Done, { talk, redact }: House, more: object = {}): number {
  if (talk.json) talk.data(redact(JSON.stringify({ agent, note, ...more })));
  else talk.say(clean(redact([note, standingOf(agent)].filter((text) => text !== "").join(" "))));
  return EXIT.ok;
}

function standingOf({ id, state, step }: AgentView): string {
  const [, kind = state, what] = /^(paused|waiting): (.+)$/.exec(state) ?? [];
  return `${id} is ${kind}${what === undefined ? "" : ` (${what})`}, at step ${step}.`;
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

/** As its log and its host say it stands. */
export async function viewNow(house: House, row: AgentRow): Promise<AgentView> {
  const [view] = await readStore(house, (reader) => viewAgents(reader, house, [row]));
  if (view) return view;
  throw new GoaldError("GOALD_NOT_FOUND", `${row.id} is not there any more.`, { hint: "See them all: goald ps" });
}
