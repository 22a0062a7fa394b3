/**
 * life.ts -- one agent in a host: set going, woken, cut off, parked; one thing at a time.
 *
 * Between two lives it holds nothing but a timer. Each life claims the agent anew, so that whatever an
 * earlier one left under way is found as cut off. A failure is told and tried again; at last the agent is parked.
 */
import { isGoaldError, toError } from "#core/errors.ts";
import type { PauseCode, RecordedEvent } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentState } from "#core/state.ts";
import { pauseAgent } from "#loop/pause-agent.ts";
import { type RunParts, run } from "#loop/run.ts";

/** One agent's parts for the main loop, claimed for one life. */
export interface OpenedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<RunParts, "wait" | "draining" | "onCommitted" | "onSent">;
}

export interface LifeParts {
  readonly clock: Clock;
  /** Aborted when the host goes down: no life begins any more, and no step in one. */
  readonly draining: AbortSignal;
  /** `signal`: aborted when the agent is cut off. */
  open(agent: string, signal: AbortSignal): Promise<OpenedAgent>;
  onCommitted(agent: string, events: readonly RecordedEvent[], state: AgentState): void;
  /** Agents that this one has started, or sent something to. */
  onSent?(agents: readonly string[]): void;
  /** Told after each life, when nothing of the agent is under way. Its failure is told and changes nothing. */
  onStopped(agent: string, state: AgentState): Promise<void>;
  /** What went wrong with an agent, in words. */
  report(agent: string, problem: string): void;
  /** Told when it holds nothing any more, not even a timer: it may be forgotten. */
  onIdle(agent: string): void;
}

/** The readable part is what a host knows of the agent since it began; the log knows more. */
export interface Life {
  readonly running: boolean;
  /** As of the last commit seen; undefined before the first life has opened the log. */
  readonly state: AgentState | undefined;
  readonly head: number;
  readonly lastEventAt: string;
  /** What the last life failed of, until something is committed again. */
  readonly problem: string | null;
  /** Sets it going, or tells it that something has come. */
  wake(): void;
  /** True while it waits to be tried again after a failure. */
  readonly recovering: boolean;
  /** Resolves when nothing of it is under way. */
  settled(): Promise<void>;
  /** Ends what is under way at once; the log keeps it as begun. */
  abort(reason: string): void;
  /** Pauses it wherever it stands, when nothing of it is under way. */
  park(code: PauseCode, reason: string): Promise<void>;
  /** No more waking by itself. */
  release(): void;
}

/** A shorter wait is slept through; for a longer one the agent lets go of everything. */
const SHORT_WAIT_MS = 10_000;
const MAX_FAILURES = 3;
const MAX_BACKOFF_MS = 300_000;

export function createLife(id: string, parts: LifeParts): Life {
  const { clock, draining } = parts;
  /** A life or parkings, under way or in line. */
  let busy = 0;
  let state: AgentState | undefined;
  let head = 0;
  let lastEventAt = clock.now().toISOString();
  let problem: string | null = null;
  let failures = 0;
  let failedAtStep = 0;
  /** Something came while it ran. */
  let again = false;
  let wakeAt: string | null = null;
  /** Of the sleep until it wants to be looked at again. */
  let timer: AbortController | undefined;
  let ending: Promise<unknown> = Promise.resolve();
  let hard = new AbortController();
  let nudge = new AbortController();

  function wake(): void {
    if (draining.aborted) return;
    again = true;
    nudge.abort();
    if (busy === 0) void alone(live);
  }

  /** One thing at a time: a life, or a parking. */
  function alone(work: () => Promise<void>): Promise<void> {
    stopTimer();
    busy += 1;
    const done = ending.then(work).finally(() => {
      busy -= 1;
      if (busy > 0) return;
      if (again && !draining.aborted) wake();
      else if (timer === undefined) parts.onIdle(id);
    });
    ending = done.catch(() => undefined);
    return done;
  }

  /** Runs until there is nothing more to do now; never rejects. */
  async function live(): Promise<void> {
    hard = new AbortController();
    try {
      while (again && !draining.aborted && !hard.signal.aborted) {
        again = false;
        const ended = await runOnce();
        failures = 0;
        problem = null;
        await parts.onStopped(id, ended).catch(tell);
      }
      if (wakeAt !== null && !hard.signal.aborted) wakeIn(Date.parse(wakeAt) - clock.now().getTime());
    } catch (thrown) {
      if (!hard.signal.aborted) await fail(toError(thrown));
    }
  }

  async function runOnce(): Promise<AgentState> {
    await using opened = await parts.open(id, hard.signal);
    wakeAt = null;
    // Awaited here: what is opened stays open as long.
    return await run(opened.lease, {
      ...opened.parts,
      draining,
      onOpened: (found) => {
        state = found;
        opened.parts.onOpened?.(found);
      },
      ...seen,
      wait: ({ until }) => waitFor(until),
    });
  }

  async function waitFor(until: string | null): Promise<boolean> {
    wakeAt = until;
    nudge = new AbortController();
    const leftMs = until === null ? Number.POSITIVE_INFINITY : Date.parse(until) - clock.now().getTime();
    if (!again && (leftMs > SHORT_WAIT_MS || draining.aborted)) return false;
    if (!again) await clock.sleep(leftMs, AbortSignal.any([nudge.signal, draining, hard.signal]));
    again = false;
    hard.signal.throwIfAborted();
    return true;
  }

  function onCommitted(events: readonly RecordedEvent[], folded: AgentState): void {
    const last = events.at(-1);
    state = folded;
    head = last?.seq ?? head;
    lastEventAt = last?.at ?? lastEventAt;
    problem = null;
    parts.onCommitted(id, events, folded);
  }

  const seen = { onCommitted, onSent: (agents: readonly string[]): void => parts.onSent?.(agents) };

  /** A full disk is waited out; what fails again and again for another reason stops the agent. */
  async function fail(error: Error): Promise<void> {
    const step = state?.step ?? 0;
    // Days of work between two of them are no row.
    failures = step > failedAtStep + MAX_FAILURES ? 1 : failures + 1;
    failedAtStep = step;
    again = false;
    problem = error.message;
    tell(error);
    if (isGoaldError(error, "GOALD_FENCED") || isGoaldError(error, "GOALD_NOT_FOUND")) return;
    const isTried = failures < MAX_FAILURES || isGoaldError(error, "GOALD_STORE_FULL");
    if (isTried || !(await isParked(`It failed ${failures} times in a row, at last with: ${error.message}`)))
      wakeIn(Math.min(MAX_BACKOFF_MS, 1000 * 2 ** failures));
  }

  /** False when what is wrong keeps it from being written down, too. */
  async function isParked(reason: string): Promise<boolean> {
    try {
      await pauseAt("crash-loop", reason);
      return true;
    } catch (thrown) {
      tell(thrown);
      return false;
    }
  }

  const tell = (thrown: unknown): void => parts.report(id, toError(thrown).message);

  function stopTimer(): void {
    timer?.abort();
    timer = undefined;
  }

  function wakeIn(ms: number): void {
    stopTimer();
    if (draining.aborted) return;
    timer = new AbortController();
    const { signal } = timer;
    void clock.sleep(Math.max(0, ms), signal).then(() => {
      if (!signal.aborted) wake();
    });
  }

  async function pauseAt(code: PauseCode, reason: string): Promise<void> {
    await using opened = await parts.open(id, new AbortController().signal);
    state = await pauseAgent(opened.lease, { ...opened.parts, ...seen }, { code, reason });
    wakeAt = null;
    stopTimer();
    await parts.onStopped(id, state).catch(tell);
  }

  return {
    get running() {
      return busy > 0;
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
    get problem() {
      return problem;
    },
    get recovering() {
      return failures > 0;
    },
    wake,
    settled: async () => {
      while (busy > 0) await ending;
    },
    abort: (reason) => {
      stopTimer();
      again = false;
      hard.abort(new Error(reason));
      nudge.abort();
    },
    park: (code, reason) => alone(() => pauseAt(code, reason)),
    release: stopTimer,
  };
}
