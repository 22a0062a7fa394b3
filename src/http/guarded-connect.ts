/**
 * guarded-connect.ts -- the only place where a connection to the public web is opened, and where it is decided whether it may be.
 *
 * A name is resolved once; one answer among all that is not public refuses it, and the socket is opened to these answers and
 * no others, so that a name which changes its mind is not asked twice. What the socket then says it is connected to is checked too.
 */
import { type LookupOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { buildConnector } from "undici";
import { isNeverAllowed, isPublicAddress, literalOf } from "./public-address.ts";
import { notPublic } from "./public-url.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface ConnectRules {
  readonly allow: ReadonlySet<string>;
  /** How names become addresses; the system's resolver unless told otherwise. */
  readonly lookup?: LookupFunction;
}

/** For an undici Agent. A refusal is a GOALD_HTTP_REFUSED. */
export function guardedConnector({ allow, lookup = systemLookup }: ConnectRules): buildConnector.connector {
  const [closed, opened] = [connectorFor(isPublicAddress, lookup), connectorFor(isReachable, lookup)];
  return (options, callback) => {
    const origin = originOf(options);
    const isAllowed = allow.has(origin);
    const mayReach = isAllowed ? isReachable : isPublicAddress;
    const literal = literalOf(options.hostname);
    if (literal !== undefined && !mayReach(literal)) return callback(notPublic(origin), null);
    const connect = isAllowed ? opened : closed;
    const opening = connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      socket.ref();
      if (mayReach(socket.remoteAddress ?? "")) return callback(null, socket);
      socket.destroy();
      callback(notPublic(origin), null);
    }) as unknown as Socket;
    // Who has given up waiting for it need not stay alive for it: the request's own timers are what counts.
    opening.unref();
  };
}

/** What an origin that a person has opened may be: anything but what nobody may open. */
const isReachable = (address: string): boolean => !isNeverAllowed(address);

function connectorFor(mayReach: (address: string) => boolean, lookup: LookupFunction): buildConnector.connector {
  return buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    lookup: (host, options: LookupOptions, callback) => {
      lookup(host, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, "");
        const answers = Array.isArray(found) ? found : [];
        const [first] = answers;
        if (first === undefined || !answers.every(({ address }) => mayReach(address)))
          return callback(notPublic(host), "");
        if (options.all) callback(null, answers);
        else callback(null, first.address, first.family);
      });
    },
  });
}

const originOf = ({ protocol, hostname, port }: buildConnector.Options): string => {
  const host = hostname.includes(":") ? `[${hostname.replace(/^\[|\]$/g, "")}]` : hostname;
  return new URL(`${protocol}//${host}${port === "" || port === null ? "" : `:${port}`}`).origin;
};
