/**
 * public-url.ts -- whether an address that came from outside may be asked for at all, before any name is resolved.
 *
 * It is parsed once, by the parser whose result is connected to (WHATWG); whatever two parsers could read differently is
 * refused. Passing here is not enough: names are judged by what they resolve to (guarded-connect.ts).
 */
import { GoaldError } from "#core/errors.ts";
import { isMetadataName, isNeverAllowed, isPrivateName, isPublicAddress, literalOf } from "./public-address.ts";

export interface PublicRules {
  /** Origins that a person has opened for agents although they are not public, as `URL.origin` writes them. */
  readonly allow: ReadonlySet<string>;
  /** Ports of all other addresses. */
  readonly ports: ReadonlySet<number>;
}

const MAX_URL_CHARS = 2_000;
/** What the name service can have, as the parser wrote it; resolvers differ about all else, an empty part such as in `localhost..` too. */
const NAME = /^(?=.{1,254}$)[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*\.?$/;

/** Throws GOALD_HTTP_REFUSED; what it says never holds a name, a password or a query of the address. */
export function readPublicUrl(given: string | URL, rules: PublicRules): URL {
  const text = String(given);
  if (text.length > MAX_URL_CHARS)
    throw refused(`An address of ${text.length} characters is too long; the longest is ${MAX_URL_CHARS}.`);
  // Blanks and controls are dropped by some parsers, backslashes are slashes to some.
  if (/[\s\\\p{Cc}]/u.test(text) || !/^[a-z][a-z\d+.-]*:/i.test(text) || !URL.canParse(text))
    throw refused("Expected a whole web address, such as https://example.com/page; this one cannot be read.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refused(`Expected an address that begins with http:// or https://, got one with ${url.protocol}`);
  if (!/^https?:\/\//i.test(text)) throw refused("Expected two slashes behind http: or https:.");
  if (url.username !== "" || url.password !== "")
    throw refused("An address with a user name or password in it is not asked for.");
  requirePublic(url, rules);
  url.hash = "";
  return url;
}

function requirePublic(url: URL, { allow, ports }: PublicRules): void {
  const { hostname: host, origin } = url;
  const literal = literalOf(host);
  if (isMetadataName(host) || (literal !== undefined && isNeverAllowed(literal))) throw notPublic(origin, "");
  if (allow.has(origin)) return;
  if (literal === undefined && !NAME.test(host)) throw refused("The address names no server that there can be.");
  if (literal === undefined ? isPrivateName(host) : !isPublicAddress(literal)) throw notPublic(origin);
  if (!ports.has(portOf(url)))
    throw refused(`${origin} is not asked for: of the public web only the ports ${[...ports].join(", ")} are.`);
}

/** In numbers, also where it is the scheme's own. */
const portOf = ({ port, protocol }: URL): number => (port === "" ? (protocol === "https:" ? 443 : 80) : Number(port));

export const notPublic = (
  origin: string,
  hint = "A person who wants agents to reach it can name that origin in the setting web.allow.",
): GoaldError =>
  new GoaldError("GOALD_HTTP_REFUSED", `${origin} is not on the public Internet; goald does not ask there.`, { hint });

const refused = (message: string): GoaldError => new GoaldError("GOALD_HTTP_REFUSED", message);
