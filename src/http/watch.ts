/** watch.ts -- aborts an HTTP exchange at its timeouts or when its caller aborts. */
export interface HttpLimits {
  /** Maximum size of the decompressed body. A larger one throws GOALD_HTTP_TOO_LARGE. */
  readonly maxBytes: number;
  /** The same for an event stream, whose framing is many times its content. `maxBytes` counts if it is larger. */
  readonly maxStreamBytes: number;
  /** From the request to the response headers. Long by default: a local model may need minutes. */
  readonly firstByteTimeoutMs: number;
  /** Silence between two pieces of the body, while the caller reads. */
  readonly idleTimeoutMs: number;
  /** From the request to the last byte. Infinity for no limit. */
  readonly totalTimeoutMs: number;
}

/** The maximum of Node's timers, 24 days. Longer timeouts end here. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface RequestWatch {
  readonly signal: AbortSignal;
  /** Replaces the current timeout. `what` begins the error message. */
  expect(what: string, timeoutMs: number): void;
  abort(reason: unknown): void;
  stop(): void;
}

/** Aborts a request at its timeouts or when `outer` aborts. */
export function startWatch(origin: string, limits: HttpLimits, outer: AbortSignal | null | undefined): RequestWatch {
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

/** Callers recognize it by its name. Not a DOMException, because some clients lose the message of one. */
class HttpTimeoutError extends Error {
  override readonly name = "TimeoutError";
  constructor(what: string, origin: string, timeoutMs: number) {
    super(`${what} from ${origin} for ${timeoutMs < 1000 ? `${timeoutMs} ms` : `${Math.round(timeoutMs / 1000)} s`}.`);
  }
}
