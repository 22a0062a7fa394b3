/**
 * sent-text.ts -- splits the arguments of a command into the named parts that it sends, and finds their destination.
 *
 * An address is its host's labels, path, query, fragment, user and port. Everything else is text: a search query when the
 * command only reads, else a message.
 */
import { domainToUnicode } from "node:url";
import type { CommandCall } from "#core/call.ts";
import { completeAddress } from "#util/complete-address.ts";

export interface SentPart {
  /** Name of the argument or the parameter, or place in the path, so that pieces of several calls can be joined. */
  readonly slot: string;
  readonly value: string;
}

export interface SentText {
  /** The host of the first address; else the command. */
  readonly to: string;
  /** Calls with a common destination may carry pieces of one text. */
  readonly destinations: readonly string[];
  readonly addresses: readonly URL[];
  readonly parts: readonly SentPart[];
  /** The arguments that are no addresses. */
  readonly words: string;
}

/** `sends`: arguments whose text leaves. Absent: all of them. */
export function listSentText({ name, args }: CommandCall, sends: readonly string[] | undefined): SentText {
  const values = Object.entries(args).filter(([key]) => sends?.includes(key) ?? true);
  const strings = values.flatMap(([key, value]) => listStrings(key, value));
  const addresses: URL[] = [];
  const destinations = new Set<string>();
  const parts: SentPart[] = [];
  const words: string[] = [];
  for (const { slot, value } of strings) {
    const isAddress = ADDRESS_NAME.test(slot);
    const url = readAddress(isAddress ? completeAddress(value.trim()) : value);
    if (url) destinations.add(registeredDomain(url.hostname));
    if (!url || !isAddress) destinations.add(`command ${name}`);
    if (url) {
      addresses.push(url);
      parts.push(...partsOfAddress(url));
    } else {
      words.push(value);
      parts.push({ slot, value });
    }
  }
  const [first] = addresses;
  return {
    to: first ? first.host : name,
    destinations: [...destinations],
    addresses,
    parts,
    words: words.join("\n"),
  };
}

/** Such an argument may name a host without `https://`. Any other may be a text that holds an address. */
const ADDRESS_NAME = /ur[il]|link|address|host|site|href/i;

function listStrings(slot: string, value: unknown): readonly SentPart[] {
  if (typeof value === "string" || typeof value === "number") return [{ slot, value: String(value) }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...(Array.isArray(value) ? [] : [{ slot: `${slot} names`, value: key }]),
    ...listStrings(Array.isArray(value) ? slot : `${slot}.${key}`, item),
  ]);
}

function readAddress(value: string): URL | undefined {
  const text = value.trim();
  if (!/^[a-z][a-z\d+.-]*:\/\/\S/i.test(text)) return undefined;
  const url = URL.parse(text);
  return url && url.hostname !== "" ? url : undefined;
}

/** The parts of an address that its sender can choose. */
export function partsOfAddress(url: URL): readonly SentPart[] {
  const labels = domainToUnicode(url.hostname).split(".");
  const own = isLiteral(url.hostname) ? [] : labels;
  return [
    ...own.map((value, index) => ({ slot: `label ${labels.length - index}`, value })),
    { slot: "port", value: url.port },
    { slot: "user", value: url.username },
    { slot: "password", value: url.password },
    ...url.pathname.split("/").map((value, index) => ({ slot: `path ${index}`, value })),
    ...partsOfQuery(url.search.slice(1)),
    { slot: "fragment", value: url.hash.slice(1) },
  ].filter(({ value }) => value !== "");
}

function partsOfQuery(query: string): readonly SentPart[] {
  return query.split(/[&;]/).flatMap((pair, index) => {
    const cut = pair.indexOf("=");
    if (cut < 0) return [{ slot: `flag ${index}`, value: pair }];
    const name = pair.slice(0, cut);
    return [
      { slot: "names", value: name },
      { slot: `query ${name}`, value: pair.slice(cut + 1) },
    ];
  });
}

/** The part of a host name that one owner registers, taken rather too short than too long. */
export function registeredDomain(hostname: string): string {
  if (isLiteral(hostname)) return hostname;
  const labels = hostname.replace(/\.$/, "").split(".");
  const [second = "", last = ""] = labels.slice(-2);
  return labels.slice(second.length <= 3 && last.length === 2 ? -3 : -2).join(".");
}

const isLiteral = (hostname: string): boolean => /^[\d.]+$|^\[/.test(hostname);
