/**
 * public-door.ts -- a fetch for any address of the public web, and for no other (see `Http.public`).
 *
 * Loaded on first use: undici takes about 25 MB. Uses undici's fetch, because it must match the Agent. Ignores proxies
 * of the environment: behind a proxy, goald could not check the connected address.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { Agent, buildConnector, fetch } from "undici";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { listCauses } from "#util/outside-errors.ts";
import { createSlots } from "#util/turns.ts";
import { EXPECTED_ADDRESS } from "#util/web-address.ts";
import { type HttpLimits, limitResponse, startWatch } from "./exchange.ts";
import {
  checkElsewhere,
  isMetadataName,
  isNeverAllowed,
  isPrivateName,
  isPublicAddress,
  parseLiteral,
} from "./public-address.ts";
import { MAX_REDIRECTS, nextHop, type PublicFetch, type PublicInit } from "./redirect.ts";

export interface PublicOptions extends Omit<ConnectRules, "allow"> {
  /** Origins, with their port, that the person allows although they are not public. Cloud metadata is always refused. */
  readonly allow?: readonly string[];
  /** Ports that any other address may have. Defaults to 80, 443, 8080 and 8443. */
  readonly ports?: readonly number[];
}

/** Returns a function that creates fetches, each with its own limits. All share one agent. */
export function openPublicDoor(options: PublicOptions): (limits: HttpLimits) => PublicFetch {
  const allow = new Set(options.allow?.flatMap((text) => URL.parse(text)?.origin ?? []));
  const rules: PublicRules = { allow, ports: new Set(options.ports ?? PUBLIC_PORTS) };
  const agent = new Agent({
    connect: createGuardedConnector({ ...options, allow }),
    allowH2: false,
    connections: CONNECTIONS_PER_ORIGIN,
    // startWatch enforces the timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return (limits) =>
    async (given, first = {}) => {
      let url = readPublicUrl(given, rules);
      let init = first;
      const watch = startWatch(url.origin, limits, first.signal);
      try {
        for (let hops = 0; ; hops++) {
          watch.expect("No answer", limits.firstByteTimeoutMs);
          const response = await sendOnce(agent, url, init, watch.signal);
          watch.expect("", Number.POSITIVE_INFINITY);
          const next = first.redirect === "manual" ? undefined : nextHop(url, init, response);
          if (next === undefined) return setResponseUrl(limitResponse(response, watch, url.origin, limits), url);
          void response.body?.cancel().catch(() => undefined);
          if (hops === MAX_REDIRECTS)
            throw refuseUrl(`More than ${MAX_REDIRECTS} redirects, the last from ${url.origin}.`);
          [url, init] = [readPublicUrl(next.url, rules), next.init];
        }
      } catch (error) {
        watch.stop();
        // undici wraps the connector's refusal in a network error.
        throw listCauses(error).find((each) => isGoaldError(each)) ?? error;
      }
    };
}

const PUBLIC_PORTS = [80, 443, 8080, 8443];
const CONNECTIONS_PER_ORIGIN = 8;

async function sendOnce(agent: Agent, url: URL, init: PublicInit, signal: AbortSignal): Promise<Response> {
  const { method = "GET", body = null } = init;
  const headers = Object.entries(init.headers ?? {}).filter(([name]) => name.toLowerCase() !== "host");
  const response = await fetch(url, { method, body, headers, signal, redirect: "manual", dispatcher: agent });
  if (response.status < 200 || response.status > 599) {
    void response.body?.cancel().catch(() => undefined);
    throw new GoaldError("GOALD_WEB", `${url.origin} answered with ${response.status}, which is not an HTTP status.`);
  }
  return response as unknown as Response;
}

/** A constructed `Response` has no address. */
const setResponseUrl = (response: Response, url: URL): Response =>
  Object.defineProperty(response, "url", { value: url.href, configurable: true });

const CONNECT_TIMEOUT_MS = 10_000;

interface ConnectRules {
  readonly allow: ReadonlySet<string>;
  /** Resolves names. Defaults to the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Addresses of this machine, some of which may be public. Defaults to those of its network interfaces. */
  readonly ownAddresses?: () => readonly string[];
}

/**
 * Returns a connector for an undici Agent. Refuses with GOALD_HTTP_REFUSED. Resolves a name once. Refuses it if any of
 * its addresses is not public, and connects only to these addresses, so that a name cannot change in between. Checks
 * the connected socket's address too.
 */
function createGuardedConnector(rules: ConnectRules): buildConnector.connector {
  const { allow, lookup = systemLookup } = rules;
  const isElsewhere = checkElsewhere(rules.ownAddresses);
  const [publicOnly, unrestricted] = [createConnector(isElsewhere, lookup), createConnector(isReachable, lookup)];
  return (options, callback) => {
    const origin = formatOrigin(options);
    const isAllowed = allow.has(origin);
    const mayReach = isAllowed ? isReachable : isElsewhere;
    const literal = parseLiteral(options.hostname);
    if (literal !== undefined && !mayReach(literal)) return callback(notPublicError(origin), null);
    const connect = isAllowed ? unrestricted : publicOnly;
    const pending = connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      socket.ref();
      if (mayReach(socket.remoteAddress ?? "")) return callback(null, socket);
      socket.destroy();
      callback(notPublicError(origin), null);
    }) as unknown as Socket;
    // A pending connection must not keep the process alive: the request's own timers do.
    pending.unref();
  };
}

/** For an origin that the settings allow: any address but cloud metadata. */
const isReachable = (address: string): boolean => !isNeverAllowed(address);

/** The system's resolver shares Node's thread pool with file access: slow names must not block writes. */
const lookupSlots = createSlots(2);

function createConnector(mayReach: (address: string) => boolean, lookup: LookupFunction): buildConnector.connector {
  return buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    lookup: (host, options: LookupOptions, callback) => {
      void lookupSlots
        .hold(() => resolveAll(lookup, host, options))
        .then((answers) => {
          const [first] = answers;
          if (first === undefined || !answers.every(({ address }) => mayReach(address))) throw notPublicError(host);
          if (options.all) callback(null, [...answers]);
          else callback(null, first.address, first.family);
        })
        .catch((error: Error) => callback(error, ""));
    },
  });
}

const resolveAll = (lookup: LookupFunction, host: string, options: LookupOptions): Promise<readonly LookupAddress[]> =>
  new Promise((resolve, reject) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(Array.isArray(found) ? found : []);
    });
  });

const formatOrigin = ({ protocol, hostname, port }: buildConnector.Options): string => {
  const host = hostname.includes(":") ? `[${hostname.replace(/^\[|\]$/g, "")}]` : hostname;
  return new URL(`${protocol}//${host}${port === "" || port === null ? "" : `:${port}`}`).origin;
};

interface PublicRules {
  /** Origins that the settings allow although they are not public, in the form of `URL.origin`. */
  readonly allow: ReadonlySet<string>;
  /** Ports allowed for all other origins. */
  readonly ports: ReadonlySet<number>;
}

const MAX_URL_CHARS = 2_000;
/** A DNS name as the URL parser writes it. Resolvers differ on anything else, such as the empty part of `localhost..`. */
const DNS_NAME = /^(?=.{1,254}$)[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*\.?$/;

/**
 * Decides by its text whether an address may be requested, before any name is resolved; the connection then checks the
 * resolved addresses. Parses it once, with the parser whose result is connected to (WHATWG), and refuses text that two
 * parsers could read differently. Throws GOALD_HTTP_REFUSED. The message never contains a user name, password or query
 * of the address.
 */
function readPublicUrl(given: string | URL, rules: PublicRules): URL {
  const text = String(given);
  if (text.length > MAX_URL_CHARS)
    throw refuseUrl(`An address of ${text.length} characters is too long; the longest is ${MAX_URL_CHARS}.`);
  // Some parsers drop blanks and control characters, some read backslashes as slashes.
  const url = URL.parse(text);
  if (/[\s\\\p{Cc}]/u.test(text) || !url) throw refuseUrl(EXPECTED_ADDRESS);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refuseUrl(`Expected an address that begins with http:// or https://, got one with ${url.protocol}`);
  if (!/^https?:\/\/[^/]/i.test(text)) throw refuseUrl("Expected two slashes behind http: or https:.");
  if (url.username !== "" || url.password !== "")
    throw refuseUrl("An address with a user name or password in it is not asked for.", "Leave them out.");
  requirePublic(url, rules);
  url.hash = "";
  return url;
}

function requirePublic(url: URL, { allow, ports }: PublicRules): void {
  const { hostname: host, origin } = url;
  const literal = parseLiteral(host);
  if (isMetadataName(host) || (literal !== undefined && isNeverAllowed(literal))) throw notPublicError(origin, "");
  if (allow.has(origin)) return;
  if (literal === undefined && !DNS_NAME.test(host)) throw refuseUrl("No server can have that name.", EXPECTED_ADDRESS);
  if (literal === undefined ? isPrivateName(host) : !isPublicAddress(literal)) throw notPublicError(origin);
  if (!ports.has(readPort(url)))
    throw refuseUrl(
      `${origin} is not asked for: of the public web only the ports ${[...ports].join(", ")} are.`,
      ALLOW,
    );
}

const readPort = ({ port, protocol }: URL): number => (port === "" ? (protocol === "https:" ? 443 : 80) : Number(port));

const ALLOW = "A person who wants agents to reach it can name that origin in the setting web.allow.";

const notPublicError = (origin: string, hint = ALLOW): GoaldError =>
  new GoaldError("GOALD_HTTP_REFUSED", `${origin} is not on the public Internet; goald does not ask there.`, { hint });

const refuseUrl = (message: string, hint = ""): GoaldError => new GoaldError("GOALD_HTTP_REFUSED", message, { hint });
