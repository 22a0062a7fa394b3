/**
 * pin-address.ts -- the addresses behind a name, judged once and then held: git connects to these and asks nobody again.
 *
 * A name that leads to a public address now and to a private one in a moment (rebinding) gains nothing by it.
 */
import { lookup } from "node:dns/promises";
import { GoaldError, toError } from "#core/errors.ts";
import type { RepositoryUrl } from "./repository-url.ts";

export interface AddressRules {
  isPublic(address: string): boolean;
  /** Whatever a person allows: where machines of a cloud are told who they are. */
  isNeverAllowed(address: string): boolean;
  /** All addresses of a name; the system's resolver by default. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** A value for curl's list of known addresses, or undefined when the host is an address itself. Throws GOALD_GIT. */
export async function pinAddress(url: RepositoryUrl, rules: AddressRules): Promise<string | undefined> {
  const { host, port, isAllowed } = url;
  // As the URL parser writes an address, whatever it was written as: 2130706433, 0x7f.1, ::ffff:127.0.0.1
  const isLiteral = host.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(host);
  const addresses = isLiteral ? [host.replace(/^\[|\]$/g, "")] : await resolve(host, rules);
  const isHidden = isAllowed ? rules.isNeverAllowed : (address: string) => !rules.isPublic(address);
  const hidden = addresses.find((address) => isHidden(address));
  if (hidden !== undefined)
    throw new GoaldError("GOALD_GIT", `${host} is not on the public Internet (${hidden}). Nothing was cloned.`, {
      hint: "A person can allow the server: git.allow",
    });
  if (isLiteral) return undefined;
  return `${host}:${port}:${addresses.map((address) => (address.includes(":") ? `[${address}]` : address)).join(",")}`;
}

async function resolve(host: string, { resolve: ask = resolveBySystem }: AddressRules): Promise<readonly string[]> {
  try {
    const addresses = await ask(host);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw new GoaldError("GOALD_GIT", `There is no server named ${host} (${toError(cause).message}).`, {
      hint: "Check the address, and this machine's connection.",
      cause,
    });
  }
  throw new GoaldError("GOALD_GIT", `There is no server named ${host}.`);
}

const resolveBySystem = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);
