/**
 * background-lots.ts -- makes missing vectors in the background, in small lots, for one memory after the other.
 *
 * Each lot is saved before the next one begins, so a crash costs one lot, and other work runs between two lots.
 */
import { setTimeout } from "node:timers/promises";

/** Rows of a lot: few enough that embedding them at home, or saving them, delays other work by less than 10 ms. */
export const LOT_ROWS = 32;
const PAUSE_MS = 250;

export class BackgroundLots {
  readonly #pauseMs: number;
  readonly #stop = new AbortController();
  /** Memories under way or queued. */
  readonly #names = new Set<string>();
  #work: Promise<void> = Promise.resolve();

  constructor(pauseMs: number = PAUSE_MS) {
    this.#pauseMs = pauseMs;
  }

  /**
   * Calls `makeLot` until it returns false or rejects, after the memories that were started before. Does nothing while this
   * memory is under way or queued.
   */
  start(name: string, makeLot: (signal: AbortSignal) => Promise<boolean>): void {
    const { signal } = this.#stop;
    if (this.#names.has(name) || signal.aborted) return;
    this.#names.add(name);
    this.#work = this.#work
      .then(async () => {
        while (!signal.aborted && (await makeLot(signal)))
          await setTimeout(this.#pauseMs, undefined, { ref: false, signal });
      })
      .catch(() => undefined)
      .finally(() => this.#names.delete(name));
  }

  /** Aborts the lot under way, and starts no other. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("Memory is closed."));
    await this.#work;
  }
}
