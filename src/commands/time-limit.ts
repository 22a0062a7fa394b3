/**
 * time-limit.ts -- a command's time: a signal that ends it, and an end even for what does not heed the signal.
 */

export interface TimeLimit extends Disposable {
  /** Aborted with the host, or when the time is up. */
  readonly signal: AbortSignal;
  /** True once the time is up or the call is over: what is left behind may change nothing any more. */
  readonly isOver: boolean;
  /** Settles with `running`, or resolves to `late()` when the time is up; rejects with the host's reason when it goes down. */
  race<T, L>(running: Promise<T>, late: () => L): Promise<T | L>;
}

/** Unlike AbortSignal's own time-outs, nothing of it outlives the call. */
export function startTimeLimit(host: AbortSignal, timeoutMs: number): TimeLimit {
  const controller = new AbortController();
  const { signal } = controller;
  let isDisposed = false;
  const onHostAbort = (): void => controller.abort(host.reason);
  const timer = setTimeout(() => controller.abort(new DOMException("The time is up.", "TimeoutError")), timeoutMs);
  host.addEventListener("abort", onHostAbort, { once: true });
  if (host.aborted) onHostAbort();

  async function race<T, L>(running: Promise<T>, late: () => L): Promise<T | L> {
    const end = Promise.withResolvers<L>();
    const onEnd = (): void => (host.aborted ? end.reject(host.reason) : end.resolve(late()));
    signal.addEventListener("abort", onEnd, { once: true });
    if (signal.aborted) onEnd();
    // What is left behind may still reject, and nobody listens.
    running.catch(() => undefined);
    try {
      return await Promise.race([running, end.promise]);
    } catch (error) {
      host.throwIfAborted();
      // Who heeds the signal rejects with it: the same end as of one that does not.
      if (signal.aborted) return late();
      throw error;
    } finally {
      signal.removeEventListener("abort", onEnd);
    }
  }

  return {
    signal,
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
