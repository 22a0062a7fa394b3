/**
 * namespaces.ts -- the live namespaces: which process has which version, and which cell runs where.
 *
 * A process loads one namespace in its life. One whose version is not the wanted one is ended, and a new process loads what
 * was saved.
 */
import type { Cell, CellHost, CellOutcome } from "#core/ports/sandbox.ts";
import { closedProblem, goneOutcome } from "./cell-problems.ts";
import type { CellProcess } from "./cell-process.ts";
import { type PoolOptions, ProcessPool } from "./process-pool.ts";
import { runWithSaved } from "./run-with-saved.ts";

interface Live {
  readonly agent: string;
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

  async run(cell: Cell, host: CellHost, signal: AbortSignal): Promise<CellOutcome> {
    if (cell.isAlone) return this.#runAlone(cell, host, signal);
    const live = this.#live.get(cell.agent);
    if (live?.process.canNest) return this.#runIn(live, cell, host, signal);
    if (live?.process.isBusy && !live.process.isGone) throw new Error("A cell of this namespace runs already.");
    const resumed = this.#resume(live, cell);
    if (resumed || cell.saved === null) return this.#runOuter(resumed, cell, host, signal);
    return runWithSaved(cell, cell.saved, host, {
      run: (one, its) => this.#runOuter(undefined, one, its, signal),
      runAlone: (one, its) => this.#runAlone(one, its, signal),
    });
  }

  /** `live`: undefined for a new process. */
  async #runOuter(live: Live | undefined, cell: Cell, host: CellHost, signal: AbortSignal): Promise<CellOutcome> {
    const found = live ?? (await this.#load(cell, signal));
    if (!found) return goneOutcome(closedProblem(), 0);
    try {
      return await this.#runIn(found, cell, host, signal);
    } finally {
      this.#forgetGone();
      this.#pool.rest(found.process);
    }
  }

  async #runAlone(cell: Cell, host: CellHost, signal: AbortSignal): Promise<CellOutcome> {
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

  async #runIn(live: Live, cell: Cell, host: CellHost, signal: AbortSignal): Promise<CellOutcome> {
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
    const { agent } = cell;
    const process = await this.#pool.take(this.#waitsForItself(agent), signal);
    if (!process) return undefined;
    const live: Live = { agent, process, version: undefined, isLoaded: false };
    this.#live.set(agent, live);
    return live;
  }

  #forgetGone(): void {
    for (const [key, { process }] of this.#live) if (process.isGone) this.#live.delete(key);
  }

  /** True if a process of the agent waits for the cell that needs a process: together with others it could wait for ever. */
  #waitsForItself(agent: string): boolean {
    return [...this.#live.values()].some(
      ({ agent: one, process }) => one === agent && process.isBusy && !process.isGone,
    );
  }
}
