/** time-limit.ts -- limits the time of a command: a signal aborts it, and `race` ends even a command that ignores the signal. */

export interface TimeLimit extends Disposable {
  /** Aborts with the host or at the time limit. */
  readonly signal: AbortSignal;
  /** True after the time limit or the end of the call: the command must change nothing more. */
  readonly isOver: boolean;
  /** The time of `work` does not count. */
  standStill<T>(work: () => Promise<T>): Promise<T>;
  /** Settles with `running`, or resolves to `late()` at the time limit; rejects with the reason of the host's abort. */
  race<T, L>(running: Promise<T>, late: () => L): Promise<T | L>;
}

/** Unlike AbortSignal.timeout, the timer ends with the call. */
export function startTimeLimit(host: AbortSignal, timeoutMs: number): TimeLimit {
  const controller = new AbortController();
  const { signal } = controller;
  let isDisposed = false;
  const onHostAbort = (): void => controller.abort(host.reason);
  const onTimeout = (): void => controller.abort(new DOMException("The time is up.", "TimeoutError"));
  let leftMs = timeoutMs;
  let startedAt = performance.now();
  let timer = setTimeout(onTimeout, timeoutMs);
  /** Number of works that stop the time. */
  let still = 0;
  host.addEventListener("abort", onHostAbort, { once: true });
  if (host.aborted) onHostAbort();

  async function standStill<T>(work: () => Promise<T>): Promise<T> {
    if (still++ === 0) {
      clearTimeout(timer);
      leftMs -= performance.now() - startedAt;
    }
    try {
      return await work();
    } finally {
      if (--still === 0 && !isDisposed) {
        startedAt = performance.now();
        timer = setTimeout(onTimeout, Math.max(1, leftMs));
      }
    }
  }

  async function race<T, L>(running: Promise<T>, late: () => L): Promise<T | L> {
    const end = Promise.withResolvers<L>();
    const onEnd = (): void => (host.aborted ? end.reject(host.reason) : end.resolve(late()));
    signal.addEventListener("abort", onEnd, { once: true });
    if (signal.aborted) onEnd();
    // Prevents an unhandled rejection after the time limit.
    running.catch(() => undefined);
    try {
      return await Promise.race([running, end.promise]);
    } catch (error) {
      host.throwIfAborted();
      // A command that obeys the signal rejects: same outcome as for one that ignores it.
      if (signal.aborted) return late();
      throw error;
    } finally {
      signal.removeEventListener("abort", onEnd);
    }
  }

  return {
    signal,
    standStill,
    race,
    get isOver() {
      return isDisposed || signal.aborted;
    },
    [Symbol.dispose]() {
      isDisposed = true;
      clearTimeout(timer);
      host.removeEventListener("abort", onHostAbort);
    },
  };
}
