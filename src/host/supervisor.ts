/**
 * supervisor.ts -- starts, wakes and stops the runners of all agents in one process. A host continues background agents
 * by itself, and an agent in front while a terminal holds it. A failure of one agent does not affect the others.
 */
import { EventEmitter, once } from "node:events";
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { conflict, isGoaldError, toError } from "#core/errors.ts";
import type { PauseCode } from "#core/event.ts";
import type { AgentRow, Store } from "#core/ports/store.ts";
import { isOver } from "#core/state.ts";
import { createTurns } from "#util/turns.ts";
import { descendantsOf, stateOf } from "#views/read-agent.ts";
import { AgentRunner, type RunnerParts } from "./agent-runner.ts";
import { FrontAgents } from "./front-agents.ts";
import { IsolationQueue } from "./isolation-queue.ts";

export interface SupervisorParts extends Omit<RunnerParts, "draining" | "isolation"> {
  readonly store: Pick<Store, "agent" | "agents" | "due" | "inbox" | "load">;
  /** Pauses an agent in front that nobody has followed for a while. */
  pauseAlone?(agent: string): Promise<void>;
}

/** Checked against the clock, because timers do not advance while the machine sleeps. */
const LOOK_EVERY_MS = 15_000;
/** A paused agent reads a message within this time. */
const REST_MS = 5_000;

export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #runnerParts: RunnerParts;
  readonly #runners = new Map<string, AgentRunner>();
  /** Agents that run, or that wait for a time. */
  readonly runners: ReadonlyMap<string, AgentRunner> = this.#runners;
  readonly watch: ReturnType<typeof createLogWatch>;
  /** Agents in front, and agents with an unreadable log, by their last event. Checked again after a new event. */
  readonly #skipped = new Map<string, number>();
  /** Agents that another host has claimed. Only a person's verb claims them back. */
  readonly #lost = new Set<string>();
  readonly #draining = new AbortController();
  /** Turns of suspects' commands after a death. */
  readonly isolation: IsolationQueue;
  readonly front: FrontAgents;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    this.watch = createLogWatch(parts.store);
    this.isolation = new IsolationQueue(parts.clock);
    this.front = new FrontAgents({
      clock: parts.clock,
      goOn: (id) => void this.#goOnInFront(id),
      pause: (id) =>
        void parts.pauseAlone?.(id).catch((thrown) => {
          parts.report(id, toError(thrown).message);
          // A full disk takes no pause. It is tried again, so that the agent does not go on alone for good.
          if (isGoaldError(thrown, "GOALD_STORE_FULL")) this.front.begun(id);
        }),
    });
    this.#runnerParts = {
      ...parts,
      draining: this.#draining.signal,
      isolation: this.isolation,
      onCommitted: (id, events, state) => {
        parts.onCommitted(id, events, state);
        this.watch.tell(id);
      },
      onFailed: (id, error) => {
        if (isGoaldError(error, "GOALD_FENCED")) this.#lost.add(id);
        this.front.failed(id, error);
        parts.onFailed?.(id, error);
      },
      onSent: (agents) => {
        for (const id of agents) this.notify(id);
      },
    };
  }

  /** Starts all background agents that have work, and wakes due agents until `drain`. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.#wakeAll(() => this.#findDue()), LOOK_EVERY_MS).unref();
    await this.#wakeAll(async () => this.#withWork(await this.#parts.store.agents()));
  }

  /** Starts the sub-agents of this agent that have work. */
  startSubAgents(agent: string): Promise<void> {
    return this.#wakeAll(async () => this.#withWork(await descendantsOf(agent, this.#parts.store)));
  }

  #findDue(): Promise<readonly string[]> {
    const { store, clock } = this.#parts;
    return store.due(clock.now().toISOString());
  }

  async #withWork(rows: readonly AgentRow[]): Promise<readonly string[]> {
    const due = new Set(rows.length > 0 ? await this.#findDue() : []);
    return rows.flatMap(({ id, wakeAt }) => (wakeAt !== null || due.has(id) ? [id] : []));
  }

  async #wakeAll(findIds: () => Promise<readonly string[]>): Promise<void> {
    // Yields between agents, so that the local API responds while many of them start.
    const turn = createTurns();
    try {
      for (const id of await findIds()) {
        if (this.#draining.signal.aborted) return;
        await this.#wakeIfItGoesOn(id);
        await turn();
      }
    } catch (thrown) {
      this.#reportStore(thrown);
    }
  }

  async #wakeIfItGoesOn(id: string): Promise<void> {
    const runner = this.#runners.get(id);
    if (runner?.running || runner?.recovering || this.#lost.has(id)) return;
    const goesOn = runner?.state?.settings.background || this.front.isHeld(id);
    if (goesOn || (await this.#isBackground(id))) this.wake(id);
  }

  async #goOnInFront(id: string): Promise<void> {
    if (this.#runners.has(id) || this.#draining.signal.aborted) return;
    try {
      const state = await stateOf(this.#parts.store, { id });
      if (!state.settings.background && !isOver(state)) this.wake(id, true);
    } catch (thrown) {
      this.#parts.report(id, `It could not be continued: ${toError(thrown).message}`);
    }
  }

  /** True for a background agent, and for an agent that a message in its inbox turns into one. */
  async #isBackground(id: string): Promise<boolean> {
    const { store, report } = this.#parts;
    const head = (await store.agent(id))?.head ?? 0;
    try {
      const isHandedOver = (await store.inbox(id)).some(({ message }) => "background" in message && message.background);
      if (isHandedOver) return true;
      if (this.#skipped.get(id) === head) return false;
      const { settings } = await stateOf(store, { id });
      if (settings.background) return true;
    } catch (thrown) {
      if (this.#skipped.get(id) !== head) report(id, `Its log cannot be read: ${toError(thrown).message}`);
    }
    this.#skipped.set(id, head);
    return false;
  }

  /** Starts the agent, or wakes its current run. `inFront`: it goes on only while somebody follows it. */
  wake(id: string, inFront = false): void {
    this.#lost.delete(id);
    if (inFront) this.front.begun(id);
    this.#runnerOf(id).wake();
  }

  /** Called when another agent has sent this agent a message. Starts it if a host runs it by itself. */
  notify(id: string): void {
    if (this.#draining.signal.aborted) return;
    const runner = this.#runners.get(id);
    if (runner) runner.wake();
    else this.#wakeIfItGoesOn(id).catch((thrown) => this.#reportStore(thrown));
  }

  #runnerOf(id: string): AgentRunner {
    const known = this.#runners.get(id);
    if (known) return known;
    const runner = new AgentRunner(id, {
      ...this.#runnerParts,
      // A newer agent may have this id.
      onIdle: () => {
        if (this.#runners.get(id) === runner) this.#discard(id);
      },
    });
    this.#runners.set(id, runner);
    makeRoomFor(this.#runners.size);
    return runner;
  }

  #discard(id: string): void {
    this.#runners.delete(id);
    makeRoomFor(this.#runners.size);
    this.#parts.onIdle(id);
  }

  /** Cuts off the current run and pauses the agent. An agent whose pause cannot be written goes on, as after a crash. */
  async cutOff(id: string, code: PauseCode, reason: string): Promise<void> {
    const paused = this.pause(id, code, reason);
    this.#runnerOf(id).abort(reason);
    await paused;
  }

  /** Pauses an agent as soon as it is idle. */
  pause(id: string, code: PauseCode, reason: string): Promise<void> {
    return this.#runnerOf(id).pause(code, reason);
  }

  /** Does this work while the agent does not run. Throws GOALD_CONFLICT for one that does not come to rest within seconds. */
  async hold<T>(id: string, work: () => Promise<T>): Promise<T> {
    const patience = new AbortController();
    const atRest = this.#runners.get(id)?.settled();
    await Promise.race([atRest, this.#parts.clock.sleep(REST_MS, patience.signal)]);
    patience.abort();
    const runner = this.#runnerOf(id);
    if (runner.running) throw conflict(`${id} is at work.`, `Stop it first: goald stop ${id}`);
    return runner.hold(work).finally(() => this.watch.tell(id));
  }

  /** Discards a removed agent and cuts off its current run. */
  forget(id: string): void {
    this.#skipped.delete(id);
    this.#lost.delete(id);
    this.front.forget(id);
    this.#runners.get(id)?.abort("The agent was removed.");
    if (this.#runners.has(id)) this.#discard(id);
    this.watch.tell(id);
  }

  /** Starts no more steps, and cuts off runs after `graceMs`. The next process continues them. */
  async drain(graceMs: number): Promise<void> {
    this.#draining.abort();
    this.front.close();
    clearInterval(this.#timer);
    for (const runner of this.#runners.values()) runner.release();
    const grace = new AbortController();
    await Promise.race([this.#allSettled(), this.#parts.clock.sleep(graceMs, grace.signal)]);
    grace.abort();
    this.abortAll("The host goes down.");
    await this.#allSettled();
  }

  /** Waits for all runs and pauses, including those that start meanwhile. */
  async #allSettled(): Promise<void> {
    for (;;) {
      const running = [...this.#runners.values()].filter((runner) => runner.running);
      if (running.length === 0) return;
      await Promise.all(running.map((runner) => runner.settled()));
    }
  }

  /** Cuts off all runs without a pause, so that the next process continues them. */
  abortAll(reason: string): void {
    for (const runner of this.#runners.values()) runner.abort(reason);
  }

  #reportStore(thrown: unknown): void {
    this.#parts.report("", `The store could not be asked which agents are due: ${toError(thrown).message}`);
  }
}

export function createLogWatch(store: Pick<Store, "agent">) {
  const changes = new EventEmitter().setMaxListeners(0);
  const nextChange = (name: string, signal: AbortSignal): Promise<unknown> =>
    once(changes, name, { signal }).catch(() => undefined);

  /** Resolves when the log is longer than `after`, the agent is removed, or the signal is aborted. */
  async function whenLonger(id: string, after: number, signal: AbortSignal): Promise<void> {
    const leaving = new AbortController();
    const ended = AbortSignal.any([signal, leaving.signal]);
    try {
      for (let seen = 0; !signal.aborted; ) {
        // Reads the head after the watch has started, so that no commit is missed.
        const changed = nextChange(`log ${id}`, ended);
        const head = (await store.agent(id))?.head;
        // A shorter log belongs to a newer agent with the same id.
        if (head === undefined || head > after || head < seen) return;
        seen = head;
        await changed;
      }
    } finally {
      leaving.abort();
    }
  }

  return {
    /** Call when the agent was made, when its log is longer, or when it was removed. */
    tell: (id: string): void => {
      changes.emit(`log ${id}`);
      changes.emit("any log");
    },
    whenLonger,
    /** Resolves at the next call of `tell`, or when the signal is aborted. */
    whenChanged: async (signal: AbortSignal): Promise<void> => void (await nextChange("any log", signal)),
  };
}

const MANY_AGENTS = 16;
const FLAGS_OF_MANY = "--semi-space-growth-factor=2 --parallel-scavenge --heap-growing-percent=60";
/** As goald.js sets them. */
const FLAGS_OF_FEW = "--semi-space-growth-factor=1 --no-parallel-scavenge --heap-growing-percent=100";
/** A daemon that gets its next agent sooner is not held up. */
const COLLECT_AFTER_MS = 10_000;
/** A full collection with 20 agents takes 0.1 s. */
const COLLECT_EVERY_MS = 60_000;
/** Agents that only wait let RSS grow by less. */
const GROWN_SHARE = 1.2;
let collection: NodeJS.Timeout | undefined;
let hasMany = false;

/**
 * Lets V8's space for young objects grow, and its scavenge use threads, while many agents run; gives memory back when
 * no agent is left. `agents` counts the agents that are running or waiting for a time.
 *
 * goald.js keeps the space at its initial 2 MB and one thread, so that a long-running daemon stays small. With many
 * agents most young objects are still in use when the space is full, and are copied repeatedly: 200 agents took 2.5
 * times as long, with pauses of up to 0.1 s. Only a full collection shrinks the space again.
 *
 * Their heap may grow by 60 % between two collections instead of 100, and is collected fully each minute: V8 keeps the
 * pages of the largest heap so far. RSS of 20 agents grew by 1.0 to 1.8 KB a step between 2,000 and 12,000 steps,
 * without the full collections by 1.2 to 2.9, with 100 % by 2.3 to 3.2.
 *
 * V8 collects while something allocates, so an idle process would keep the garbage of its last agents for good.
 */
export function makeRoomFor(agents: number): void {
  if (hasMany && agents > MANY_AGENTS) return;
  hasMany = agents > MANY_AGENTS;
  clearTimeout(collection);
  if (agents === 0) collection = setTimeout(collectGarbage, COLLECT_AFTER_MS).unref();
  if (hasMany) collection = setInterval(createCollector(), COLLECT_EVERY_MS).unref();
  v8.setFlagsFromString(hasMany ? FLAGS_OF_MANY : FLAGS_OF_FEW);
}

/** Returns a function that collects all garbage, at the first call and when RSS has grown since it last did. */
function createCollector(): () => void {
  let leftBytes = 0;
  return () => {
    if (process.memoryUsage.rss() < GROWN_SHARE * leftBytes) return;
    collectGarbage();
    leftBytes = process.memoryUsage.rss();
  };
}

/** Collects all garbage and frees its pages. V8 shows the function only to a context that is made after the flag is set. */
function collectGarbage(): void {
  v8.setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "major"; flavor: "last-resort" }) => void;
  v8.setFlagsFromString("--no-expose-gc");
  collect({ type: "major", flavor: "last-resort" });
}
