/** go-on.ts -- makes an agent go on for a person: from the end of its log, or with new goals as its next turn. */
import { randomUUID } from "node:crypto";
import type { Control } from "#api/control.ts";
import type { ControlResult } from "#api/schemas.ts";
import { GoaldError } from "#core/errors.ts";
import { opensTurn } from "#core/inbox.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { requireFinished } from "#views/next-step.ts";
import type { HostControlParts } from "./host-control.ts";
import { type Found, goalsMessage } from "./host-views.ts";
import { withOthers } from "./subagent-effects.ts";

type Settings = Parameters<Control["resume"]>[1];

export interface GoOnParts
  extends Pick<HostControlParts, "store" | "supervisor" | "recordings" | "checkAgent" | "checkSettings"> {
  find(name: string): Promise<Found>;
  deliver(id: string, message: InboxMessage, key?: string): Promise<void>;
  done(row: AgentRow, note: string): Promise<ControlResult>;
}

export class GoOnControl implements Pick<Control, "resume" | "beginTurn"> {
  readonly #parts: GoOnParts;

  constructor(parts: GoOnParts) {
    this.#parts = parts;
  }

  async resume(name: string, changes: Settings, { record }: { readonly record?: string } = {}): Promise<ControlResult> {
    const { supervisor, find, deliver, done } = this.#parts;
    const { row, state } = await find(name);
    const note = await this.#noteOfResume(row, state);
    const key = randomUUID();
    const background = await this.#change({ row, state }, changes, { record, key });
    await deliver(row.id, { type: "resume" }, key);
    supervisor.wake(row.id, !background);
    await supervisor.startSubAgents(row.id);
    return done(row, note);
  }

  /** Throws GOALD_CONFLICT for a finished agent, unless words or goals wait for it. */
  async #noteOfResume(row: AgentRow, state: AgentState): Promise<string> {
    const { store } = this.#parts;
    if (!isFinished(state))
      return state.paused || state.outage ? withOthers(row, "go on", store) : "It was not paused.";
    if ((await store.inbox(row.id)).some(({ message }) => opensTurn(message)))
      return `It begins turn ${state.turn + 1}.`;
    throw new GoaldError("GOALD_CONFLICT", `${row.id} has finished.`, {
      hint: `Give it more to do: goald say ${row.id} "…"`,
    });
  }

  /** The goals are delivered last: without them, nothing has begun. */
  async beginTurn(name: string, turn: Parameters<Control["beginTurn"]>[1]): Promise<ControlResult> {
    const { supervisor, checkAgent, find, deliver, done } = this.#parts;
    const { settings = {}, record, key = randomUUID() } = turn;
    const found = await find(name);
    const { row, state } = found;
    requireFinished(row.id, state);
    const goals = goalsMessage(state, turn, checkAgent);
    const background = await this.#change(found, settings, { record, key });
    await deliver(row.id, goals, key);
    supervisor.wake(row.id, !background);
    return done(row, `It begins turn ${state.turn + 1}.`);
  }

  /** Changes the settings and continues the recording. Returns whether the agent is in the background now. */
  async #change(
    { row, state }: Found,
    changes: Settings,
    { record, key }: { readonly record: string | undefined; readonly key: string },
  ): Promise<boolean> {
    const { background, ...settings } = {
      background: true,
      ...this.#parts.checkSettings(changes ?? {}, state.settings),
    };
    if (record !== undefined) resumeRecording(record, row, this.#parts);
    const moved = background || state.settings.background ? { background } : {};
    const message = { ...settings, ...moved };
    if (Object.keys(message).length > 0)
      await this.#parts.deliver(row.id, { type: "settings", ...message }, `${key}/settings`);
    return background;
  }
}

/** Throws GOALD_CONFLICT for an agent that runs and is not recorded into this file. */
function resumeRecording(
  path: string,
  row: AgentRow,
  { recordings, supervisor }: Pick<HostControlParts, "recordings" | "supervisor">,
): void {
  if (recordings.pathOf(row) === path) return;
  if (supervisor.runners.get(row.id)?.running)
    throw new GoaldError("GOALD_CONFLICT", `${row.id} is running, and is not recorded into ${path}.`, {
      hint: `Pause it first: goald pause ${row.id}`,
    });
  recordings.resume(path, row);
}
