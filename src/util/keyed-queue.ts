/** keyed-queue.ts -- runs asynchronous work one at a time per key, in the order of the calls. */

export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Settles as `work` does. A failure does not stop the work that is queued behind it. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }
}
