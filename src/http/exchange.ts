/** exchange.ts -- limits the decompressed size of a response body and the silence between its pieces. */
import { GoaldError } from "#core/errors.ts";

/** Returns the same response with a body that enforces `limits`. */
export function limitResponse(
  response: Response,
  watch: ReturnType<typeof startWatch>,
  origin: string,
  limits: HttpLimits,
): Response {
  if (!response.body) {
    watch.stop();
    return response;
  }
  const reader = response.body.getReader();
  const isEventStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const maxBytes = isEventStream ? Math.max(limits.maxBytes, limits.maxStreamBytes) : limits.maxBytes;
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          watch.expect("Silence", limits.idleTimeoutMs);
          const { done, value } = await reader.read();
          watch.expect("", Number.POSITIVE_INFINITY);
          if (done) {
            watch.stop();
            controller.close();
            return;
          }
          bytes += value.byteLength;
          if (bytes > maxBytes) throw bodyTooLarge(origin, maxBytes);
          controller.enqueue(value);
        } catch (error) {
          watch.abort(error);
          throw error;
        }
      },
      async cancel(reason) {
        watch.stop();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText } = response;
  return new Response(body, { status, statusText, headers: removeEncodingHeaders(response.headers) });
}

const bodyTooLarge = (origin: string, maxBytes: number): GoaldError =>
  new GoaldError(
    "GOALD_HTTP_TOO_LARGE",
    `Expected at most ${maxBytes} bytes from ${origin}; more came, and were not read.`,
  );

/** fetch has decompressed the body, so its encoding and length headers no longer hold. */
function removeEncodingHeaders(received: Headers): Headers {
  const headers = new Headers(received);
  if (!headers.has("content-encoding")) return headers;
  headers.delete("content-encoding");
  headers.delete("content-length");
  return headers;
}

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

/** Aborts a request at its timeouts or when `outer` aborts. */
export function startWatch(origin: string, limits: HttpLimits, outer: AbortSignal | null | undefined) {
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

  /** Replaces the current timeout. `what` begins the error message. */
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
