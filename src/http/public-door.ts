/**
 * public-door.ts -- the door to any address of the public web, and to no other (see `Http.public`).
 *
 * Loaded on first use: undici takes some 25 MB. Its own fetch must go with its own Agent. Proxies of the environment are
 * not used: behind one, nobody here could tell which address is connected to.
 */
import { Agent, fetch } from "undici";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { bounded } from "./bounded.ts";
import { type ConnectRules, guardedConnector } from "./guarded-connect.ts";
import { type PublicRules, readPublicUrl } from "./public-url.ts";
import { MAX_REDIRECTS, nextHop, type PublicFetch, type PublicInit } from "./redirect.ts";
import { type HttpLimits, startWatch } from "./watch.ts";

export interface PublicOptions extends Omit<ConnectRules, "allow"> {
  /** Origins, with their port, that the person allows although they are not public. Cloud metadata stays refused. */
  readonly allow?: readonly string[];
  /** Ports that any other address may have. Defaults to 80, 443, 8080 and 8443. */
  readonly ports?: readonly number[];
}

/** Opens the door once; each fetch has limits of its own. */
export function openPublicDoor(options: PublicOptions): (limits: HttpLimits) => PublicFetch {
  const allow = new Set(options.allow?.flatMap((text) => (URL.canParse(text) ? [new URL(text).origin] : [])));
  const rules: PublicRules = { allow, ports: new Set(options.ports ?? PORTS) };
  const agent = new Agent({
    connect: guardedConnector({ ...options, allow }),
    allowH2: false,
    connections: CONNECTIONS_PER_ORIGIN,
    // Time is measured here, as at the other door.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return (limits) =>
    (url, init = {}) =>
      ask(agent, rules, limits, url, init);
}

const PORTS = [80, 443, 8080, 8443];
const CONNECTIONS_PER_ORIGIN = 8;

async function ask(
  agent: Agent,
  rules: PublicRules,
  limits: HttpLimits,
  given: string | URL,
  first: PublicInit,
): Promise<Response> {
  let [url, init] = [readPublicUrl(given, rules), first];
  const watch = startWatch(url.origin, limits, first.signal);
  try {
    for (let hops = 0; ; hops++) {
      watch.expect("No answer", limits.firstByteTimeoutMs);
      const response = await send(agent, url, init, watch.signal);
      watch.expect("", Number.POSITIVE_INFINITY);
      const next = first.redirect === "manual" ? undefined : nextHop(url, init, response);
      if (next === undefined) return answered(bounded(response, watch, url.origin, limits), url);
      void response.body?.cancel().catch(() => undefined);
      if (hops === MAX_REDIRECTS)
        throw new GoaldError(
          "GOALD_HTTP_REFUSED",
          `More than ${MAX_REDIRECTS} redirects, the last from ${url.origin}.`,
        );
      [url, init] = [readPublicUrl(next.url, rules), next.init];
    }
  } catch (error) {
    watch.stop();
    throw refusalIn(error) ?? error;
  }
}

async function send(agent: Agent, url: URL, init: PublicInit, signal: AbortSignal): Promise<Response> {
  const { method = "GET", body = null } = init;
  const headers = Object.entries(init.headers ?? {}).filter(([name]) => name.toLowerCase() !== "host");
  const response = await fetch(url, { method, body, headers, signal, redirect: "manual", dispatcher: agent });
  if (response.status < 200 || response.status > 599) {
    void response.body?.cancel().catch(() => undefined);
    throw new GoaldError("GOALD_WEB", `${url.origin} answered with ${response.status}, which is no status of HTTP.`);
  }
  return response as unknown as Response;
}

/** The connection's refusal comes wrapped as a network error. */
function refusalIn(error: unknown): GoaldError | undefined {
  for (let next = error, depth = 0; Error.isError(next) && depth < 8; next = next.cause, depth++)
    if (isGoaldError(next)) return next;
  return undefined;
}

/** A `Response` that was built says no address. */
const answered = (response: Response, url: URL): Response =>
  Object.defineProperty(response, "url", { value: url.href, configurable: true });
