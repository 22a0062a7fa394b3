/**
 * host-control.ts -- the `Control` of a real host: its store, its supervisor, and nothing of its own.
 *
 * Whatever is asked of an agent is a row in its inbox before it is anything else, so that a crash
 * between the asking and the doing loses nothing.
 */
import { randomUUID } from "node:crypto";
import type { ApprovalAnswer, Control, ControlResult, DaemonStatus, NewAgent } from "#api/control.ts";
import type { LiveText } from "#api/live-text.ts";
import { GoaldError } from "#core/errors.ts";
import { opensTurn } from "#core/inbox.ts";
import type { AgentRow, AgentSpec } from "#core/ports/agent.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import { type AgentState, activeFrame, isFinished, isOver, openCommand } from "#core/state.ts";
import { heardNote } from "#loop/heard-note.ts";
import type { AgentView } from "#views/agent-view.ts";
import { countStandings } from "#views/count-standings.ts";
import { findAgent } from "#views/load-agent.ts";
import { changesOf } from "./change-memory.ts";
import { type ForkParts, forkAgent } from "./fork-agent.ts";
import { requireNoChildren, tellRemoval, withOthers } from "./host-family.ts";
import { createHostViews, type Found, type HostViewParts } from "./host-views.ts";

export interface HostControlParts extends HostViewParts {
  readonly live: LiveText;
  /** Checks and trims name, role and goals; throws GOALD_USAGE. */
  checkAgent(agent: Pick<AgentSpec, "name" | "role" | "goals">): Pick<AgentSpec, "name" | "role" | "goals">;
  status(agents: DaemonStatus["agents"]): DaemonStatus;
  reload(): Promise<readonly string[]>;
  shutdown(graceMs: number): void;
  /** Of an agent that is made here. */
  openWorkspace: ForkParts["openWorkspace"];
  /** Removes an agent's folder from the disk, or the files that its memory is searched by. */
  removeFolder(row: AgentRow): Promise<void>;
  removeIndexes(agent: string): Promise<void>;
}

export function createHostControl(parts: HostControlParts): Control {
  const { store, supervisor, clock } = parts;
  const { find, view, agents, forget } = createHostViews(parts);

  async function deliver(id: string, message: InboxMessage, key: string = randomUUID()): Promise<void> {
    await store.deliver(id, `${message.type}/${key}`, message, clock.now().toISOString());
  }

  async function done({ id }: AgentRow, note: string): Promise<ControlResult> {
    return { agent: await view(await findAgent(store, id)), note };
  }

  /** What the agent hears at once when it stands, and after the step when it is in one. */
  async function tell(found: Found, message: InboxMessage, key?: string): Promise<void> {
    const { row, state } = found;
    // More to do for one that had finished on a terminal: whoever says it here wants it done here.
    const isHandedOver = opensTurn(message) && isFinished(state) && !state.settings.background;
    if (isHandedOver) await deliver(row.id, { type: "settings", background: true });
    await deliver(row.id, message, key);
    if (isHandedOver || runsHere(found)) supervisor.wake(row.id);
  }

  /** An agent of a terminal does not begin to run in a daemon because somebody speaks to it. */
  const runsHere = ({ row, state }: Found): boolean => supervisor.lives.has(row.id) || state.settings.background;

  async function create(agent: NewAgent): Promise<AgentView> {
    const spec = { ...parts.checkAgent(agent), ...agent.settings, background: true };
    const row = await store.create(spec, `create/${agent.key ?? randomUUID()}`, clock.now().toISOString());
    supervisor.wake(row.id);
    return view(row);
  }

  async function say(name: string, words: Parameters<Control["say"]>[1]): Promise<ControlResult> {
    const found = await find(name);
    await tell(found, { type: "say", from: words.from, text: words.text }, words.key);
    return done(found.row, heardNote(found.row, found.state, runsHere(found)));
  }

  async function setGoals(name: string, goals: readonly string[]): Promise<ControlResult> {
    const found = await find(name);
    const checked = parts.checkAgent({ name: found.state.name, role: found.state.role, goals });
    await tell(found, { type: "goals", goals: checked.goals });
    return done(found.row, heardNote(found.row, found.state, runsHere(found)));
  }

  /** One that is about to go on, or still writes its report, stands as soon as that is over. */
  const stands = ({ id }: AgentRow, state: AgentState): boolean => isOver(state) && !supervisor.lives.get(id)?.running;

  async function pause(name: string, reason: string): Promise<ControlResult> {
    const { row, state } = await find(name);
    if (stands(row, state)) return done(row, "It stands already.");
    const isRunning = supervisor.lives.get(row.id)?.running;
    if (isRunning) await deliver(row.id, { type: "pause", reason });
    if (isRunning) supervisor.wake(row.id);
    else await supervisor.park(row.id, "person", reason);
    return done(row, await withOthers(row, "stop", store, isRunning ? "It finishes its step first." : ""));
  }

  async function stop(name: string, graceMs: number): Promise<ControlResult> {
    const { row, state } = await find(name);
    if (stands(row, state)) return done(row, "It stands already.");
    const life = supervisor.lives.get(row.id);
    if (!life?.running) await supervisor.park(row.id, "stopped", STOPPED);
    else {
      await deliver(row.id, { type: "pause", code: "stopped", reason: STOPPED });
      supervisor.wake(row.id);
      const grace = new AbortController();
      await Promise.race([life.settled(), clock.sleep(graceMs, grace.signal)]);
      grace.abort();
      const after = await find(row.id);
      if (!isOver(after.state)) {
        await supervisor.cutOff(row.id, "stopped", STOPPED);
        return done(row, `Its step did not end within ${graceMs / 1000} s and was cut off.`);
      }
    }
    return done(row, await withOthers(row, "stop", store));
  }

  async function kill(name: string): Promise<ControlResult> {
    const { row, state } = await find(name);
    if (stands(row, state)) return done(row, "It stands already.");
    await supervisor.cutOff(row.id, "killed", "Killed by a person.");
    return done(row, await withOthers(row, "stop", store));
  }

  async function resume(name: string, settings: Parameters<Control["resume"]>[1]): Promise<ControlResult> {
    const { row, state } = await find(name);
    if (isFinished(state)) throw conflict(`${row.id} has finished.`, `Give it more to do: goald say ${row.id} "…"`);
    const note = state.paused || state.outage ? await withOthers(row, "go on", store) : "It was not paused.";
    const key = randomUUID();
    await deliver(row.id, { type: "settings", ...settings, background: true }, `${key}/settings`);
    await deliver(row.id, { type: "resume" }, key);
    supervisor.wake(row.id);
    return done(row, note);
  }

  async function answer(name: string, given: ApprovalAnswer): Promise<ControlResult> {
    const found = await find(name);
    const { row, state } = found;
    const { phase } = activeFrame(state);
    const waiting = phase.kind === "awaiting-approval" ? phase.callId : undefined;
    if (waiting === undefined || (given.callId !== undefined && given.callId !== waiting))
      throw conflict(`${row.id} has no command that waits for this answer.`, `Where it stands: goald show ${row.id}`);
    await tell(found, { type: "approval", ...given, callId: waiting });
    const told = given.verdict === "approved" ? "Approved" : "Denied";
    return done(row, `${told}: ${openCommand(state, waiting)?.call.name ?? ""}`);
  }

  async function remove(name: string, how: Parameters<Control["remove"]>[1]): ReturnType<Control["remove"]> {
    const { row, state } = await find(name);
    await requireNoChildren(row, parts);
    if (!isOver(state) && !how.force)
      throw conflict(`${row.id} has not finished.`, `Stop it first: goald stop ${row.id}, or remove it with --force.`);
    if (!stands(row, state)) await supervisor.cutOff(row.id, "killed", "Removed by a person.");
    const { workspace } = await view(row);
    await tellRemoval(row, (await find(row.id)).state, parts);
    await store.remove(row.id);
    const life = supervisor.lives.get(row.id);
    supervisor.forget(row.id);
    await life?.settled();
    forget(row.id);
    await parts.removeIndexes(row.id);
    if (how.files) await parts.removeFolder(row);
    return { id: row.id, workspace };
  }

  return {
    status: async () => parts.status(countStandings(await agents())),
    agents,
    agent: async (name) => view(await findAgent(store, name)),
    create,
    say,
    setGoals,
    changeSettings: async (name, settings) => {
      const found = await find(name);
      await tell(found, { type: "settings", ...settings });
      return done(found.row, "");
    },
    pause,
    resume,
    stop,
    kill,
    answer,
    remove,
    fork: async (name, how) => {
      const { row, files } = await forkAgent(await findAgent(store, name), how, parts);
      return { ...(await view(row)), events: row.head, files };
    },
    changeMemory: changesOf(store, clock),
    page: async (name, after, limit) => {
      const { id, head } = await findAgent(store, name);
      return { events: await store.read(id, after, limit), head };
    },
    whenLonger: async (name, after, signal) => supervisor.whenLonger((await findAgent(store, name)).id, after, signal),
    live: parts.live,
    reload: parts.reload,
    shutdown: async (graceMs) => parts.shutdown(graceMs),
  };
}

const STOPPED = "Stopped by a person.";

const conflict = (message: string, hint: string): GoaldError => new GoaldError("GOALD_CONFLICT", message, { hint });
