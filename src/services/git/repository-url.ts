/**
 * repository-url.ts -- decides by its text whether an address may be cloned from.
 *
 * git accepts far more than addresses: options, other programs (`ext::`), files, ssh, credentials, its own protocol
 * names. git gets only an https address as the URL parser wrote it, so that both see the same host. The person can
 * allow more origins, also with http or other ports.
 */
import { lookup } from "node:dns/promises";
import { GoaldError, toError } from "#core/errors.ts";

export interface RepositoryUrl {
  readonly href: string;
  readonly origin: string;
  /** As in the URL: an IPv6 address has brackets. */
  readonly host: string;
  readonly port: number;
  /** True if the settings name this origin. It may then be in a private network. */
  readonly isAllowed: boolean;
}

const MAX_ADDRESS_CHARS = 2_000;
/** Includes percent-encoded forms, because git decodes them: a line break could end a line of a protocol or header. */
const FORBIDDEN_CHARS = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff"'`\\<>^{|}]|%(?:[01][0-9a-f]|7f)/iu;
/**
 * A host name as the URL parser writes it. `http.curloptResolve` gives other characters a meaning: with a leading "-" or "+"
 * curl drops the pinned address, or lets it expire, and would resolve the name again.
 */
const PLAIN_NAME = /^[a-z0-9_][a-z0-9_.-]*$/;
const ADDRESS_HINT = "Such as https://github.com/owner/name.git";

/** `allowed`: origins from the settings. Throws GOALD_GIT. */
export function readRepositoryUrl(text: string, allowed: ReadonlySet<string>): RepositoryUrl {
  if (text.length > MAX_ADDRESS_CHARS || !text.isWellFormed() || FORBIDDEN_CHARS.test(text))
    throw refuseAddress("has characters that no address of a repository has, or too many");
  if (!/^https?:\/\/[^/]/i.test(text)) throw refuseAddress("is not an https address");
  const url = URL.parse(text);
  if (!url) throw refuseAddress("cannot be read as an address");
  if (url.username !== "" || url.password !== "")
    throw refuseAddress("has a name or password in it", "Leave them out: goald has its own key for its own server.");
  if (!PLAIN_NAME.test(url.hostname) && !url.hostname.startsWith("["))
    throw refuseAddress("names no server that can be");
  const isAllowed = allowed.has(url.origin);
  if (url.protocol !== "https:" && !isAllowed) throw refuseAddress("is not an https address");
  if (url.port !== "" && !isAllowed) throw refuseAddress(`names the port ${url.port}; only 443 is allowed`);
  if (url.search !== "" || url.hash !== "") throw refuseAddress("has a query or a fragment");
  if (url.pathname === "/") throw refuseAddress("names a server, not a repository");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  return { href: url.href, origin: url.origin, host: url.hostname, port, isAllowed };
}

/** Parses origins separated by commas or blanks. Throws GOALD_CONFIG. */
export function readOrigins(text: string | null): ReadonlySet<string> {
  const origins = (text ?? "").split(/[\s,]+/).filter((origin) => origin !== "");
  return new Set(
    origins.map((origin) => {
      const url = URL.parse(origin);
      if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search && !url.username)
        return url.origin;
      throw new GoaldError("GOALD_CONFIG", "web.allow holds something that is no origin.", {
        hint: "Such as http://127.0.0.1:3000 or https://git.example.org, with commas between several.",
      });
    }),
  );
}

const refuseAddress = (problem: string, hint = ADDRESS_HINT): GoaldError =>
  new GoaldError("GOALD_GIT", `The address ${problem}. Nothing was cloned.`, { hint, outside: [] });

export interface AddressRules {
  isPublic(address: string): boolean;
  /** Cloud metadata services. The person's settings cannot allow these. */
  isNeverAllowed(address: string): boolean;
  /** Returns all addresses of a name. Defaults to the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/**
 * Returns the judged addresses of the host. Resolves and checks them once, and git connects to exactly these, so a name
 * that changes from a public to a private address in between (DNS rebinding) gains nothing. Throws GOALD_GIT if one of
 * them may not be reached.
 */
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
