/** running-cell.ts -- one cell that runs: its host, and its times for loading the namespace, for the code, and for saving. */
import type { Cell, CellHost, CellProblem } from "#core/ports/sandbox.ts";
import { loadingProblem, savingProblem, timeoutProblem } from "./cell-problems.ts";
import { MAX_LOADING_MS, MAX_SAVING_MS } from "./protocol.ts";

/** The process stops code itself at the limit; the host kills it this much later. */
const GRACE_MS = 80;

export class RunningCell {
  readonly cell: Cell;
  readonly host: CellHost;
  /** Stands still while the code waits for its host. */
  readonly clock: CellClock;
  /** Position among the cells that run in the process, from 1. */
  readonly depth: number;
  #phase: "loading" | "code" | "saving";
  #loadMs = 0;
  #codeMs: number | undefined;

  /** `loads`: a saved namespace is loaded before the code runs. `onLimit` gets the problem when a time is over. */
  constructor(cell: Cell, host: CellHost, depth: number, loads: boolean, onLimit: (problem: CellProblem) => void) {
    this.cell = cell;
    this.host = host;
    this.depth = depth;
    this.#phase = loads ? "loading" : "code";
    const problems = { loading: loadingProblem, code: () => timeoutProblem(cell.timeLimitMs), saving: savingProblem };
    this.clock = new CellClock(loads ? MAX_LOADING_MS : this.#codeLimitMs, () => onLimit(problems[this.#phase]()));
  }

  /** Time of the code itself. */
  get codeMs(): number {
    return this.#codeMs ?? this.clock.usedMs - this.#loadMs;
  }

  /** The namespace is loaded. Returns false when that is not expected. */
  startCode(): boolean {
    if (this.#phase !== "loading") return false;
    this.#phase = "code";
    this.#loadMs = this.clock.usedMs;
    this.clock.replaceLimit(this.#codeLimitMs);
    return true;
  }

  /** The code has ended. Returns false when that is not expected. */
  endCode(): boolean {
    if (this.#phase === "saving") return false;
    this.#codeMs = this.codeMs;
    this.#phase = "saving";
    this.clock.replaceLimit(MAX_SAVING_MS);
    return true;
  }

  get #codeLimitMs(): number {
    return this.cell.timeLimitMs + GRACE_MS;
  }
}

class CellClock {
  readonly #onLimit: () => void;
  #leftMs: number;
  #usedMs = 0;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onLimit: () => void) {
    this.#leftMs = limitMs;
    this.#onLimit = onLimit;
  }

  get usedMs(): number {
    return this.#usedMs + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  start(): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#onLimit, Math.max(0, this.#leftMs));
  }

  stop(): void {
    if (this.#since === undefined) return;
    clearTimeout(this.#timer);
    const passedMs = performance.now() - this.#since;
    this.#since = undefined;
    this.#usedMs += passedMs;
    this.#leftMs -= passedMs;
  }

  /** The clock goes on with another limit. */
  replaceLimit(limitMs: number): void {
    this.stop();
    this.#leftMs = limitMs;
    this.start();
  }
}
