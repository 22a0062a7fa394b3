/** watch.ts -- how long an exchange may take, and its end when it takes longer or nobody wants it any more. */
export interface HttpLimits {
  /** Of the body, decompressed. Beyond: GOALD_HTTP_TOO_LARGE. */
  readonly maxBytes: number;
  /** The same of a stream of events, whose wrapping is many times its content; `maxBytes` when that is more. */
  readonly maxStreamBytes: number;
  /** From the request to the answer's headers. Long by default: a local model may think for minutes. */
  readonly firstByteTimeoutMs: number;
  /** Silence allowed between two pieces of the body, while somebody waits for one. */
  readonly idleTimeoutMs: number;
  /** From the request to the last byte; Infinity for no such limit. */
  readonly totalTimeoutMs: number;
}

/** Node's timers take no more; longer waits end here, after 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Watch {
  readonly signal: AbortSignal;
  /** Starts the wait for the next sign of life, in place of the last one. */
  expect(what: string, timeoutMs: number): void;
  abort(reason: unknown): void;
  stop(): void;
}

/** Ends a request when its caller does, or when it is too slow. */
export function startWatch(origin: string, limits: HttpLimits, outer: AbortSignal | null | undefined): Watch {
  const controller = new AbortController();
  const abortAfter = (what: string, timeoutMs: number) =>
    Number.isFinite(timeoutMs)
      ? setTimeout(() => abort(new HttpTimeoutError(what, origin, timeoutMs)), Math.min(timeoutMs, MAX_TIMER_MS))
      : undefined;
  const total = abortAfter("No complete answer", limits.totalTimeoutMs);
  let next: ReturnType<typeof abortAfter>;
  const onOuterAbort = () => abort(outer?.reason);
  outer?.addEventListener("abort", onOuterAbort, { once: true });
  if (outer?.aborted) onOuterAbort();

  return { signal: controller.signal, expect, abort, stop };

  function expect(what: string, timeoutMs: number): void {
    clearTimeout(next);
    next = abortAfter(what, timeoutMs);
  }
  function abort(reason: unknown): void {
    stop();
    controller.abort(reason);
  }
  function stop(): void {
    clearTimeout(total);
    clearTimeout(next);
    outer?.removeEventListener("abort", onOuterAbort);
  }
}

/** Told by its name from a broken connection. An error of our own, since a DOMException's message is lost in some clients. */
class HttpTimeoutError extends Error {
  override readonly name = "TimeoutError";
  constructor(what: string, origin: string, timeoutMs: number) {
    super(`${what} from ${origin} for ${timeoutMs < 1000 ? `${timeoutMs} ms` : `${Math.round(timeoutMs / 1000)} s`}.`);
  }
}
