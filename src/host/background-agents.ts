/**
 * background-agents.ts -- tracks the background agents that a terminal's host runs and that outlive it.
 *
 * When the host ends or is killed, a daemon continues those that are unfinished.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import { isOver } from "#core/state.ts";
import { descendantsOf, stateOf } from "#views/load-agent.ts";
import type { Supervisor } from "./supervisor.ts";

export interface BackgroundAgentsParts {
  readonly store: Pick<Store, "agent" | "agents" | "load" | "inbox">;
  readonly clock: Clock;
  /** Marks the home, so that the next goald without a host starts the daemon. */
  expectDaemon(): void;
}

export class BackgroundAgents {
  readonly #parts: BackgroundAgentsParts;
  readonly #ids = new Set<string>();

  constructor(parts: BackgroundAgentsParts) {
    this.#parts = parts;
  }

  get hasAny(): boolean {
    return this.#ids.size > 0;
  }

  /** Called before the agent starts, and before its start is reported. */
  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size === 1) this.#parts.expectDaemon();
  }

  /** Waits up to `graceMs` until the sub-agents have read requests to stop or end. */
  async settleBelow(agent: string, supervisor: Supervisor, graceMs: number): Promise<void> {
    const { store, clock } = this.#parts;
    const grace = new AbortController();
    const over = clock.sleep(graceMs, grace.signal);
    for (const { id } of await descendantsOf(agent, store)) {
      const unread = await store.inbox(id);
      const stops = unread.some(({ message }) => message.type === "halt" || message.type === "end");
      if (unread.length === 0 || !(stops || isOver(await stateOf(store, { id })))) continue;
      supervisor.wake(id);
      await Promise.race([supervisor.runners.get(id)?.settled(), over]);
    }
    grace.abort();
  }

  /** Returns unfinished agents that a daemon must continue: `started`, their sub-agents and those added. */
  async unfinished(started: readonly string[]): Promise<readonly string[]> {
    const below = await Promise.all(started.map((id) => descendantsOf(id, this.#parts.store)));
    const ids = new Set([...this.#ids, ...below.flat().map(({ id }) => id), ...started]);
    const unfinished: string[] = [];
    for (const id of ids) if (await this.#isUnfinished(id)) unfinished.push(id);
    return unfinished;
  }

  async #isUnfinished(id: string): Promise<boolean> {
    const { store } = this.#parts;
    if (!(await store.agent(id))) return false;
    const state = await stateOf(store, { id });
    const unread = await store.inbox(id);
    const isHandedOver = unread.some(({ message }) => "background" in message && message.background);
    return (state.settings.background || isHandedOver) && (!isOver(state) || unread.length > 0);
  }
}
