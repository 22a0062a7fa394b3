/**
 * attended.ts -- an agent that runs in front of somebody, as the host of its process sees it.
 *
 * It is run by foreground.ts, not by the supervisor, and takes part in all that is asked of a host: it hears what comes
 * for it, is cut off, is waited for. When its run is over it is an agent like any other.
 */
import type { PauseCode, RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { Life } from "./agent-runner.ts";
import { createLogWatch } from "./log-watch.ts";
import type { Supervisor } from "./supervisor.ts";

export interface Attended extends Life {
  readonly id: string;
  /** Aborted when it is cut off. */
  readonly signal: AbortSignal;
  /** What it is to be paused for when nothing of it is under way. */
  readonly pausing: { readonly code: PauseCode; readonly reason: string } | undefined;
  /** Aborted when something comes for it, or has come since this was called last, and when it is cut off. */
  listen(): AbortSignal;
  opened(state: AgentState): void;
  committed(events: readonly RecordedEvent[], state: AgentState): void;
  /** Told of each commit. */
  onCommitted(listener: () => void): void;
  /** It has started these agents, or sent them something. */
  sent(agents: readonly string[]): void;
  /** Other agents may have to hear of it: it has sent them something, or has started some in this process or an earlier one. */
  readonly hasOthers: boolean;
  /** Told of them; at once of those that were sent something before. */
  onSent(listener: (agents: readonly string[]) => void): void;
  /** Its run is over, with all that follows one. */
  end(): void;
}

export function createAttended(id: string, clock: Pick<Clock, "now">): Attended {
  const hard = new AbortController();
  const over = Promise.withResolvers<void>();
  const listeners: (() => void)[] = [];
  const sent = new Set<string>();
  let tellSent = (_agents: readonly string[]): void => undefined;
  let nudge = new AbortController();
  /** Something came that nobody was waiting for. */
  let again = false;
  let running = true;
  let state: AgentState | undefined;
  let head = 0;
  let lastEventAt = clock.now().toISOString();
  let pausing: Attended["pausing"];
  return {
    id,
    signal: hard.signal,
    problem: null,
    recovering: false,
    get pausing() {
      return pausing;
    },
    get running() {
      return running;
    },
    get state() {
      return state;
    },
    get head() {
      return head;
    },
    get lastEventAt() {
      return lastEventAt;
    },
    listen: () => {
      nudge = new AbortController();
      if (again) nudge.abort();
      again = false;
      return AbortSignal.any([nudge.signal, hard.signal]);
    },
    opened: (found) => {
      state = found;
    },
    committed: (events, folded) => {
      const last = events.at(-1);
      state = folded;
      head = last?.seq ?? head;
      lastEventAt = last?.at ?? lastEventAt;
      for (const listener of listeners) listener();
    },
    onCommitted: (listener) => void listeners.push(listener),
    sent: (agents) => {
      for (const agent of agents) sent.add(agent);
      tellSent(agents);
    },
    get hasOthers() {
      return sent.size > 0 || Object.keys(state?.children ?? {}).length > 0;
    },
    onSent: (listener) => {
      tellSent = listener;
      listener([...sent]);
    },
    end: () => {
      running = false;
      over.resolve();
    },
    wake: () => {
      again = true;
      nudge.abort();
    },
    settled: () => over.promise,
    abort: (reason) => hard.abort(new Error(reason)),
    park: (code, reason) => {
      pausing ??= { code, reason };
      return over.promise;
    },
    release: () => undefined,
  };
}

/** The host of all other agents and of this one. */
export function withAttended(others: Supervisor, attended: Attended, store: Pick<Store, "agent">): Supervisor {
  const { id } = attended;
  const watch = createLogWatch(store);
  attended.onCommitted(() => watch.tell(id));
  const isMeant = (agent: string): boolean => agent === id && attended.running;

  /** Whoever runs it pauses it; what comes when that is over finds it as the others are. */
  async function park(agent: string, code: PauseCode, reason: string): Promise<void> {
    if (isMeant(agent)) await attended.park(code, reason);
    await others.park(agent, code, reason);
  }

  return {
    ...others,
    get lives() {
      return attended.running ? new Map([...others.lives, [id, attended]]) : others.lives;
    },
    wake: (agent) => (isMeant(agent) ? attended : others).wake(agent),
    tell: (agent) => (isMeant(agent) ? attended.wake() : others.tell(agent)),
    park,
    cutOff: async (agent, code, reason) => {
      if (!isMeant(agent)) return others.cutOff(agent, code, reason);
      attended.abort(reason);
      return park(agent, code, reason);
    },
    forget: async (agent) => {
      watch.tell(agent);
      await others.forget(agent);
    },
    whenLonger: (agent, after, signal) => (isMeant(agent) ? watch : others).whenLonger(agent, after, signal),
  };
}
