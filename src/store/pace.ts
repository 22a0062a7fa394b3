/** pace.ts -- long work in the calling thread, in slices: between them everything else gets its turn. */
import { setImmediate } from "node:timers/promises";

/** Socket, model and terminal wait no longer than this for a read. */
const SLICE_MS = 8;

export class Pace {
  #since = performance.now();

  /** The slice is used up: rest. */
  get isOver(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  async rest(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
