/**
 * supervise.ts -- many agents in one process: who goes on by itself, who is woken, who is stopped.
 *
 * A host goes on by itself with the agents of the background; those of a terminal wait for a person. One agent's
 * failure is its own: the others go on.
 */
import { toError } from "#core/errors.ts";
import type { PauseCode } from "#core/event.ts";
import type { Store } from "#core/ports.ts";
import type { AgentState } from "#core/state.ts";
import { stateOf } from "#views/load-agent.ts";
import { createLife, type Life, type LifeParts } from "./life.ts";

export interface SupervisorParts extends Omit<LifeParts, "draining"> {
  readonly store: Pick<Store, "agent" | "agents" | "due" | "load">;
}

export interface Supervisor {
  /** Sets everything going that a host runs by itself, and looks after it until `drain`. */
  start(): Promise<void>;
  /** Something has come for this agent; it runs even when it belonged to a terminal. */
  wake(agent: string): void;
  /** Those that are under way, or wait for a time. */
  readonly lives: ReadonlyMap<string, Life>;
  /** Ends what is under way at once, and pauses the agent for that reason. */
  cutOff(agent: string, code: PauseCode, reason: string): Promise<void>;
  /** Pauses an agent wherever it stands, as soon as nothing of it is under way. */
  park(agent: string, code: PauseCode, reason: string): Promise<void>;
  /** Forgets an agent that was removed. */
  forget(agent: string): void;
  /** Resolves when its log is longer than `after`, when it was forgotten, or when the signal is aborted. */
  whenLonger(agent: string, after: number, signal: AbortSignal): Promise<void>;
  /** No step begins any more; what is under way after `graceMs` is cut off, and goes on in the next process. */
  drain(graceMs: number): Promise<void>;
  /** Cuts off all that is under way, and pauses nothing: it goes on in the next process. */
  abortAll(reason: string): void;
}

/** Timers of the machine stand still while it sleeps; looking at the time does not. */
const LOOK_EVERY_MS = 15_000;

export function createSupervisor(parts: SupervisorParts): Supervisor {
  const { store, clock } = parts;
  const lives = new Map<string, Life>();
  const watchers = new Map<string, Set<() => void>>();
  const draining = new AbortController();
  const lifeParts: LifeParts = {
    ...parts,
    draining: draining.signal,
    onCommitted: (id, events, state) => {
      parts.onCommitted(id, events, state);
      tellWatchers(id);
    },
    onIdle: (id) => {
      lives.delete(id);
      parts.onIdle(id);
    },
  };
  let looking: NodeJS.Timeout | undefined;

  async function start(): Promise<void> {
    const due = new Set(await store.due(clock.now().toISOString()));
    for (const { id, wakeAt } of await store.agents()) if (wakeAt !== null || due.has(id)) await wakeIfOurs(id);
    looking = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  }

  async function look(): Promise<void> {
    try {
      for (const id of await store.due(clock.now().toISOString())) await wakeIfOurs(id);
    } catch (thrown) {
      parts.report("", `The store could not be asked who is due: ${toError(thrown).message}`);
    }
  }

  async function wakeIfOurs(id: string): Promise<void> {
    const life = lives.get(id);
    if (life?.running || life?.recovering) return;
    const state = life?.state ?? (await readState(id));
    if (state?.settings.background) wake(id);
  }

  async function readState(id: string): Promise<AgentState | undefined> {
    try {
      return await stateOf(store, { id });
    } catch (thrown) {
      parts.report(id, `Its log cannot be read: ${toError(thrown).message}`);
      return undefined;
    }
  }

  function lifeOf(id: string): Life {
    const life = lives.get(id) ?? createLife(id, lifeParts);
    lives.set(id, life);
    return life;
  }

  const wake = (id: string): void => lifeOf(id).wake();

  async function cutOff(id: string, code: PauseCode, reason: string): Promise<void> {
    const life = lifeOf(id);
    life.abort(reason);
    await life.park(code, reason);
  }

  function tellWatchers(id: string): void {
    for (const tell of watchers.get(id) ?? []) tell();
  }

  async function whenLonger(id: string, after: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const told = (): void => resolve();
    const watching = watchers.get(id) ?? new Set();
    watchers.set(id, watching.add(told));
    signal.addEventListener("abort", told, { once: true });
    try {
      const row = await store.agent(id);
      if (row !== undefined && row.head <= after && !signal.aborted) await promise;
    } finally {
      signal.removeEventListener("abort", told);
      watching.delete(told);
      if (watching.size === 0 && watchers.get(id) === watching) watchers.delete(id);
    }
  }

  async function drain(graceMs: number): Promise<void> {
    draining.abort();
    clearInterval(looking);
    for (const life of lives.values()) life.release();
    const ended = Promise.all([...lives.values()].map((life) => life.settled()));
    const grace = new AbortController();
    await Promise.race([ended, clock.sleep(graceMs, grace.signal)]);
    grace.abort();
    abortAll("The host goes down.");
    await ended;
  }

  function abortAll(reason: string): void {
    for (const life of lives.values()) life.abort(reason);
  }

  return {
    start,
    wake,
    lives,
    cutOff,
    park: (id, code, reason) => lifeOf(id).park(code, reason),
    forget: (id) => {
      lives.get(id)?.release();
      lives.delete(id);
      tellWatchers(id);
    },
    whenLonger,
    drain,
    abortAll,
  };
}
