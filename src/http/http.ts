/**
 * http.ts -- the only module through which HTTP requests leave goald.
 *
 * `to(origin)` returns a fetch for exactly one origin from the settings. It follows no redirect, because a key would go
 * along. `public()` returns a fetch for any address on the web, but none of this machine or its networks. Both limit
 * the bytes after decompression, the time to the first byte, the silence between two pieces, and optionally the total
 * time.
 */
import { GoaldError } from "#core/errors.ts";
import { once } from "#util/caches.ts";
import { type HttpLimits, limitResponse, startWatch } from "./exchange.ts";
import type { PublicOptions } from "./public-door.ts";
import type { PublicFetch } from "./redirect.ts";

export type { HttpLimits };

export interface Http {
  /**
   * Returns a fetch for one origin. The fetch rejects with GOALD_HTTP_REFUSED for any other address and for
   * redirects, with GOALD_HTTP_TOO_LARGE, with an error named `TimeoutError`, with the signal's reason, or with
   * the errors of Node's fetch. Throws GOALD_CONFIG if `origin` is not an http(s) address.
   */
  to(origin: string, limits?: Partial<HttpLimits>): typeof fetch;
  /**
   * Returns a fetch for the public web: http and https, ports 80, 443, 8080 and 8443. It refuses addresses of this machine,
   * of private networks and of cloud metadata, by the address of the actual connection. It follows up to five redirects
   * under the same rules. `response.url` is the final address without its fragment. Default limits: 5 MB, 15 s to the first
   * byte, 30 s in total. Rejects with the errors of `to`. An error status is a response, not an error.
   */
  public(limits?: Partial<HttpLimits>): PublicFetch;
}

const DEFAULT_LIMITS: HttpLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxStreamBytes: 32 * 1024 * 1024,
  firstByteTimeoutMs: 10 * 60_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: Number.POSITIVE_INFINITY,
};
const PUBLIC_LIMITS: HttpLimits = {
  maxBytes: 5 * 1024 * 1024,
  maxStreamBytes: 0,
  firstByteTimeoutMs: 15_000,
  idleTimeoutMs: 15_000,
  totalTimeoutMs: 30_000,
};
const CONFIGURED_CONNECT_TIMEOUT_MS = 10_000;

export function createHttp(limits: Partial<HttpLimits> = {}, options: PublicOptions = {}): Http {
  let dispatcher: RequestInit["dispatcher"];
  const door = once(() => loadPublicDoor(options));
  return {
    to(origin, ownLimits) {
      const allowed = parseOrigin(origin);
      const allLimits = { ...DEFAULT_LIMITS, ...limits, ...ownLimits };
      return (input, init = {}) => {
        dispatcher ??= createPatientDispatcher();
        return sendToOrigin(allowed, allLimits, input, dispatcher ? { ...init, dispatcher } : init);
      };
    },
    public(ownLimits) {
      const allLimits = { ...PUBLIC_LIMITS, ...ownLimits };
      return async (url, init) => (await door())(allLimits)(url, init);
    },
  };
}

async function sendToOrigin(
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
      { hint: "Set that address as the base URL if goald should speak with it." },
    );
  const watch = startWatch(allowed, limits, init.signal ?? request?.signal);
  try {
    watch.expect("No answer", limits.firstByteTimeoutMs);
    const response = await fetch(input, { ...init, redirect: "manual", signal: watch.signal });
    watch.expect("", Number.POSITIVE_INFINITY);
    const target = response.status >= 300 && response.status < 400 && response.headers.get("location");
    if (typeof target !== "string") return limitResponse(response, watch, allowed, limits);
    void response.body?.cancel().catch(() => undefined);
    throw redirectRefused(url, target);
  } catch (error) {
    watch.stop();
    throw error;
  }
}

function redirectRefused(from: URL, location: string): GoaldError {
  const target = URL.parse(location, from.href);
  const named = target ? target.origin + target.pathname : "an address that cannot be read";
  return new GoaldError(
    "GOALD_HTTP_REFUSED",
    `${from.origin}${from.pathname} redirects to ${named}; goald follows no redirect of a configured server, its key would travel along.`,
    { hint: "If that is the right address, set it as the base URL." },
  );
}

function parseOrigin(address: string): string {
  const url = URL.parse(address);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new GoaldError("GOALD_CONFIG", "Expected a base URL that begins with http:// or https://.", {
    hint: "Such as OPENAI_BASE_URL=http://127.0.0.1:11434/v1",
  });
}

/** Node's fetch keeps its agent under this symbol. */
const NODE_AGENT = Symbol.for("undici.globalDispatcher.1");
const globals = globalThis as Record<symbol, unknown>;
const findNodeAgent = once((): unknown => {
  void globalThis.Response; // the first access makes Node set the symbol
  return globals[NODE_AGENT];
});

/** Loading undici replaces Node's agent under the same symbol. Restores it, so that Node's fetch keeps its own. */
async function loadPublicDoor(options: PublicOptions): Promise<(limits: HttpLimits) => PublicFetch> {
  const before = findNodeAgent();
  const { openPublicDoor } = await import("./public-door.ts");
  if (globals[NODE_AGENT] !== before) globals[NODE_AGENT] = before;
  return openPublicDoor(options);
}

/**
 * Node's fetch times out after five minutes without headers. Builds an agent without that limit, from the class of
 * Node's own agent. If a later Node hides that agent, the limit stays.
 */
function createPatientDispatcher(): RequestInit["dispatcher"] {
  const Agent = (findNodeAgent() as { constructor?: unknown } | undefined)?.constructor;
  if (typeof Agent !== "function") return undefined;
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONFIGURED_CONNECT_TIMEOUT_MS } };
  return Reflect.construct(Agent, [options]) as RequestInit["dispatcher"];
}
