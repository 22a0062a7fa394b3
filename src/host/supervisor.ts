/**
 * supervise.ts -- many agents in one process: who goes on by itself, who is woken, who is stopped.
 *
 * A host goes on by itself with the agents of the background; those of a terminal wait for a person. One agent's
 * failure is its own: the others go on.
 */
import { toError } from "#core/errors.ts";
import type { PauseCode } from "#core/event.ts";
import type { Store } from "#core/ports/store.ts";
import { createTurns } from "#util/turns.ts";
import { makeRoomFor } from "#util/young-space.ts";
import { stateOf } from "#views/load-agent.ts";
import { createLife, type Life, type LifeParts } from "./agent-runner.ts";
import { createLogWatch } from "./log-watch.ts";

export interface SupervisorParts extends Omit<LifeParts, "draining"> {
  readonly store: Pick<Store, "agent" | "agents" | "due" | "inbox" | "load">;
}

export interface Supervisor {
  /** Sets everything going that a host runs by itself, and looks after it until `drain`. */
  start(): Promise<void>;
  /** Something has come for this agent; it runs even when it belonged to a terminal. */
  wake(agent: string): void;
  /** Something has come for this agent from another one; it runs if a host runs it by itself. */
  tell(agent: string): void;
  /** Those that are under way, or wait for a time. */
  readonly lives: ReadonlyMap<string, Life>;
  /** Ends what is under way at once, and pauses the agent for that reason. */
  cutOff(agent: string, code: PauseCode, reason: string): Promise<void>;
  /** Pauses an agent wherever it stands, as soon as nothing of it is under way. */
  park(agent: string, code: PauseCode, reason: string): Promise<void>;
  /** Forgets an agent that was removed, and ends what has begun of it meanwhile. */
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
  const watch = createLogWatch(store);
  /** Agents that are a terminal's, or whose log cannot be read, with its end: looked at again when that has moved. */
  const passedOver = new Map<string, number>();
  const draining = new AbortController();
  const lifeParts: LifeParts = {
    ...parts,
    draining: draining.signal,
    onCommitted: (id, events, state) => {
      parts.onCommitted(id, events, state);
      watch.tell(id);
    },
  };
  let looking: NodeJS.Timeout | undefined;

  async function start(): Promise<void> {
    looking = setInterval(() => void look(), LOOK_EVERY_MS).unref();
    try {
      const due = new Set(await store.due(clock.now().toISOString()));
      await wakeAll((await store.agents()).filter(({ id, wakeAt }) => wakeAt !== null || due.has(id)));
    } catch (thrown) {
      reportStore(thrown);
    }
  }

  async function look(): Promise<void> {
    try {
      await wakeAll((await store.due(clock.now().toISOString())).map((id) => ({ id })));
    } catch (thrown) {
      reportStore(thrown);
    }
  }

  const reportStore = (thrown: unknown): void =>
    parts.report("", `The store could not be asked who is due: ${toError(thrown).message}`);

  async function wakeAll(agents: readonly { readonly id: string }[]): Promise<void> {
    // However many begin at once, the local API answers.
    const turn = createTurns();
    for (const { id } of agents) {
      if (draining.signal.aborted) return;
      await wakeIfOurs(id);
      await turn();
    }
  }

  async function wakeIfOurs(id: string): Promise<void> {
    const life = lives.get(id);
    if (life?.running || life?.recovering) return;
    if (life?.state?.settings.background || (await isOurs(id))) wake(id);
  }

  /** Of the background as its log has it, or as soon as it has heard what lies in its inbox. */
  async function isOurs(id: string): Promise<boolean> {
    const head = (await store.agent(id))?.head ?? 0;
    try {
      const isHandedOver = (await store.inbox(id)).some(({ message }) => "background" in message && message.background);
      if (isHandedOver) return true;
      if (passedOver.get(id) === head) return false;
      const { settings } = await stateOf(store, { id });
      if (settings.background) return true;
    } catch (thrown) {
      if (passedOver.get(id) !== head) parts.report(id, `Its log cannot be read: ${toError(thrown).message}`);
    }
    passedOver.set(id, head);
    return false;
  }

  function lifeOf(id: string): Life {
    const known = lives.get(id);
    if (known) return known;
    const life: Life = createLife(id, {
      ...lifeParts,
      // Another agent may have its name by now.
      onIdle: () => {
        if (lives.get(id) === life) letGo(id);
      },
    });
    lives.set(id, life);
    makeRoomFor(lives.size);
    return life;
  }

  function letGo(id: string): void {
    lives.delete(id);
    makeRoomFor(lives.size);
    parts.onIdle(id);
  }

  const wake = (id: string): void => lifeOf(id).wake();

  function tell(id: string): void {
    if (draining.signal.aborted) return;
    if (lives.has(id)) wake(id);
    else wakeIfOurs(id).catch(reportStore);
  }

  async function cutOff(id: string, code: PauseCode, reason: string): Promise<void> {
    const life = lifeOf(id);
    life.abort(reason);
    await life.park(code, reason);
  }

  async function drain(graceMs: number): Promise<void> {
    draining.abort();
    clearInterval(looking);
    for (const life of lives.values()) life.release();
    const grace = new AbortController();
    await Promise.race([allSettled(), clock.sleep(graceMs, grace.signal)]);
    grace.abort();
    abortAll("The host goes down.");
    await allSettled();
  }

  /** Those too that are parked meanwhile. */
  async function allSettled(): Promise<void> {
    const running = [...lives.values()].filter((life) => life.running);
    if (running.length === 0) return;
    await Promise.all(running.map((life) => life.settled()));
    await allSettled();
  }

  function abortAll(reason: string): void {
    for (const life of lives.values()) life.abort(reason);
  }

  return {
    start,
    wake,
    tell,
    lives,
    cutOff,
    park: (id, code, reason) => lifeOf(id).park(code, reason),
    forget: (id) => {
      passedOver.delete(id);
      lives.get(id)?.abort("The agent was removed.");
      if (lives.has(id)) letGo(id);
      watch.tell(id);
    },
    whenLonger: watch.whenLonger,
    drain,
    abortAll,
  };
}
