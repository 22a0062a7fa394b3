/**
 * public-address.ts -- classifies addresses and names: public, private, or never allowed.
 *
 * Classifies an address by its bytes. An IPv6 address that carries an IPv4 one (mapped, NAT64) counts as that one.
 * Tunnels (6to4, Teredo, ISATAP, IPv4-compatible) are not public; of IPv6 only 2000::/3 is.
 */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

/**
 * Returns a check that is true for public addresses of other machines. Those of this machine, some of which may be
 * public, fail it. `ownAddresses`: addresses of this machine; by default those of its network interfaces, read at each
 * check.
 */
export const checkElsewhere =
  (ownAddresses: () => readonly string[] = listOwnAddresses) =>
  (address: string): boolean =>
    isPublicAddress(address) && !ownAddresses().map(canonicalizeAddress).includes(canonicalizeAddress(address));

const listOwnAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((card = []) => card.map(({ address }) => address));

/** `address`: an IP address from a resolver or a socket, or a URL's host in brackets. Any other text is not public. */
export function isPublicAddress(address: string): boolean {
  const bytes = parseBytes(address);
  if (bytes === undefined || isMetadata(bytes)) return false;
  const ip = ipaddr.fromByteArray([...bytes]);
  if (ip.range() !== "unicast") return false;
  return ip.kind() === "ipv4" || ((bytes[0] as number) >> 5 === 0b001 && !isTunnelled(bytes));
}

/** Returns the same text for all forms of an address. Undefined for any other text. */
export function canonicalizeAddress(address: string): string | undefined {
  const bytes = parseBytes(address);
  return bytes && toHex(bytes);
}

/** True for cloud metadata services, which no setting can allow, and for text that is not an address. */
export function isNeverAllowed(address: string): boolean {
  const bytes = parseBytes(address);
  return bytes === undefined || isMetadata(bytes);
}

const METADATA_NAME = /^(?:metadata(?:\.google\.internal|\.goog)?|instance-data(?:\.ec2\.internal)?)$/;
export const isMetadataName = (host: string): boolean => METADATA_NAME.test(normalizeName(host));

const PRIVATE_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa|onion)$/;
/** True for names that mean a different machine in each network. The address is checked as well. */
export function isPrivateName(host: string): boolean {
  const name = normalizeName(host);
  return !name.includes(".") || PRIVATE_NAME.test(name);
}

const normalizeName = (host: string): string => host.toLowerCase().replace(/\.$/, "");

/** Returns the host of a URL without brackets if it is an address. Undefined for a name. */
export function parseLiteral(host: string): string | undefined {
  const text = host.replace(/^\[|\]$/g, "");
  return isIP(text) === 0 ? undefined : text;
}

/** Returns 4 or 16 bytes; 4 for a mapped or NAT64 address. Undefined for text that is not an address or has a zone. */
function parseBytes(address: string): Uint8Array | undefined {
  const text = parseLiteral(address);
  if (text === undefined || text.includes("%")) return undefined;
  if (isIP(text) === 4) return Uint8Array.from(ipaddr.IPv4.parse(text).toByteArray());
  // The URL parser normalizes the form, so that `::127.0.0.1` is not parsed as a mapped address.
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

/** 169.254.0.0/16, and other addresses of cloud metadata. Azure's is in a public range. */
function isMetadata(bytes: Uint8Array): boolean {
  if (bytes.length === 4 && bytes[0] === 169 && bytes[1] === 254) return true;
  return METADATA_ADDRESSES.has(toHex(bytes));
}
const METADATA_ADDRESSES: ReadonlySet<string> = new Set(
  ["100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"].map((text) =>
    toHex(ipaddr.parse(text).toByteArray()),
  ),
);

function toHex(bytes: Iterable<number>): string {
  return Buffer.from([...bytes]).toString("hex");
}
