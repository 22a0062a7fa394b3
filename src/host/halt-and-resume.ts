/** halt-and-resume.ts -- pauses, stops and continues agents for a person. Their sub-agents follow. */
import { randomUUID } from "node:crypto";
import type { Control } from "#api/control.ts";
import type { ControlResult } from "#api/schemas.ts";
import { conflict } from "#core/errors.ts";
import { opensTurn } from "#core/inbox.ts";
import { limitReached, limitsFrom, spentOf } from "#core/limits.ts";
import type { AgentRow, InboxMessage, Store } from "#core/ports/store.ts";
import { type AgentState, isFinished, isHeld, isOver } from "#core/state.ts";
import type { ChildAccount } from "#core/subagent.ts";
import { requireFinished } from "#views/next-step.ts";
import { descendantsOf, findAgent, stateOf } from "#views/read-agent.ts";
import type { HostControlParts } from "./host-control.ts";
import { createHostViews, type Found, goalsMessage, type HostViews } from "./host-views.ts";

type Settings = Parameters<Control["resume"]>[1];
type How = NonNullable<Parameters<Control["resume"]>[2]>;

const ALREADY = "It is already stopped.";
const STOPPED = "Stopped by a person.";
const MORE = 'A request allows more with: {"more": {"steps": 50, "tokens": 100000, "usd": 1, "timeMs": 3600000}}';
export const REPEATED = "Nothing is done: a request with this key came before.";

export abstract class RunControl implements Pick<Control, "pause" | "stop" | "kill" | "resume" | "beginTurn"> {
  protected readonly parts: HostControlParts;
  protected readonly views: HostViews;

  constructor(parts: HostControlParts) {
    this.parts = parts;
    this.views = createHostViews(parts);
  }

  /** Returns false while a run is ending or another run is about to follow. */
  protected isStill({ id }: AgentRow, state: AgentState): boolean {
    return isOver(state) && !this.parts.supervisor.runners.get(id)?.running;
  }

  /** Resolves to false for a key that came before: nothing is done again. */
  protected deliver(id: string, message: InboxMessage, key: string = randomUUID()): Promise<boolean> {
    const { store, clock } = this.parts;
    return store.deliver(id, `${message.type}/${key}`, message, clock.now().toISOString());
  }

  protected async done({ id }: AgentRow, note: string): Promise<ControlResult> {
    return { agent: await this.views.view(await findAgent(this.parts.store, id)), note };
  }

  async pause(name: string, reason: string): Promise<ControlResult> {
    const { supervisor, store } = this.parts;
    const { row, state } = await this.views.find(name);
    if (this.isStill(row, state)) return this.done(row, ALREADY);
    const runner = supervisor.runners.get(row.id);
    const isRunning = runner?.running === true;
    if (isRunning) await this.deliver(row.id, { type: "pause", reason });
    if (isRunning) runner.wake();
    else await supervisor.pause(row.id, "person", reason);
    return this.done(row, await nameSubAgents(row, "stop", store, isRunning ? "It finishes its step first." : ""));
  }

  async stop(name: string, graceMs: number): Promise<ControlResult> {
    const { supervisor, store } = this.parts;
    const { row, state } = await this.views.find(name);
    if (this.isStill(row, state)) return this.done(row, ALREADY);
    if (!supervisor.runners.get(row.id)?.running) await supervisor.pause(row.id, "stopped", STOPPED);
    else if (!(await this.#stopsWithin(row.id, graceMs))) {
      await supervisor.cutOff(row.id, "stopped", STOPPED);
      return this.done(row, `Its step did not end within ${graceMs / 1000} s and was cut off.`);
    }
    return this.done(row, await nameSubAgents(row, "stop", store));
  }

  async kill(name: string): Promise<ControlResult> {
    const { supervisor, store } = this.parts;
    const { row, state } = await this.views.find(name);
    if (this.isStill(row, state)) return this.done(row, ALREADY);
    await supervisor.cutOff(row.id, "killed", "Killed by a person.");
    for (const { id } of await descendantsOf(row.id, store))
      if (supervisor.runners.get(id)?.running) await supervisor.cutOff(id, "parent", `${row.id} was killed.`);
    return this.done(row, await nameSubAgents(row, "stop", store));
  }

  async #stopsWithin(id: string, graceMs: number): Promise<boolean> {
    const { supervisor, clock } = this.parts;
    await this.deliver(id, { type: "pause", code: "stopped", reason: STOPPED });
    const runner = supervisor.runners.get(id);
    runner?.wake();
    const grace = new AbortController();
    await Promise.race([runner?.settled(), clock.sleep(graceMs, grace.signal)]);
    grace.abort();
    return isOver((await this.views.find(id)).state);
  }

  async resume(name: string, changes: Settings, { record, more = {} }: How = {}): Promise<ControlResult> {
    const { supervisor, clock } = this.parts;
    const { row, state } = await this.views.find(name);
    const note = await this.#noteOfResume(row, state);
    const key = randomUUID();
    const settings = { ...changes, ...limitsFrom(state, more, clock.now()) };
    const limit = limitReached({ ...state, settings: { ...state.settings, ...settings } }, state.step + 1, clock.now());
    if (limit && limit.code === state.paused?.code) throw conflict(limit.reason.replaceAll("<agent>", row.id), MORE);
    const background = await this.#change({ row, state }, settings, { record, key });
    await this.deliver(row.id, { type: "resume" }, key);
    supervisor.wake(row.id, !background);
    await supervisor.startSubAgents(row.id);
    return this.done(row, note);
  }

  /** Throws GOALD_CONFLICT for a finished agent, unless words or goals wait for it. */
  async #noteOfResume(row: AgentRow, state: AgentState): Promise<string> {
    const { store } = this.parts;
    if (!isFinished(state))
      return isHeld(state) ? nameSubAgents(row, "go on", store) : "It was not paused; settings that you gave apply.";
    if ((await store.inbox(row.id)).some(({ message }) => opensTurn(message)))
      return `It begins turn ${state.turn + 1}.`;
    throw conflict(`${row.id} has finished.`, `Give it more to do: goald say ${row.id} "…"`);
  }

  /** The goals are delivered last: without them, nothing has begun. */
  async beginTurn(name: string, turn: Parameters<Control["beginTurn"]>[1]): Promise<ControlResult> {
    const { supervisor, checkAgent, store } = this.parts;
    const { settings = {}, record, key = randomUUID() } = turn;
    const found = await this.views.find(name);
    const { row, state } = found;
    if (await store.hasMessage(row.id, `goals/${key}`)) return this.done(row, REPEATED);
    requireFinished(row.id, state);
    const goals = goalsMessage(state, turn, checkAgent);
    const background = await this.#change(found, settings, { record, key });
    await this.deliver(row.id, goals, key);
    supervisor.wake(row.id, !background);
    return this.done(row, `It begins turn ${state.turn + 1}.`);
  }

  /** Called before the removal: the parent gets back the unused part of the reserved limits. */
  protected async tellRemoval({ id, parent, createdAt }: AgentRow): Promise<void> {
    if (parent === null) return;
    const { state } = await this.views.find(id);
    const text = "It was removed by a person. Its files stay where they are, unless those were removed, too.";
    const report = lastReport(id, text, state.tasksReceived, spentOf(state));
    await this.deliver(parent, report, `removed/${id}/${createdAt}`);
    this.parts.supervisor.notify(parent);
  }

  /** Changes the settings and continues the recording. Returns whether the agent is in the background now. */
  async #change(
    { row, state }: Found,
    changes: Settings,
    { record, key }: { readonly record: string | undefined; readonly key: string },
  ): Promise<boolean> {
    const { background, ...settings } = {
      background: true,
      ...this.parts.checkSettings(changes, state.settings),
    };
    if (record !== undefined) resumeRecording(record, row, this.parts);
    const moved = background || state.settings.background ? { background } : {};
    const message = { ...settings, ...moved };
    if (Object.keys(message).length > 0)
      await this.deliver(row.id, { type: "settings", ...message }, `${key}/settings`);
    return background;
  }
}

/** Throws GOALD_CONFLICT for an agent that runs and is not recorded into this file. */
function resumeRecording(path: string, row: AgentRow, { recordings, supervisor }: HostControlParts): void {
  if (recordings.pathOf(row) !== path && supervisor.runners.get(row.id)?.running)
    throw conflict(`${row.id} is running, and is not recorded into ${path}.`, `Stop it first: goald stop ${row.id}`);
  recordings.resume(path, row);
}

/** The report on an agent that no longer works for the agent that started it. `text` says why. */
export function lastReport(
  agent: string,
  text: string,
  tasksReceived: number,
  spent: ChildAccount["spent"],
): InboxMessage {
  const observation = { status: "failed", code: "agent-removed", text, source: "goald", artifacts: [] } as const;
  return { type: "report", agent, status: "ended", tasksReceived, spent, observation };
}

/** Appends to `note` a sentence that names the sub-agents that stop or continue too, if any. */
async function nameSubAgents({ id }: AgentRow, verb: "stop" | "go on", store: Store, note = ""): Promise<string> {
  const meant: string[] = [];
  for (const row of await descendantsOf(id, store)) {
    const state = await stateOf(store, row);
    if (state.paused?.code === "parent" || (verb === "stop" && !isOver(state))) meant.push(row.id);
  }
  const others = meant.length === 0 ? "" : `Its agents ${verb} with it: ${meant.join(", ")}.`;
  return [note, others].filter((sentence) => sentence !== "").join(" ");
}
