/** slots.ts -- limits how many pieces of work run at a time, and queues the others in order. */

export interface Slots {
  /** Runs `work` in the next free slot. Rejects with the signal's reason when it is aborted while waiting. */
  hold<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  readonly active: number;
  readonly queued: number;
}

export function createSlots(limit: number): Slots {
  const queue = new Set<() => void>();
  let active = 0;

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      if (queue.delete(start)) reject(signal?.reason);
    };
    const start = (): void => {
      queue.delete(start);
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    queue.add(start);
    signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** Passes the slot directly to the next in the queue, so that no later call can take it first. */
  function release(): void {
    const [next] = queue;
    if (next) next();
    else active -= 1;
  }

  return {
    hold: async (work, signal) => {
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
