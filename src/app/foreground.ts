/**
 * main-foreground.ts -- the composition of a run on a terminal that takes calls: what a daemon serves, around one agent that this process runs itself.
 *
 * Agents of the background that are given to it meanwhile run beside that one. They outlive it: when it is over, a daemon
 * is to go on with those that are not done, also when this process was killed.
 */
import { statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import type { Attended } from "#host/attended.ts";
import type { LiveTextWriter } from "#host/live-text.ts";
import type { Supervisor } from "#host/supervisor.ts";
import { systemClock } from "#util/clock.ts";
import { descendantsOf, stateOf } from "#views/load-agent.ts";
import type { Host } from "./main.ts";
import { type Redactors, type ServeParts, serveHost } from "./serve.ts";

export interface ForegroundServer {
  /** Takes no more calls, and finishes the steps of the others. Resolves to the ids of those that a daemon is to go on with. */
  close(): Promise<readonly string[]>;
}

/** For the steps of other agents when the run is over; they go on elsewhere soon. */
const GRACE_MS = 5_000;
/** Nobody who reads slowly holds up the end of the run. */
const LIMITS = { closeMs: 2_000, flushMs: 500 };

/** `socket`: where calls are taken, or why they are not; then, and when nobody can listen there, none are taken. */
export async function serveForeground(
  host: Host,
  socket: string | Error,
  {
    attended,
    live,
    ...redactors
  }: Redactors & Pick<ServeParts, "onQuestion"> & { readonly attended: Attended; readonly live: LiveTextWriter },
): Promise<ForegroundServer> {
  const guests = createGuests(host);
  const { supervisor, ...serving } = await serveHost({
    host,
    socket,
    ...redactors,
    attended,
    live,
    role: "foreground",
    onUnserved: ({ message }) => host.log.warn(`This run takes no calls: ${message}`),
    onOpen: (id) => guests.note(id),
    reload: async () => {
      throw onTerminal("goes on with the settings that it has read");
    },
    shutdown: () => {
      throw onTerminal("ends when its agent does, or with Ctrl-C on its terminal");
    },
    limits: LIMITS,
  });
  await goOnWithOthers(attended.id, host, supervisor.tell);
  attended.onSent((agents) => agents.forEach(supervisor.tell));
  return {
    close: async () => {
      serving.setStopping();
      await serving.close("The run on the terminal is over.");
      await letHear(attended.id, host, supervisor);
      await supervisor.drain(GRACE_MS);
      return guests.leave(attended.id);
    },
  };
}

/** Those that the agent has started, in this process or an earlier one, and that have something to do. */
async function goOnWithOthers(agent: string, { store }: Host, tell: (agent: string) => void): Promise<void> {
  const due = new Set(await store.due(systemClock.now().toISOString()));
  for (const { id, wakeAt } of await descendantsOf(agent, store)) if (wakeAt !== null || due.has(id)) tell(id);
}

/** What those that it has started were told at last, and that keeps none of them busy: that they stop, or that they are done. */
async function letHear(agent: string, { store }: Host, supervisor: Supervisor): Promise<void> {
  const grace = new AbortController();
  const over = systemClock.sleep(GRACE_MS, grace.signal);
  for (const { id } of await descendantsOf(agent, store)) {
    const unheard = await store.inbox(id);
    const stops = unheard.some(({ message }) => message.type === "halt" || message.type === "end");
    if (unheard.length === 0 || !(stops || isOver(await stateOf(store, { id })))) continue;
    supervisor.wake(id);
    await Promise.race([supervisor.lives.get(id)?.settled(), over]);
  }
  grace.abort();
}

const onTerminal = (what: string): GoaldError =>
  new GoaldError("GOALD_ALREADY_RUNNING", `A run on a terminal (pid ${process.pid}) runs the agents, and it ${what}.`);

/** The agents that the supervisor has had in hand. */
function createGuests({ home, store }: Host): {
  note(id: string): void;
  leave(attended: string): Promise<readonly string[]>;
} {
  const wanted = join(home.privateFolder, "wanted");
  const wasWanted = statSync(wanted, { throwIfNoEntry: false }) !== undefined;
  const ids = new Set<string>();
  /** At once: before anybody is told that the agent was taken. */
  const writeWanted = (): void => writeFileSync(wanted, "", { mode: 0o600 });

  async function isUnfinished(id: string): Promise<boolean> {
    if (!(await store.agent(id))) return false;
    const state = await stateOf(store, { id });
    const unheard = await store.inbox(id);
    const isHandedOver = unheard.some(({ message }) => "background" in message && message.background);
    return (state.settings.background || isHandedOver) && (!isOver(state) || unheard.length > 0);
  }

  return {
    // From here on whoever comes by starts the daemon when this process is killed.
    note: (id) => {
      ids.add(id);
      if (ids.size === 1) writeWanted();
    },
    leave: async (attended) => {
      const left: string[] = [];
      const others = (await descendantsOf(attended, store)).map(({ id }) => id);
      for (const id of new Set([...ids, ...others, attended])) if (await isUnfinished(id)) left.push(id);
      if (left.length > 0) writeWanted();
      else if (ids.size > 0 && !wasWanted) await rm(wanted, { force: true });
      return left;
    },
  };
}
