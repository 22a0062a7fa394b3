/** turns.ts -- slices of long work in one thread, work in the order of its keys, and a limit of work at a time. */

import { setImmediate } from "node:timers/promises";

/** The longest time that a slice blocks the thread. */
const TURN_MS = 5;

/** Returns a function to call between parts of the work: undefined within a slice, else a promise to await before going on. */
export function createTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < TURN_MS) return undefined;
    return setImmediate().then(() => {
      began = performance.now();
    });
  };
}

/** Runs asynchronous work one at a time per key, in the order of the calls. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Settles as `work` does. A failure does not stop the work that is queued behind it. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled: Promise<void> = Promise.allSettled([result]).then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    this.#last.set(key, settled);
    return result;
  }
}

/** Limits how many pieces of work run at a time, and queues the others in order. */
export function createSlots(limit: number) {
  const queue = new Set<() => void>();
  let active = 0;

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      if (queue.delete(resolve)) reject(signal?.reason);
    };
    queue.add(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  /** Passes the slot directly to the next in the queue, so that no later call can take it first. */
  function release(): void {
    const [next] = queue;
    if (!next) active -= 1;
    else if (queue.delete(next)) next();
  }

  return {
    /** Runs `work` in the next free slot. Rejects with the signal's reason when it is aborted while waiting. */
    hold: async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
      signal?.throwIfAborted();
      if (active >= limit) await waitForSlot(signal);
      else active += 1;
      try {
        return await work();
      } finally {
        release();
      }
    },
    get active() {
      return active;
    },
    get queued() {
      return queue.size;
    },
  };
}
