/** cell-clock.ts -- measures the time of a cell's code, without the waits for its host, and reports when a limit is over. */

export class CellClock {
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
