/**
 * public-address.ts -- which addresses and names belong to the public Internet, and which never do whatever a person allows.
 *
 * An address is judged as the bytes that it is: forms that carry an IPv4 address inside an IPv6 one (mapped, NAT64) are
 * judged by what they carry, tunnels (6to4, Teredo, ISATAP, IPv4-compatible) are refused, and of IPv6 only 2000::/3 is public.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** `address`: an IP address as a resolver or a socket writes it; a host in brackets too. Anything else is not public. */
export function isPublicAddress(address: string): boolean {
  const bytes = bytesOf(address);
  if (bytes === undefined || isMetadata(bytes)) return false;
  const ip = ipaddr.fromByteArray([...bytes]);
  if (ip.range() !== "unicast") return false;
  return ip.kind() === "ipv4" || ((bytes[0] as number) >> 5 === 0b001 && !isTunnelled(bytes));
}

/** One text for each address, however it is written or wrapped; undefined for what is none. */
export function canonicalAddress(address: string): string | undefined {
  const bytes = bytesOf(address);
  return bytes && hexOf(bytes);
}

/** Where machines of a cloud ask who they are: nobody may open these for an agent. */
export function isNeverAllowed(address: string): boolean {
  const bytes = bytesOf(address);
  return bytes === undefined || isMetadata(bytes);
}

const METADATA_NAME = /^(?:metadata(?:\.google\.internal|\.goog)?|instance-data(?:\.ec2\.internal)?)$/;
export const isMetadataName = (host: string): boolean => METADATA_NAME.test(plainName(host));

const PRIVATE_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa|onion)$/;
/** Names that mean another machine in every network. An extra: what counts is the address. */
export function isPrivateName(host: string): boolean {
  const name = plainName(host);
  return !name.includes(".") || PRIVATE_NAME.test(name);
}

const plainName = (host: string): string => host.toLowerCase().replace(/\.$/, "");

/** As text without brackets, when the host of a URL is an address and no name. */
export function literalOf(host: string): string | undefined {
  const text = host.replace(/^\[|\]$/g, "");
  return isIP(text) === 0 ? undefined : text;
}

/** 4 or 16 bytes; an IPv4 address that is only wrapped (mapped, NAT64) as its 4. undefined for what is no address, or has a zone. */
function bytesOf(address: string): Uint8Array | undefined {
  const text = literalOf(address);
  if (text === undefined || text.includes("%")) return undefined;
  if (isIP(text) === 4) return Uint8Array.from(ipaddr.IPv4.parse(text).toByteArray());
  // The URL parser writes each address in one form: `::127.0.0.1` is not taken for a mapped one.
  const bytes = Uint8Array.from(ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1)).toByteArray());
  const isWrapped = WRAPPINGS.some((prefix) => prefix.every((byte, index) => bytes[index] === byte));
  return isWrapped ? bytes.subarray(12) : bytes;
}

/** ::ffff:0:0/96 and 64:ff9b::/96. */
const WRAPPINGS: readonly (readonly number[])[] = [
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
  [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
];

/** ISATAP: any prefix, then 0000:5efe or 0200:5efe and an IPv4 address. */
const isTunnelled = (bytes: Uint8Array): boolean =>
  ((bytes[8] as number) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;

/** All of 169.254.0.0/16, and the addresses that clouds have elsewhere; Azure's is of a public range. */
function isMetadata(bytes: Uint8Array): boolean {
  if (bytes.length === 4 && bytes[0] === 169 && bytes[1] === 254) return true;
  return METADATA.has(hexOf(bytes));
}
const METADATA: ReadonlySet<string> = new Set(
  ["100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"].map((text) =>
    hexOf(ipaddr.parse(text).toByteArray()),
  ),
);

function hexOf(bytes: Iterable<number>): string {
  return Buffer.from([...bytes]).toString("hex");
}
