/** halt-agent.ts -- pauses, stops or kills an agent for a person. Its sub-agents stop with it. */
import type { Control } from "#api/control.ts";
import type { ControlResult } from "#api/schemas.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import { type AgentState, isOver } from "#core/state.ts";
import type { Found, HostViewParts } from "./host-views.ts";
import { withOthers } from "./subagent-effects.ts";

export interface HaltParts extends Pick<HostViewParts, "store" | "supervisor" | "clock"> {
  find(name: string): Promise<Found>;
  deliver(id: string, message: InboxMessage): Promise<void>;
  done(row: AgentRow, note: string): Promise<ControlResult>;
}

const ALREADY = "It is already stopped.";
const STOPPED = "Stopped by a person.";

export class HaltControl implements Pick<Control, "pause" | "stop" | "kill"> {
  readonly #parts: HaltParts;

  constructor(parts: HaltParts) {
    this.#parts = parts;
  }

  /** Returns false while a run is ending or another run is about to follow. */
  isStill({ id }: AgentRow, state: AgentState): boolean {
    return isOver(state) && !this.#parts.supervisor.runners.get(id)?.running;
  }

  async pause(name: string, reason: string): Promise<ControlResult> {
    const { supervisor, store, find, deliver, done } = this.#parts;
    const { row, state } = await find(name);
    if (this.isStill(row, state)) return done(row, ALREADY);
    const runner = supervisor.runners.get(row.id);
    const isRunning = runner?.running === true;
    if (isRunning) await deliver(row.id, { type: "pause", reason });
    if (isRunning) runner.wake();
    else await supervisor.pause(row.id, "person", reason);
    return done(row, await withOthers(row, "stop", store, isRunning ? "It finishes its step first." : ""));
  }

  async stop(name: string, graceMs: number): Promise<ControlResult> {
    const { supervisor, store, find, done } = this.#parts;
    const { row, state } = await find(name);
    if (this.isStill(row, state)) return done(row, ALREADY);
    const isRunning = supervisor.runners.get(row.id)?.running === true;
    if (!isRunning) await supervisor.pause(row.id, "stopped", STOPPED);
    else if (!(await this.#stopsWithin(row.id, graceMs))) {
      await supervisor.cutOff(row.id, "stopped", STOPPED);
      return done(row, `Its step did not end within ${graceMs / 1000} s and was cut off.`);
    }
    return done(row, await withOthers(row, "stop", store));
  }

  async kill(name: string): Promise<ControlResult> {
    const { supervisor, store, find, done } = this.#parts;
    const { row, state } = await find(name);
    if (this.isStill(row, state)) return done(row, ALREADY);
    await supervisor.cutOff(row.id, "killed", "Killed by a person.");
    return done(row, await withOthers(row, "stop", store));
  }

  async #stopsWithin(id: string, graceMs: number): Promise<boolean> {
    const { supervisor, clock, find, deliver } = this.#parts;
    await deliver(id, { type: "pause", code: "stopped", reason: STOPPED });
    const runner = supervisor.runners.get(id);
    runner?.wake();
    const grace = new AbortController();
    await Promise.race([runner?.settled(), clock.sleep(graceMs, grace.signal)]);
    grace.abort();
    return isOver((await find(id)).state);
  }
}
