/**
 * front-agents.ts -- counts who follows the agents that a terminal holds in front, and pauses those that nobody
 * follows. A terminal that is killed, or whose connection breaks, cannot pause its agent any more.
 */
import type { Clock } from "#core/ports/clock.ts";

export interface FrontAgentsParts {
  readonly clock: Pick<Clock, "sleep">;
  /** Continues an agent that a death of the host interrupted. */
  goOn(agent: string): void;
  /** Called for an agent that nobody has followed for a while. */
  pause(agent: string): void;
}

type Fail = (error: Error) => void;

/** Longer than a follower needs to find the next host after a death, or to connect again. */
const ALONE_MS = 30_000;

export class FrontAgents {
  readonly #parts: FrontAgentsParts;
  /** For each agent its followers, each by its `fail`, and whether it holds the agent. */
  readonly #followers = new Map<string, Map<Fail, boolean>>();
  readonly #inFront = new Set<string>();
  readonly #timers = new Map<string, AbortController>();
  readonly #closing = new AbortController();

  constructor(parts: FrontAgentsParts) {
    this.#parts = parts;
  }

  /** Call when an agent that is not in the background begins to run. */
  begun(agent: string): void {
    this.#inFront.add(agent);
    if (!this.#followers.has(agent)) this.#waitAlone(agent);
  }

  /** True for an agent in front that somebody follows: it may go on by itself. */
  isHeld(agent: string): boolean {
    return this.#inFront.has(agent) && this.#followers.has(agent);
  }

  /** As `Control.addFollower`. Each follower has a function `fail` of its own. */
  addFollower(agent: string, hold: boolean, fail: Fail): () => void {
    this.#timers.get(agent)?.abort();
    const followers = this.#followers.get(agent) ?? new Map();
    this.#followers.set(agent, followers.set(fail, hold));
    if (hold) this.#parts.goOn(agent);
    return () => {
      followers.delete(fail);
      if (followers.size > 0) return;
      this.#followers.delete(agent);
      if (this.#inFront.has(agent)) this.#waitAlone(agent);
    };
  }

  /** Ends the terminals that hold the agent, because its run has failed. It pauses: nobody would see it go on. */
  failed(agent: string, error: Error): void {
    const holders = [...(this.#followers.get(agent) ?? [])].filter(([, holds]) => holds && this.#inFront.has(agent));
    for (const [fail] of holders) fail(error);
    if (holders.length > 0) this.#waitAlone(agent, 0);
  }

  /** Call for an agent that was removed. */
  forget(agent: string): void {
    this.#inFront.delete(agent);
    this.#timers.get(agent)?.abort();
    this.#timers.delete(agent);
  }

  /** Pauses no agent from now on: the host goes down. */
  close(): void {
    this.#closing.abort();
  }

  #waitAlone(agent: string, aloneMs = ALONE_MS): void {
    this.#timers.get(agent)?.abort();
    const timer = new AbortController();
    this.#timers.set(agent, timer);
    const isOver = AbortSignal.any([timer.signal, this.#closing.signal]);
    void this.#parts.clock.sleep(aloneMs, isOver).then(() => {
      if (isOver.aborted) return;
      this.#timers.delete(agent);
      this.#inFront.delete(agent);
      this.#parts.pause(agent);
    });
  }
}
