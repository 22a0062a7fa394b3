/**
 * guarded-connect.ts -- the only place where a connection to the public web is opened, and where it is decided whether it may be.
 *
 * A name is resolved once; one answer among all that is not public refuses it, and the socket is opened to these answers and
 * no others, so that a name which changes its mind is not asked twice. What the socket then says it is connected to is checked too.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { buildConnector } from "undici";
import { createSlots } from "#util/slots.ts";
import { canonicalAddress, isNeverAllowed, isPublicAddress, literalOf } from "./public-address.ts";
import { notPublic } from "./public-url.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface ConnectRules {
  readonly allow: ReadonlySet<string>;
  /** How names become addresses; the system's resolver unless told otherwise. */
  readonly lookup?: LookupFunction;
  /** The addresses of this machine, of which some may be public; those of its network cards unless told otherwise. */
  readonly ownAddresses?: () => readonly string[];
}

/** For an undici Agent. A refusal is a GOALD_HTTP_REFUSED. */
export function guardedConnector(rules: ConnectRules): buildConnector.connector {
  const { allow, lookup = systemLookup, ownAddresses = addressesOfCards } = rules;
  const isElsewhere = (address: string): boolean =>
    isPublicAddress(address) && !ownAddresses().map(canonicalAddress).includes(canonicalAddress(address));
  const [closed, opened] = [connectorFor(isElsewhere, lookup), connectorFor(isReachable, lookup)];
  return (options, callback) => {
    const origin = originOf(options);
    const isAllowed = allow.has(origin);
    const mayReach = isAllowed ? isReachable : isElsewhere;
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

const addressesOfCards = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((card = []) => card.map(({ address }) => address));

/** The system's resolver works in Node's few threads, as the disk does: slow names must not stop all that is written. */
const lookups = createSlots(2);

function connectorFor(mayReach: (address: string) => boolean, lookup: LookupFunction): buildConnector.connector {
  return buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    lookup: (host, options: LookupOptions, callback) => {
      void lookups
        .hold(() => resolveAll(lookup, host, options))
        .then((answers) => {
          const [first] = answers;
          if (first === undefined || !answers.every(({ address }) => mayReach(address))) throw notPublic(host);
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

const originOf = ({ protocol, hostname, port }: buildConnector.Options): string => {
  const host = hostname.includes(":") ? `[${hostname.replace(/^\[|\]$/g, "")}]` : hostname;
  return new URL(`${protocol}//${host}${port === "" || port === null ? "" : `:${port}`}`).origin;
};
