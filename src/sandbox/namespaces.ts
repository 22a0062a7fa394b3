/**
 * namespaces.ts -- the live namespaces: which process has which version, and which cell runs where. A process loads one
 * namespace in its life. One whose version is not the wanted one is ended, and a new process loads what was saved.
 */
import type { Cage } from "#cage/cage.ts";
import type { Cell, CellBridge, CellOutcome, SavedNamespace } from "#core/ports/sandbox.ts";
import { CellProcess, closedProblem, goneOutcome } from "./cell-process.ts";
import { cleanName } from "./guest-answers.ts";
import { MAX_SAVING_MS } from "./protocol.ts";
import { prepareSnapshot } from "./python-snapshot.ts";

interface Live {
  readonly process: CellProcess;
  /** Version of the namespace that the process has; undefined when it is not known. */
  version: string | null | undefined;
  isLoaded: boolean;
}

export class Namespaces {
  readonly #pool: ProcessPool;
  /** By the id of the agent. */
  readonly #live = new Map<string, Live>();

  constructor(options: PoolOptions) {
    this.#pool = new ProcessPool(options);
  }

  get isCrowded(): boolean {
    return this.#pool.isCrowded;
  }

  async run(cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    if (cell.isAlone) return this.#runAlone(cell, host, signal);
    const live = this.#live.get(cell.agent);
    if (live?.process.canNest) return this.#runIn(live, cell, host, signal);
    if (live?.process.isBusy && !live.process.isGone) throw new Error("A cell of this namespace runs already.");
    const resumed = this.#resume(live, cell);
    if (resumed || cell.saved === null) return this.#runOuter(resumed, cell, host, signal);
    return this.#runWithSaved(cell, cell.saved, host, signal);
  }

  /** `live`: undefined for a new process. */
  async #runOuter(live: Live | undefined, cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    const found = live ?? (await this.#load(cell, signal));
    if (!found) return goneOutcome(closedProblem(), 0);
    try {
      return await this.#runIn(found, cell, host, signal);
    } finally {
      this.#forgetGone();
      this.#pool.rest(found.process);
    }
  }

  /**
   * Runs a cell in a new process that loads a saved namespace, and gives up a namespace that ends processes.
   *
   * When the process ends before the outcome, the namespace is the reason if a cell that does nothing ends with it too, and
   * does not end without it. Else the code is the reason, and the namespace is kept.
   *
   * This depends on the namespace and the code only, and happens before the cell has a result. So a cell that runs again after a
   * crash comes to the same result.
   */
  async #runWithSaved(cell: Cell, saved: SavedNamespace, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    const noted = noteRequests(host);
    const outcome = await this.#runOuter(undefined, cell, noted.host, signal);
    if (outcome.saved) return outcome;
    const { redo: _, ...rest } = cell;
    const idle: Cell = { ...rest, code: "0", timeLimitMs: MAX_SAVING_MS };
    if ((await this.#runAlone(idle, refuseRequests(host), signal)).saved) return outcome;
    const empty = { saved: null } as const;
    const ended = noted.hasRequested
      ? await this.#runAlone({ ...idle, ...empty }, refuseRequests(host), signal)
      : await this.#runOuter(undefined, { ...cell, ...empty }, host, signal);
    if (!ended.saved) return outcome;
    const gone = [...saved.definitions.map(([name]) => name), ...Object.keys(saved.values)].map(cleanName);
    if (!noted.hasRequested) return { ...ended, gone };
    return { ...outcome, saved: { version: cell.version, definitions: [], values: {} }, gone };
  }

  /** Ends the process after the cell. */
  async #runAlone(cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    const process = await this.#pool.take(this.#waitsForItself(cell.agent), signal);
    if (!process) return goneOutcome(closedProblem(), 0);
    try {
      return await process.run(cell, host, signal, true);
    } finally {
      process.kill(closedProblem());
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #runIn(live: Live, cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    const loads = !live.isLoaded;
    live.isLoaded = true;
    live.version = undefined;
    const outcome = await live.process.run(cell, host, signal, loads);
    if (outcome.saved) live.version = cell.version;
    return outcome;
  }

  /** Returns undefined when the live namespace is not the wanted one. It is then gone. */
  #resume(live: Live | undefined, { saved }: Cell): Live | undefined {
    if (!live || live.process.isGone) return undefined;
    if (live.version === (saved?.version ?? null)) {
      this.#pool.resume(live.process);
      return live;
    }
    live.process.kill(closedProblem());
    return undefined;
  }

  async #load(cell: Cell, signal: AbortSignal): Promise<Live | undefined> {
    const process = await this.#pool.take(this.#waitsForItself(cell.agent), signal);
    if (!process) return undefined;
    const live: Live = { process, version: undefined, isLoaded: false };
    this.#live.set(cell.agent, live);
    return live;
  }

  #forgetGone(): void {
    for (const [key, { process }] of this.#live) if (process.isGone) this.#live.delete(key);
  }

  /** True if a process of the agent waits for the cell that needs a process: together with others it could wait for ever. */
  #waitsForItself(agent: string): boolean {
    const process = this.#live.get(agent)?.process;
    return process?.isBusy === true && !process.isGone;
  }
}

/**
 * Notes requests that have effects: calls, sub-tasks, saved files. They become nested work in the log, so the code that made
 * them must not run a second time. Reading files leaves nothing in the log, and may happen again.
 */
function noteRequests(host: CellBridge) {
  const noted = { hasRequested: false, host };
  const note =
    <Given extends readonly unknown[], Reply>(ask: (...given: Given) => Reply) =>
    (...given: Given): Reply => {
      noted.hasRequested = true;
      return ask(...given);
    };
  noted.host = { ...host, call: note(host.call), run: note(host.run), saveFiles: note(host.saveFiles) };
  return noted;
}

/** For a cell that only tries a namespace. */
function refuseRequests(host: CellBridge): CellBridge {
  const error = { code: "not-now", text: "Code that runs while a namespace is loaded or saved cannot call commands." };
  const refuse = async () => ({ error, changesFiles: false });
  return { ...host, call: refuse, run: refuse, saveFiles: refuse };
}

interface PoolOptions {
  readonly findCage: () => Promise<Cage>;
  readonly cacheFolder: string;
  readonly maxProcesses: number;
  readonly memoryMegabytes: number;
  readonly idleMs: number;
}

interface Start {
  readonly cage: Cage;
  readonly snapshot: string | null;
}
interface Waiter {
  readonly start: Start;
  readonly give: (process: CellProcess | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** A spare starts so long after a cell, so that it does not take time from it. */
const SPARE_DELAY_MS = 500;

/**
 * The processes of cells: at most so many at a time, one of them a warm spare. When there are enough, a cell gets the
 * place of the process that has been idle for longest, or waits in a queue. The pool starts no spare before the first
 * cell of all.
 */
class ProcessPool {
  readonly #options: PoolOptions;
  #started: Promise<Start> | undefined;
  readonly #running = new Set<CellProcess>();
  /** Processes that run no cell, the longest idle first, with the timers that end them. */
  readonly #idle = new Map<CellProcess, NodeJS.Timeout>();
  #waiters: readonly Waiter[] = [];
  /** The spare process is one of the idle ones and has no namespace. */
  #spare: CellProcess | undefined;
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
    const waiter: Waiter = { start, give: resolve, fail: reject };
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
    if (!process.isGone) this.#endLater(process);
    this.#serveWaiters();
    clearTimeout(this.#spareTimer);
    this.#spareTimer = setTimeout(() => this.#keepSpare().catch(() => undefined), SPARE_DELAY_MS).unref();
  }

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
      try {
        const process = this.#find(first.start);
        if (!process) return;
        first.give(process);
      } catch (error) {
        first.fail(error);
      }
      this.#waiters = this.#waiters.slice(1);
    }
  }

  /** Returns undefined when there is no place. One is made if that is possible; the end of a process serves the waiters. */
  #find(start: Start): CellProcess | undefined {
    const spare = this.#takeSpare();
    if (spare) return spare;
    if (this.#running.size < this.#options.maxProcesses) return this.#start(start);
    const isEnding = [...this.#running].some(({ isGone }) => isGone);
    const [longestIdle] = this.#idle.keys();
    if (!isEnding) (this.#spare ?? longestIdle)?.kill(closedProblem());
    return undefined;
  }

  #start({ cage, snapshot }: Start): CellProcess {
    const { memoryMegabytes } = this.#options;
    const process = new CellProcess(cage, { memoryMegabytes, snapshot });
    this.#running.add(process);
    void process.ended.then(() => {
      this.#running.delete(process);
      this.resume(process);
      if (this.#spare === process) this.#spare = undefined;
      this.#serveWaiters();
    });
    return process;
  }

  #takeSpare(): CellProcess | undefined {
    const spare = this.#spare;
    if (!spare || spare.isGone) return undefined;
    this.#spare = undefined;
    this.resume(spare);
    return spare;
  }

  async #keepSpare(): Promise<void> {
    const start = await this.#prepare();
    if (this.#isClosed || this.#spare || this.isCrowded || this.#running.size >= this.#options.maxProcesses) return;
    this.#spare = this.#start(start);
    this.#endLater(this.#spare);
  }

  #endLater(process: CellProcess): void {
    this.#idle.set(process, setTimeout(() => process.kill(closedProblem()), this.#options.idleMs).unref());
  }

  /** Prepares once; a failure is forgotten. */
  #prepare(): Promise<Start> {
    this.#started ??= this.#makeStart().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    return this.#started;
  }

  async #makeStart(): Promise<Start> {
    const { findCage, cacheFolder } = this.#options;
    const cage = await findCage();
    return { cage, snapshot: await prepareSnapshot(cage, cacheFolder) };
  }
}
