/**
 * process-pool.ts -- the processes of cells: at most so many at a time, one of them a warm spare.
 *
 * When there are enough, a cell gets the place of the process that has been idle for longest, or waits in a queue. The pool
 * starts no spare before the first cell of all.
 */
import type { Cage } from "#cage/cage.ts";
import { closedProblem } from "./cell-problems.ts";
import { CellProcess } from "./cell-process.ts";
import { prepareSnapshot } from "./snapshot.ts";

export interface PoolOptions {
  readonly findCage: () => Promise<Cage>;
  readonly cacheFolder: string;
  readonly maxProcesses: number;
  readonly memoryMegabytes: number;
  readonly idleMs: number;
}

/** The parts that the start of a process needs. */
interface Start {
  readonly cage: Cage;
  readonly snapshot: string | null;
}
interface Waiter {
  readonly start: Start;
  readonly give: (process: CellProcess | undefined) => void;
}
interface Spare {
  readonly process: CellProcess;
  readonly timer: NodeJS.Timeout;
}

/** A spare starts so long after a cell, so that it does not take time from it. */
const SPARE_DELAY_MS = 500;

export class ProcessPool {
  readonly #options: PoolOptions;
  #started: Promise<Start> | undefined;
  readonly #running = new Set<CellProcess>();
  /** Processes that have a namespace and run no cell, the longest idle first, with the timers that end them. */
  readonly #idle = new Map<CellProcess, NodeJS.Timeout>();
  #waiters: readonly Waiter[] = [];
  #spare: Spare | undefined;
  #spareTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get isCrowded(): boolean {
    return this.#waiters.length > 0;
  }

  /**
   * Returns a process without a namespace; undefined when the pool is closed. `mayExceed`: at once, because a process of the
   * caller waits for it. Rejects with the signal's reason, or when no process can be prepared.
   */
  async take(mayExceed: boolean, signal: AbortSignal): Promise<CellProcess | undefined> {
    const start = await this.#prepare();
    signal.throwIfAborted();
    if (this.#isClosed) return undefined;
    if (mayExceed) return this.#takeSpare() ?? this.#start(start);
    const { promise, resolve, reject } = Promise.withResolvers<CellProcess | undefined>();
    const waiter: Waiter = { start, give: resolve };
    const leave = (): void => {
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiters = [...this.#waiters, waiter];
    this.#serveWaiters();
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** The process runs no cell any more. It ends after a while, or when another one is needed. */
  rest(process: CellProcess): void {
    if (!process.isGone) this.#idle.set(process, this.#endLater(process));
    this.#serveWaiters();
    clearTimeout(this.#spareTimer);
    this.#spareTimer = setTimeout(() => void this.#keepSpare(), SPARE_DELAY_MS).unref();
  }

  /** The process runs a cell again. */
  resume(process: CellProcess): void {
    clearTimeout(this.#idle.get(process));
    this.#idle.delete(process);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#spareTimer);
    for (const { give } of this.#waiters) give(undefined);
    this.#waiters = [];
    for (const process of this.#running) process.kill(closedProblem());
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  #serveWaiters(): void {
    for (let [first] = this.#waiters; first; [first] = this.#waiters) {
      const process = this.#find(first.start);
      if (!process) return;
      this.#waiters = this.#waiters.slice(1);
      first.give(process);
    }
  }

  /** Returns undefined when there is no place. One is made if that is possible; the end of a process serves the waiters. */
  #find(start: Start): CellProcess | undefined {
    const spare = this.#takeSpare();
    if (spare) return spare;
    if (this.#running.size < this.#options.maxProcesses) return this.#start(start);
    const isEnding = [...this.#running].some(({ isGone }) => isGone);
    const [longestIdle] = this.#idle.keys();
    if (!isEnding) (this.#spare?.process ?? longestIdle)?.kill(closedProblem());
    return undefined;
  }

  #start({ cage, snapshot }: Start): CellProcess {
    const { memoryMegabytes } = this.#options;
    const process = new CellProcess(cage, { memoryMegabytes, snapshot });
    this.#running.add(process);
    void process.ended.then(() => {
      this.#running.delete(process);
      this.resume(process);
      if (this.#spare?.process === process) this.#dropSpare();
      this.#serveWaiters();
    });
    return process;
  }

  #takeSpare(): CellProcess | undefined {
    const spare = this.#spare;
    if (!spare || spare.process.isGone) return undefined;
    this.#dropSpare();
    return spare.process;
  }

  #dropSpare(): void {
    clearTimeout(this.#spare?.timer);
    this.#spare = undefined;
  }

  async #keepSpare(): Promise<void> {
    const start = await this.#prepare();
    if (this.#isClosed || this.#spare || this.isCrowded || this.#running.size >= this.#options.maxProcesses) return;
    const process = this.#start(start);
    this.#spare = { process, timer: this.#endLater(process) };
  }

  #endLater(process: CellProcess): NodeJS.Timeout {
    return setTimeout(() => process.kill(closedProblem()), this.#options.idleMs).unref();
  }

  /** Prepares once; a failure is forgotten. */
  #prepare(): Promise<Start> {
    if (this.#started) return this.#started;
    const start = this.#makeStart();
    this.#started = start;
    start.catch(() => {
      this.#started = undefined;
    });
    return start;
  }

  async #makeStart(): Promise<Start> {
    const { findCage, cacheFolder } = this.#options;
    const cage = await findCage();
    return { cage, snapshot: await prepareSnapshot(cage, cacheFolder) };
  }
}
