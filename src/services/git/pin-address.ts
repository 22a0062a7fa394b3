/**
 * pin-address.ts -- resolves and checks the addresses of a host once, and makes git connect to exactly these.
 *
 * A name that changes from a public to a private address in between (DNS rebinding) therefore gains nothing.
 */
import { lookup } from "node:dns/promises";
import { GoaldError, toError } from "#core/errors.ts";
import type { RepositoryUrl } from "./repository-url.ts";

export interface AddressRules {
  isPublic(address: string): boolean;
  /** Cloud metadata services. The person's settings cannot allow these. */
  isNeverAllowed(address: string): boolean;
  /** Returns all addresses of a name. Defaults to the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Returns the judged addresses of the host. Throws GOALD_GIT if one of them may not be reached. */
export async function judgeAddresses(url: RepositoryUrl, rules: AddressRules): Promise<readonly string[]> {
  const { host, isAllowed } = url;
  const addresses = isLiteral(url) ? [host.replace(/^\[|\]$/g, "")] : await resolveHost(host, rules);
  const isHidden = isAllowed ? rules.isNeverAllowed : (address: string) => !rules.isPublic(address);
  const hidden = addresses.find((address) => isHidden(address));
  if (hidden !== undefined)
    throw new GoaldError("GOALD_GIT", `${host} is not on the public Internet (${hidden}). Nothing was cloned.`, {
      hint: "A person can allow the server: web.allow",
      outside: [],
    });
  return addresses;
}

// The URL parser has normalized forms such as 2130706433, 0x7f.1 and ::ffff:127.0.0.1.
const isLiteral = ({ host }: RepositoryUrl): boolean => host.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(host);

/** Returns a value for `http.curloptResolve`, or undefined if the host is an address. */
export function pinAddresses(url: RepositoryUrl, addresses: readonly string[]): string | undefined {
  const { host, port } = url;
  if (isLiteral(url)) return undefined;
  return `${host}:${port}:${addresses.map((address) => (address.includes(":") ? `[${address}]` : address)).join(",")}`;
}

async function resolveHost(host: string, { resolve = resolveWithSystem }: AddressRules): Promise<readonly string[]> {
  try {
    const addresses = await resolve(host);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw new GoaldError("GOALD_GIT", `There is no server named ${host} (${toError(cause).message}).`, {
      hint: "Check the address, and this machine's connection.",
      outside: [],
      cause,
    });
  }
  throw new GoaldError("GOALD_GIT", `There is no server named ${host}.`, { outside: [] });
}

const resolveWithSystem = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);
