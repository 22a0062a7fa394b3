/**
 * http.ts -- the one seam through which HTTP leaves goald.
 *
 * The configured door, `to(origin)`, is a fetch that speaks with exactly one origin: the
 * one that a person wrote into the settings. It follows no redirect, so that a key
 * never travels to an address that nobody chose. Every answer is bounded: in bytes after
 * decompression, in the time to its first byte, in the silence between two pieces of
 * it and, where asked, in all. The second door, `public`, leads to any address on the web and to none
 * of this machine or its networks. Record and replay listen at both.
 */
import { GoaldError } from "#core/errors.ts";
import { bounded } from "./bounded.ts";
import type { PublicOptions } from "./public-door.ts";
import type { PublicFetch, PublicInit } from "./redirect.ts";
import { type HttpLimits, startWatch } from "./watch.ts";

export type { HttpLimits, PublicInit };

export interface Http {
  /**
   * A fetch for one origin. It rejects with GOALD_HTTP_REFUSED for any other address and for every
   * redirect, with GOALD_HTTP_TOO_LARGE, with an error named `TimeoutError`, with the
   * signal's reason, or as Node's fetch does. Throws GOALD_CONFIG when `origin` is no http(s) address.
   */
  to(origin: string, limits?: Partial<HttpLimits>): typeof fetch;
  /**
   * A fetch for the public web: http and https, ports 80, 443, 8080 and 8443, no address of this machine, of private networks
   * or of a cloud's metadata, judged by what is really connected to. It follows up to five redirects, each judged the same
   * way; `response.url` is the address that answered, without its fragment. Bounded to 5 MB, 15 s to the first byte and
   * 30 s in all unless `limits` say otherwise. Rejects as `to` does, with GOALD_HTTP_REFUSED for an address that is not
   * asked; a status that is no success is an answer.
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
const CONNECT_TIMEOUT_MS = 10_000;

export function createHttp(limits: Partial<HttpLimits> = {}, options: PublicOptions = {}): Http {
  let dispatcher: RequestInit["dispatcher"];
  let door: Promise<(limits: HttpLimits) => PublicFetch> | undefined;
  return {
    to(origin, ownLimits) {
      const allowed = originOf(origin);
      const allLimits = { ...DEFAULT_LIMITS, ...limits, ...ownLimits };
      return (input, init = {}) => {
        dispatcher ??= patientDispatcher();
        return send(allowed, allLimits, input, dispatcher ? { ...init, dispatcher } : init);
      };
    },
    public(ownLimits) {
      const allLimits = { ...PUBLIC_LIMITS, ...ownLimits };
      return async (url, init) => {
        door ??= loadPublicDoor(options);
        return (await door)(allLimits)(url, init);
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

function redirectRefused(from: URL, location: string): GoaldError {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  const named = target ? target.origin + target.pathname : "an address that cannot be read";
  return new GoaldError(
    "GOALD_HTTP_REFUSED",
    `${from.origin}${from.pathname} redirects to ${named}; goald follows no redirect of a configured server, its key would travel along.`,
    { hint: "If that is the right address, set it as the base URL." },
  );
}

function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new GoaldError("GOALD_CONFIG", "Expected a base URL that begins with http:// or https://.", {
    hint: "Such as OPENAI_BASE_URL=http://127.0.0.1:11434/v1",
  });
}

/** Where Node's own fetch keeps the agent that it works with. */
const NODE_AGENT = Symbol.for("undici.globalDispatcher.1");
const globals = globalThis as Record<symbol, unknown>;
let nodeAgent: unknown;

function findNodeAgent(): unknown {
  void globalThis.Response; // the first touch loads what sets the symbol
  nodeAgent ??= globals[NODE_AGENT];
  return nodeAgent;
}

/** undici puts an agent of its own there when it is loaded, which Node's fetch would then use. */
async function loadPublicDoor(options: PublicOptions): Promise<(limits: HttpLimits) => PublicFetch> {
  const before = findNodeAgent();
  const { openPublicDoor } = await import("./public-door.ts");
  if (globals[NODE_AGENT] !== before) globals[NODE_AGENT] = before;
  return openPublicDoor(options);
}

/**
 * Node's own fetch gives up after five minutes without headers. The agent behind it is reachable
 * by a registered symbol, and its class builds one that leaves the limits to us. Where a
 * later Node hides it, its five minutes stay.
 */
function patientDispatcher(): RequestInit["dispatcher"] {
  const Agent = (findNodeAgent() as { constructor?: unknown } | undefined)?.constructor;
  if (typeof Agent !== "function") return undefined;
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  return Reflect.construct(Agent, [options]) as RequestInit["dispatcher"];
}
