/**
 * agent-runner.ts -- runs one agent in a host: starts, wakes, cuts off and pauses it; one run at a time. Between runs
 * it holds at most a timer. Each run claims the agent again, so that the log records unfinished work of an earlier run.
 * A failed run is retried; an agent that keeps failing is paused.
 */
import type { Effect, WaitFor } from "#core/call.ts";
import { isCellCommand } from "#core/command.ts";
import { isGoaldError, toError } from "#core/errors.ts";
import type { PauseCode, RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Lease } from "#core/ports/store.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import { type PauseReason, pauseAgent } from "#loop/journal.ts";
import { run } from "#loop/run.ts";
import type { RunParts } from "#loop/run-parts.ts";
import type { IsolationQueue } from "./isolation-queue.ts";

const MAX_FAILURES = 3;
const MAX_BACKOFF_MS = 300_000;

export class AgentRunner {
  readonly #id: string;
  readonly #parts: RunnerParts;
  /** Number of runs and pauses, running or queued. */
  #pending = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #state: AgentState | undefined;
  #head = 0;
  #problem: string | null = null;
  #heldUntil: OpenedAgent["heldUntil"];
  #failures = 0;
  #failedAtStep = 0;
  /** True when a message arrived during the run. */
  #isWoken = false;
  #wakeAt: string | null = null;
  #timer: AbortController | undefined;
  #cutOff = new AbortController();
  #waiting = new AbortController();

  constructor(id: string, parts: RunnerParts) {
    this.#id = id;
    this.#parts = parts;
  }

  get running(): boolean {
    return this.#pending > 0;
  }

  /** State as of the last commit in this host; undefined before the first run has read the log. */
  get state(): AgentState | undefined {
    return this.#state;
  }

  get head(): number {
    return this.#head;
  }

  /** Reason for the last failed run, until the next commit. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Until when a request waits because the model server wants fewer; null when none does. */
  get heldUntil(): Date | null {
    return this.#heldUntil?.() ?? null;
  }

  /** True while a failed run waits to be retried. */
  get recovering(): boolean {
    return this.#failures > 0;
  }

  /** Starts a run, or marks the current run as having new messages. */
  wake(): void {
    if (this.#parts.draining.aborted) return;
    this.#isWoken = true;
    this.#waiting.abort();
    if (!this.running) void this.hold(() => this.#runUntilDone());
  }

  /** Resolves when the agent is idle. */
  async settled(): Promise<void> {
    while (this.running) await this.#queue;
  }

  /** Cuts off the current run. The log keeps the interrupted work as unfinished. */
  abort(reason: string): void {
    this.release();
    this.#isWoken = false;
    this.#cutOff.abort(new Error(reason));
  }

  /** Pauses the agent in any state, as soon as it is idle. An agent whose pause cannot be written goes on by itself. */
  pause(code: PauseCode, reason: string): Promise<void> {
    const isDue = this.running || this.#timer !== undefined;
    return this.hold(() =>
      this.#pauseNow({ code, reason }).catch((thrown) => {
        this.#isWoken ||= isDue;
        throw thrown;
      }),
    );
  }

  /** Cancels the timer: the agent no longer wakes by itself. */
  release(): void {
    this.#timer?.abort();
    this.#timer = undefined;
  }

  /** Does this work when the agent is idle; nothing else begins meanwhile. Settles as `work` does. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    this.release();
    this.#pending += 1;
    const done = this.#queue.then(work).finally(() => {
      this.#pending -= 1;
      if (this.running) return;
      if (this.#isWoken && !this.#parts.draining.aborted) this.wake();
      else if (this.#timer === undefined) this.#parts.onIdle(this.#id);
    });
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** Never rejects. */
  async #runUntilDone(): Promise<void> {
    const { draining, clock, onStopped } = this.#parts;
    this.#cutOff = new AbortController();
    const { signal } = this.#cutOff;
    try {
      while (this.#isWoken && !draining.aborted && !signal.aborted) {
        this.#isWoken = false;
        const ended = await this.#runOnce(signal);
        this.#failures = 0;
        this.#problem = null;
        await onStopped(this.#id, ended).catch((thrown) => this.#report(thrown));
      }
      if (this.#wakeAt !== null && !signal.aborted) this.#wakeIn(Date.parse(this.#wakeAt) - clock.now().getTime());
    } catch (thrown) {
      if (!signal.aborted) await this.#fail(toError(thrown));
    }
  }

  async #runOnce(signal: AbortSignal): Promise<AgentState> {
    await using opened = await this.#parts.open(this.#id, signal);
    this.#wakeAt = null;
    const state = await run(opened.lease, this.#loopParts(opened));
    await opened.ended?.(state);
    return state;
  }

  #loopParts(opened: OpenedAgent): RunParts {
    const { draining, onSent, onCommitted, isolation } = this.#parts;
    const cutOff = this.#cutOff.signal;
    this.#heldUntil = opened.heldUntil;
    const parts: RunParts = {
      ...opened.parts,
      draining,
      isolation: isolation.turnsOf(this.#id, AbortSignal.any([draining, cutOff])),
      // A recording ends where its run was cut off.
      ...(opened.through ? { hasNoTimedCommits: true } : { cutOff }),
      onOpened: (state) => {
        this.#state = state;
        opened.parts.onOpened?.(state);
      },
      onCommitted: (events, state) => {
        this.#state = state;
        this.#head = events.at(-1)?.seq ?? this.#head;
        this.#problem = null;
        onCommitted(this.#id, events, state);
      },
      onSent: (agents) => onSent?.(agents),
      wait: ({ waitFor, until }, state) => this.#wait(until, patienceFor(waitFor, state, opened)),
    };
    return opened.through?.(parts) ?? parts;
  }

  async #wait(until: string | null, { longestMs, leave }: Patience): Promise<boolean> {
    const { clock, draining } = this.#parts;
    this.#wakeAt = until;
    this.#waiting = new AbortController();
    const ended = AbortSignal.any([this.#waiting.signal, draining, this.#cutOff.signal]);
    const beganAt = clock.now().getTime();
    const dueAt = until === null ? Number.POSITIVE_INFINITY : Date.parse(until);
    for (let now = beganAt; !this.#isWoken; now = clock.now().getTime()) {
      if (draining.aborted || dueAt - now > longestMs) return false;
      if (dueAt > now && leave?.when(now - beganAt)) return false;
      await clock.sleep(Math.min(dueAt - now, leave?.everyMs ?? Number.POSITIVE_INFINITY), ended);
      if (!leave || ended.aborted || clock.now().getTime() >= dueAt) break;
    }
    this.#isWoken = false;
    this.#cutOff.signal.throwIfAborted();
    return true;
  }

  /**
   * A full disk is retried without limit, damage never. An agent that keeps failing otherwise is paused, or retried when the
   * pause cannot be written either.
   */
  async #fail(error: Error): Promise<void> {
    const step = this.#state?.step ?? 0;
    // Failures with steps between them are not consecutive.
    this.#failures = step > this.#failedAtStep + MAX_FAILURES ? 1 : this.#failures + 1;
    this.#failedAtStep = step;
    this.#isWoken = false;
    this.#problem = error.message;
    this.#report(error);
    this.#parts.onFailed?.(this.#id, error);
    if (isGoaldError(error, "GOALD_FENCED") || isGoaldError(error, "GOALD_NOT_FOUND")) return;
    if (isDamage(error)) return this.#pauseNow({ code: "damaged", reason: error.message }).catch(() => undefined);
    const isRetried = this.#failures < MAX_FAILURES || isGoaldError(error, "GOALD_STORE_FULL");
    const backoffMs = Math.min(MAX_BACKOFF_MS, 1000 * 2 ** this.#failures);
    if (isRetried) return this.#wakeIn(backoffMs);
    const reason = `It failed ${this.#failures} times in a row, at last with: ${error.message}`;
    return this.#pauseNow({ code: "crash-loop", reason }).catch((thrown) => {
      this.#report(thrown);
      this.#wakeIn(backoffMs);
    });
  }

  async #pauseNow(why: PauseReason): Promise<void> {
    await using opened = await this.#parts.open(this.#id, new AbortController().signal, why);
    const state = await pauseAgent(opened.lease, this.#loopParts(opened), why);
    this.#state = state;
    await opened.ended?.(state);
    this.#wakeAt = null;
    this.release();
    await this.#parts.onStopped(this.#id, state).catch((thrown) => this.#report(thrown));
  }

  #wakeIn(ms: number): void {
    this.release();
    if (this.#parts.draining.aborted) return;
    const timer = new AbortController();
    this.#timer = timer;
    void this.#parts.clock.sleep(Math.max(0, ms), timer.signal).then(() => {
      if (!timer.signal.aborted) this.wake();
    });
  }

  #report(thrown: unknown): void {
    this.#parts.report(this.#id, toError(thrown).message);
  }
}

/** A failed read of the disk has SQLite's error as its cause, and may succeed later. */
const isDamage = (error: Error): boolean => isGoaldError(error, "GOALD_STORE_DAMAGED") && error.cause === undefined;

export interface OpenedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<RunParts, "wait" | "draining" | "onCommitted" | "onSent">;
  /** Wraps the loop's parts of a recorded or replayed agent. */
  through?(parts: RunParts): RunParts;
  /** Called with the last state when the loop has returned. */
  ended?(state: AgentState): Promise<void>;
  readonly longestWaitMs?: number;
  /** Absent: no request is held back. */
  heldUntil?(): Date | null;
  /** True while cells of other agents wait for a process. Absent: never. */
  isSandboxCrowded?(): boolean;
}

export interface RunnerParts {
  readonly clock: Clock;
  /** Aborted when the host shuts down. No new run or step starts after that. */
  readonly draining: AbortSignal;
  /** Aborting `signal` cuts the agent off. `pause` is set when the agent is opened only to be paused. */
  open(agent: string, signal: AbortSignal, pause?: PauseReason): Promise<OpenedAgent>;
  onCommitted(agent: string, events: readonly RecordedEvent[], state: AgentState): void;
  /** Called when the agent has started these agents or sent them a message. */
  onSent?(agents: readonly string[]): void;
  /** Turns of this host's agents to run a command alone. */
  readonly isolation: IsolationQueue;
  /** Called after each run, when the agent is idle. A rejection is reported and changes nothing. */
  onStopped(agent: string, state: AgentState): Promise<void>;
  /** Called when a run has failed. The runner retries it or pauses the agent. */
  onFailed?(agent: string, error: Error): void;
  report(agent: string, problem: string): void;
  /** Called when the runner holds nothing, not even a timer, and may be discarded. */
  onIdle(agent: string): void;
}

const LONGEST_WAIT_MS = 10_000;
/**
 * A person who is there answers within minutes, and running a cell again costs up to the time that its code took. A process of
 * the sandbox holds some 200 MB.
 */
const CELL_WAIT_MS = 600_000;
/** How often a waiting cell looks whether others wait for its process. */
const CROWD_CHECK_MS = 500;

interface Patience {
  /** A wait that is known to be longer is not begun. */
  readonly longestMs: number;
  /** Set inside a cell: whether the run must be left, looked at every `everyMs`. */
  readonly leave?: { readonly everyMs: number; when(waitedMs: number): boolean };
}

/** Effects of commands that run again after an interruption, and then get the recorded results of their nested work. */
const REPEATABLE: ReadonlySet<Effect> = new Set(["pure", "idempotent", "transactional"]);

/** Looks at the commands that this process is in the middle of while the agent waits inside one of them. */
function patienceFor(waitFor: WaitFor, state: AgentState, opened: OpenedAgent): Patience {
  const running = state.frames.flatMap(({ phase }) => {
    const open = phase.kind === "executing" ? openCommand(state, phase.callId) : undefined;
    return open?.intent?.epoch === opened.lease.epoch ? [{ name: open.call.name, effect: open.intent.effect }] : [];
  });
  if (running.length === 0) return { longestMs: opened.longestWaitMs ?? LONGEST_WAIT_MS };
  const mayLeave = running.every(({ effect }) => REPEATABLE.has(effect));
  // A command would lose its place, or holds nothing worth giving back: it stays for as long as the wait takes.
  if (!mayLeave || !running.some(({ name }) => isCellCommand(name))) return { longestMs: Number.POSITIVE_INFINITY };
  // A cell holds a process of the sandbox, and runs again when the wait is over.
  const when = (waitedMs: number): boolean => waitedMs >= CELL_WAIT_MS || opened.isSandboxCrowded?.() === true;
  const longestMs = waitFor === "time" ? CELL_WAIT_MS : Number.POSITIVE_INFINITY;
  return { longestMs, leave: { everyMs: CROWD_CHECK_MS, when } };
}
