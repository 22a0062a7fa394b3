/**
 * isolation-queue.ts -- gives the agents of one host turns to run a command alone, after a process died
 * (loop/isolate-call.ts). One agent has the turn; the others wait in the order in which they asked.
 */
import type { Clock } from "#core/ports/clock.ts";
import type { Isolation } from "#loop/isolate-call.ts";
import { createSlots } from "#util/turns.ts";

export class IsolationQueue {
  readonly #clock: Clock;
  readonly #turns = createSlots(1);
  #holder: string | undefined;
  #endTurn = (): void => undefined;
  /** Agents that wait for their turn, or to ask for it. */
  readonly #waiting = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why the agent waits, as a sentence; null when it does not. */
  reasonFor(agent: string): string | null {
    if (!this.#waiting.has(agent)) return null;
    const died = "goald's process died while a command of this agent was under way. ";
    if (this.#holder === undefined) return `${died}The command is tried again in a few seconds.`;
    return `${died}Such commands are tried one at a time, to find the one that does it: ${this.#holder} has its turn.`;
  }

  turnsOf(agent: string, signal: AbortSignal): Isolation {
    return { enter: (backOffMs) => this.enter(agent, backOffMs, signal), leave: () => this.leave(agent) };
  }

  /** Resolves to true when the agent has the turn, to false when `signal` is aborted before. */
  async enter(agent: string, backOffMs: number, signal: AbortSignal): Promise<boolean> {
    this.#waiting.add(agent);
    try {
      await this.#clock.sleep(backOffMs, signal);
      if (!signal.aborted) await this.#takeTurn(agent, signal);
      if (signal.aborted) this.leave(agent);
      return !signal.aborted;
    } finally {
      this.#waiting.delete(agent);
    }
  }

  /** Does nothing for an agent without the turn. */
  leave(agent: string): void {
    if (this.#holder !== agent) return;
    this.#holder = undefined;
    this.#endTurn();
  }

  /** Resolves when the turn has begun, or when `signal` is aborted before. */
  #takeTurn(agent: string, signal: AbortSignal): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const turn = this.#turns.hold(() => {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#holder = agent;
      this.#endTurn = resolve;
      begun.resolve();
      return promise;
    }, signal);
    turn.catch(() => begun.resolve());
    return begun.promise;
  }
}
