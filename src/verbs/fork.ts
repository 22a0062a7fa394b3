/**
 * fork.ts -- `goald fork`: a new agent that begins where another stood after a step.
 *
 * Its log begins with the other's events up to there; its memories and files are those of then. It is paused, and goes on
 * when somebody resumes it. The other agent is not touched, and may be at work: but the store is written by one process only,
 * so that no host may be up meanwhile. The log is durable before the first file is written.
 */
import { validateAgent } from "#config/agent-spec.ts";
import { makeFolders } from "#config/make-folders.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type NewEvent, type RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { receive } from "#core/inbox.ts";
import type { AgentRow, InboxMessage, Store } from "#core/ports.ts";
import type { AgentState } from "#core/state.ts";
import { holdHostLock } from "#store/host-lock.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { findAgent } from "#views/load-agent.ts";
import { restoreVersion } from "#views/restore-version.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { readVersion } from "../shipped.ts";
import { requireTaken } from "./diff.ts";
import { again, counted, type GlobalOptions, type House, openHouse } from "./house.ts";
import { allEvents, folderOf, readStore } from "./reading.ts";

export interface ForkOptions extends GlobalOptions {
  readonly goal?: readonly string[];
  readonly name?: string;
}

/** `step`: after which the new agent begins; 0 is before the first. */
export async function forkVerb(name: string, step: number, options: ForkOptions): Promise<number> {
  const house = await openHouse(options);
  try {
    // Before the lock: a name that is wrong needs no host to go down.
    const row = await readStore(house, (reader) => findAgent(reader, name));
    using _lock = holdHostLock(house.home.lock, {
      pid: process.pid,
      version: readVersion(),
      startedAt: systemClock.now().toISOString(),
    });
    const store = await openSqliteStore(house.home.database);
    try {
      const fork = await forkAgent(row, step, options, house, store);
      const files = await writeFiles(fork, store, house);
      say(row, fork, step, files, house);
      return EXIT.ok;
    } finally {
      await store.close();
    }
  } finally {
    house.talk.close();
  }
}

async function forkAgent(
  row: AgentRow,
  step: number,
  options: ForkOptions,
  house: House,
  store: Store,
): Promise<AgentRow> {
  const past = await pastOf(row, step, store);
  const state = replay(past);
  const given = options.goal ?? [];
  const { name, goals } = validateAgent({
    name: options.name ?? row.name,
    role: state.role,
    goals: given.length > 0 ? given.map(house.scrub) : state.goals,
  });
  const at = systemClock.now().toISOString();
  const events = newEvents(row, step, given.length > 0 ? goals : undefined, state, past.length, at);
  return store.fork(row.id, { name, head: past.length, events }, `fork/${process.pid}/${at}`);
}

/** Up to the last event of the step. What people said and did after it is no part of it. */
async function pastOf(row: AgentRow, step: number, store: Store): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  let [end, last] = [1, 0];
  for await (const event of allEvents(store, row.id)) {
    if ("step" in event) {
      last = event.step;
      if (event.step > step) break;
      end = event.seq;
    } else if (event.type === "turn-finished") end = event.seq;
    events.push(event);
  }
  requireTaken(step, last, row.id);
  return events.slice(0, end);
}

/** The new goals, if there are any; and that it does not go on by itself, with where it comes from. */
function newEvents(
  { id }: AgentRow,
  step: number,
  goals: readonly string[] | undefined,
  from: AgentState,
  head: number,
  at: string,
): readonly RecordedEvent[] {
  const messages: readonly InboxMessage[] = [
    ...(goals ? [{ type: "goals", goals } as const] : []),
    { type: "pause", reason: `Forked from ${id} as it was after step ${step}. It has not gone on since.` },
  ];
  let state = from;
  const events: RecordedEvent[] = [];
  const record = (event: NewEvent): void => {
    const stamped = { frame: 0, ...event, v: EVENT_VERSION, seq: head + events.length + 1, at } as RecordedEvent;
    events.push(stamped);
    state = evolve(state, stamped);
  };
  for (const message of messages) for (const event of receive(message, state)) record(event);
  return events;
}

/** Those that its history holds, goald's own for the long outputs too. Returns how many. */
async function writeFiles(fork: AgentRow, store: Store, house: House): Promise<number> {
  const folder = folderOf(house, fork);
  await makeFolders(folder, 0o777);
  const workspace = openLocalWorkspace(folder, undefined, { own: true });
  const byPath = Map.groupBy(await store.files(fork.id), ({ path }) => path);
  let count = 0;
  for (const [path, versions] of byPath) {
    const content = await restoreVersion(versions, store);
    if (content === null) continue;
    await workspace.write(path, content).catch((cause) => {
      throw new GoaldError("GOALD_FILE", `${fork.id} is there, but its file ${path} could not be written.`, {
        hint: `Its history holds it: goald restore ${fork.id} --step N`,
        cause,
      });
    });
    count++;
  }
  return count;
}

function say(from: AgentRow, fork: AgentRow, step: number, files: number, house: House): void {
  const { talk, home } = house;
  const workspace = folderOf(house, fork);
  if (talk.json) {
    const { id, name, head } = fork;
    talk.data(JSON.stringify({ agent: id, name, from: from.id, step, events: head, files, workspace }));
    return;
  }
  talk.data(fork.id);
  const tell = process.stdout.isTTY ? talk.say : console.error;
  tell(
    clean(
      `${fork.name} (${fork.id}) begins where ${from.id} stood after step ${step}, with ${counted(files, "file")} in ${workspace}`,
    ),
  );
  tell(`It is paused. Go on with: ${again(home, "resume", fork.id)}`);
}
