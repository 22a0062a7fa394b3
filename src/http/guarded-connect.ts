/**
 * guarded-connect.ts -- opens the connections to the public web, and decides whether each is allowed.
 *
 * Resolves a name once. Refuses it if any of its addresses is not public, and connects only to these addresses, so that
 * a name cannot change in between. Checks the connected socket's address too.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { buildConnector } from "undici";
import { createSlots } from "#util/slots.ts";
import { checkElsewhere } from "./elsewhere.ts";
import { isNeverAllowed, parseLiteral } from "./public-address.ts";
import { notPublicError } from "./public-url.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface ConnectRules {
  readonly allow: ReadonlySet<string>;
  /** Resolves names. Defaults to the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Addresses of this machine, some of which may be public. Defaults to those of its network interfaces. */
  readonly ownAddresses?: () => readonly string[];
}

/** Returns a connector for an undici Agent. Refuses with GOALD_HTTP_REFUSED. */
export function createGuardedConnector(rules: ConnectRules): buildConnector.connector {
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
