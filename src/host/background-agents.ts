/**
 * background-agents.ts -- agents that outlive the host in a terminal's process: those of the background that it runs.
 *
 * A daemon is to go on with those that are not done when the host ends, also when it was killed.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import { isOver } from "#core/state.ts";
import { descendantsOf, stateOf } from "#views/load-agent.ts";
import type { Supervisor } from "./supervisor.ts";

export interface BackgroundAgentsParts {
  readonly store: Pick<Store, "agent" | "agents" | "load" | "inbox">;
  readonly clock: Clock;
  /** From now on any goald that finds no host starts the daemon. */
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

  /** Called before the agent is started, and before anybody is told that it was. */
  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size === 1) this.#parts.expectDaemon();
  }

  /** Lets the agents below this one read that they are to stop or to end, for at most `graceMs`. */
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

  /** Ids of the agents that a daemon is to go on with: of these, of those below them, and of those added. */
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
