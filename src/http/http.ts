/**
 * http.ts -- the one seam through which HTTP leaves goald.
 *
 * The configured door, `to(origin)`, is a fetch that speaks with exactly one origin: the
 * one that a person wrote into the settings. It follows no redirect, so that a key
 * never travels to an address that nobody chose. Every answer is bounded: in bytes after
 * decompression, in the time to its first byte, in the silence between two pieces of
 * it and, where asked, in all. The second door, `public`, for any address on the web, comes with
 * the web commands; record and replay and redaction join here too.
 */
import { GoaldError } from "#core/errors.ts";

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

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

export interface Http {
  /**
   * A fetch for one origin. It rejects with GOALD_HTTP_REFUSED for any other address and for every
   * redirect, with GOALD_HTTP_TOO_LARGE, with an error named `TimeoutError`, with the
   * signal's reason, or as Node's fetch does. Throws GOALD_CONFIG when `origin` is no http(s) address.
   */
  to(origin: string, limits?: Partial<HttpLimits>): Fetch;
}

const DEFAULT_LIMITS: HttpLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxStreamBytes: 32 * 1024 * 1024,
  firstByteTimeoutMs: 10 * 60_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: Number.POSITIVE_INFINITY,
};
const CONNECT_TIMEOUT_MS = 10_000;
/** Node's timers take no more; longer waits end here, after 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createHttp(limits: Partial<HttpLimits> = {}): Http {
  let dispatcher: RequestInit["dispatcher"];
  return {
    to(origin, ownLimits) {
      const allowed = originOf(origin);
      const allLimits = { ...DEFAULT_LIMITS, ...limits, ...ownLimits };
      return (input, init = {}) => {
        dispatcher ??= patientDispatcher();
        return send(allowed, allLimits, input, dispatcher ? { ...init, dispatcher } : init);
      };
    },
  };
}

async function send(
  allowed: string,
  limits: HttpLimits,
  input: string | URL | Request,
  init: RequestInit,
): Promise<Response> {
  const request = typeof input === "object" && "url" in input ? input : undefined;
  const url = new URL(request?.url ?? String(input));
  if (url.origin !== allowed)
    throw new GoaldError(
      "GOALD_HTTP_REFUSED",
      `A request to ${url.origin} was refused: only ${allowed} is configured.`,
      {
        hint: "Set that address as the base URL if goald should speak with it.",
      },
    );
  const watch = startWatch(allowed, limits, init.signal ?? request?.signal);
  try {
    watch.expect("No answer", limits.firstByteTimeoutMs);
    const response = await fetch(input, { ...init, redirect: "manual", signal: watch.signal });
    watch.expect("", Number.POSITIVE_INFINITY);
    const target = response.status >= 300 && response.status < 400 && response.headers.get("location");
    if (typeof target !== "string") return bounded(response, watch, allowed, limits);
    void response.body?.cancel().catch(() => undefined);
    throw redirectRefused(url, target);
  } catch (error) {
    watch.stop();
    throw error;
  }
}

/** The same answer with a body that counts its bytes and watches its silences. */
function bounded(response: Response, watch: Watch, origin: string, limits: HttpLimits): Response {
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
          if (bytes > maxBytes) throw tooLarge(origin, maxBytes);
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
  return new Response(body, { status, statusText, headers: headersAsRead(response.headers) });
}

interface Watch {
  readonly signal: AbortSignal;
  /** Starts the wait for the next sign of life, in place of the last one. */
  expect(what: string, timeoutMs: number): void;
  abort(reason: unknown): void;
  stop(): void;
}

/** Ends a request when its caller does, or when it is too slow. */
function startWatch(origin: string, limits: HttpLimits, outer: AbortSignal | null | undefined): Watch {
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

const tooLarge = (origin: string, maxBytes: number): GoaldError =>
  new GoaldError(
    "GOALD_HTTP_TOO_LARGE",
    `Expected at most ${maxBytes} bytes from ${origin}; more came, and were not read.`,
  );

function redirectRefused(from: URL, location: string): GoaldError {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  const named = target ? target.origin + target.pathname : "an address that cannot be read";
  return new GoaldError(
    "GOALD_HTTP_REFUSED",
    `${from.origin}${from.pathname} redirects to ${named}; goald follows no redirect of a configured server, its key would travel along.`,
    { hint: "If that is the right address, set it as the base URL." },
  );
}

/** What was decompressed on the way is no longer encoded, and longer than it said. */
function headersAsRead(received: Headers): Headers {
  const headers = new Headers(received);
  if (!headers.has("content-encoding")) return headers;
  headers.delete("content-encoding");
  headers.delete("content-length");
  return headers;
}

function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new GoaldError("GOALD_CONFIG", "Expected a base URL that begins with http:// or https://.", {
    hint: "Such as OPENAI_BASE_URL=http://127.0.0.1:11434/v1",
  });
}

/**
 * Node's own fetch gives up after five minutes without headers. The agent behind it is reachable
 * by this registered symbol, and its class builds one that leaves the limits to us. Where a
 * later Node hides it, its five minutes stay.
 */
function patientDispatcher(): RequestInit["dispatcher"] {
  void globalThis.Response; // the first touch loads what sets the symbol
  const current = (globalThis as Record<symbol, unknown>)[Symbol.for("undici.globalDispatcher.1")];
  const Agent = (current as { constructor?: unknown } | undefined)?.constructor;
  if (typeof Agent !== "function") return undefined;
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  return Reflect.construct(Agent, [options]) as RequestInit["dispatcher"];
}
