/**
 * namespaces.ts -- the live namespaces: which process has which version, and which cell runs where.
 *
 * A process loads one namespace in its life. One whose version is not the wanted one is ended, and a new process loads what
 * was saved.
 */
import type { Cell, CellHost, CellOutcome, SavedNamespace } from "#core/ports/sandbox.ts";
import { closedProblem, goneOutcome } from "./cell-problems.ts";
import type { CellProcess } from "./cell-process.ts";
import { type PoolOptions, ProcessPool } from "./process-pool.ts";
import { MAX_SAVING_MS } from "./protocol.ts";
import { cleanName } from "./read-outcome.ts";

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

/** Each runs a cell in a new process. */
interface NewProcesses {
  run(cell: Cell, host: CellHost): Promise<CellOutcome>;
  /** Ends the process after the cell. */
  runAlone(cell: Cell, host: CellHost): Promise<CellOutcome>;
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
async function runWithSaved(
  cell: Cell,
  saved: SavedNamespace,
  host: CellHost,
  { run, runAlone }: NewProcesses,
): Promise<CellOutcome> {
  const noted = noteRequests(host);
  const outcome = await run(cell, noted.host);
  if (outcome.saved) return outcome;
  const { redo: _, ...rest } = cell;
  const idle: Cell = { ...rest, code: "0", timeLimitMs: MAX_SAVING_MS };
  if ((await runAlone(idle, refuseRequests(host))).saved) return outcome;
  const empty = { saved: null } as const;
  const ended = noted.hasRequested
    ? await runAlone({ ...idle, ...empty }, refuseRequests(host))
    : await run({ ...cell, ...empty }, host);
  if (!ended.saved) return outcome;
  const gone = [...saved.definitions.map(([name]) => name), ...Object.keys(saved.values)].map(cleanName);
  if (!noted.hasRequested) return { ...ended, gone };
  return { ...outcome, saved: { version: cell.version, definitions: [], values: {} }, gone };
}

/**
 * Notes requests that have effects: calls, sub-tasks, saved files. They become nested work in the log, so the code that made
 * them must not run a second time. Reading files leaves nothing in the log, and may happen again.
 */
function noteRequests(host: CellHost) {
  const noted = {
    hasRequested: false,
    host: {
      ...host,
      call: (...given: Parameters<CellHost["call"]>) => note(host.call(...given)),
      run: (...given: Parameters<CellHost["run"]>) => note(host.run(...given)),
      saveFiles: (...given: Parameters<CellHost["saveFiles"]>) => note(host.saveFiles(...given)),
    },
  };
  const note = <T>(reply: T): T => {
    noted.hasRequested = true;
    return reply;
  };
  return noted;
}

/** For a cell that only tries a namespace. */
function refuseRequests(host: CellHost): CellHost {
  const error = { code: "not-now", text: "Code that runs while a namespace is loaded or saved cannot call commands." };
  const refuse = async () => ({ error, changesFiles: false });
  return { ...host, call: refuse, run: refuse, saveFiles: refuse };
}
