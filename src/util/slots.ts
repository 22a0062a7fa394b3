/** slots.ts -- so many at a time, and the others in the order in which they came. */

export interface Slots {
  /**
   * Runs `work` as soon as there is room; gives the room back however it ends. Rejects with the signal's
   * reason when that is aborted before there was room.
   */
  hold<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  readonly active: number;
  readonly queued: number;
}

export function createSlots(limit: number): Slots {
  const queue = new Set<() => void>();
  let active = 0;

  function enter(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      if (queue.delete(enterNow)) reject(signal?.reason);
    };
    const enterNow = (): void => {
      queue.delete(enterNow);
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    queue.add(enterNow);
    signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** The room goes to the next in line without ever being free, so that nobody overtakes. */
  function giveBack(): void {
    const [next] = queue;
    if (next) next();
    else active -= 1;
  }

  return {
    hold: async (work, signal) => {
      signal?.throwIfAborted();
      if (active >= limit) await enter(signal);
      else active += 1;
      try {
        return await work();
      } finally {
        giveBack();
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
