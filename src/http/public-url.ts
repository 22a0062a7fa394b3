/**
 * public-url.ts -- decides by its text whether an address may be requested, before any name is resolved.
 *
 * Parses it once, with the parser whose result is connected to (WHATWG), and refuses text that two parsers could read
 * differently. public-door.ts then checks the resolved addresses.
 */
import { GoaldError } from "#core/errors.ts";
import { isMetadataName, isNeverAllowed, isPrivateName, isPublicAddress, parseLiteral } from "./public-address.ts";

export interface PublicRules {
  /** Origins that the settings allow although they are not public, in the form of `URL.origin`. */
  readonly allow: ReadonlySet<string>;
  /** Ports allowed for all other origins. */
  readonly ports: ReadonlySet<number>;
}

const MAX_URL_CHARS = 2_000;
/** A DNS name as the URL parser writes it. Resolvers differ on anything else, such as the empty part of `localhost..`. */
const DNS_NAME = /^(?=.{1,254}$)[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*\.?$/;

/** Throws GOALD_HTTP_REFUSED. The message never contains a user name, password or query of the address. */
export function readPublicUrl(given: string | URL, rules: PublicRules): URL {
  const text = String(given);
  if (text.length > MAX_URL_CHARS)
    throw refuseUrl(`An address of ${text.length} characters is too long; the longest is ${MAX_URL_CHARS}.`);
  // Some parsers drop blanks and control characters, some read backslashes as slashes.
  if (/[\s\\\p{Cc}]/u.test(text) || !/^[a-z][a-z\d+.-]*:/i.test(text) || !URL.canParse(text))
    throw refuseUrl("Expected a whole web address, such as https://example.com/page; this one cannot be read.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refuseUrl(`Expected an address that begins with http:// or https://, got one with ${url.protocol}`);
  if (!/^https?:\/\//i.test(text)) throw refuseUrl("Expected two slashes behind http: or https:.");
  if (url.username !== "" || url.password !== "")
    throw refuseUrl("An address with a user name or password in it is not asked for.");
  requirePublic(url, rules);
  url.hash = "";
  return url;
}

function requirePublic(url: URL, { allow, ports }: PublicRules): void {
  const { hostname: host, origin } = url;
  const literal = parseLiteral(host);
  if (isMetadataName(host) || (literal !== undefined && isNeverAllowed(literal))) throw notPublicError(origin, "");
  if (allow.has(origin)) return;
  if (literal === undefined && !DNS_NAME.test(host)) throw refuseUrl("The address names no server that there can be.");
  if (literal === undefined ? isPrivateName(host) : !isPublicAddress(literal)) throw notPublicError(origin);
  if (!ports.has(readPort(url)))
    throw refuseUrl(`${origin} is not asked for: of the public web only the ports ${[...ports].join(", ")} are.`);
}

/** Returns the port, or the default port of the scheme. */
const readPort = ({ port, protocol }: URL): number => (port === "" ? (protocol === "https:" ? 443 : 80) : Number(port));

export const notPublicError = (
  origin: string,
  hint = "A person who wants agents to reach it can name that origin in the setting web.allow.",
): GoaldError =>
  new GoaldError("GOALD_HTTP_REFUSED", `${origin} is not on the public Internet; goald does not ask there.`, { hint });

const refuseUrl = (message: string): GoaldError => new GoaldError("GOALD_HTTP_REFUSED", message);
