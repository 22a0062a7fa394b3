/**
 * repository-url.ts -- which address may be cloned from, judged by its text.
 *
 * git understands far more than addresses: options, other programs (`ext::`), files, ssh, credentials, names of its own
 * protocols. Nothing of that comes through: what git gets is an https address as the URL parser wrote it, so that
 * both see the same host. A person may allow more by origin, also http and other ports.
 */
import { GoaldError } from "#core/errors.ts";

export interface RepositoryUrl {
  readonly href: string;
  readonly origin: string;
  /** As in an address: an IPv6 one in brackets. */
  readonly host: string;
  readonly port: number;
  /** A person wrote this origin into the settings: it may lie in a private network. */
  readonly isAllowed: boolean;
}

const MAX_CHARS = 2_000;
/** Also percent-encoded, since git decodes: a line break would end a line of a protocol or a header. */
const CONTROL = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff"'`\\<>^{|}]|%(?:[01][0-9a-f]|7f)/iu;
/**
 * Of a name, as the parser wrote it. Other signs mean something to what holds git to an address: behind a "-" or "+" curl
 * takes a known address back or forgets it in time, and would ask for the name again.
 */
const PLAIN_NAME = /^[a-z0-9_][a-z0-9_.-]*$/;
const EXAMPLE = "Such as https://github.com/owner/name.git";

/** `allowed`: origins. Throws GOALD_GIT. */
export function readRepositoryUrl(text: string, allowed: ReadonlySet<string>): RepositoryUrl {
  if (text.length > MAX_CHARS || !text.isWellFormed() || CONTROL.test(text))
    throw refused("has characters that no address of a repository has, or too many");
  if (!/^https?:\/\/[^/]/i.test(text)) throw refused("is no https address");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw refused("cannot be read as an address");
  if (url.username !== "" || url.password !== "")
    throw refused("has a name or password in it", "Leave them out: goald has its own key for its own server.");
  if (!PLAIN_NAME.test(url.hostname) && !url.hostname.startsWith("[")) throw refused("names no server that can be");
  const isAllowed = allowed.has(url.origin);
  if (url.protocol !== "https:" && !isAllowed) throw refused("is no https address");
  if (url.port !== "" && !isAllowed) throw refused(`names the port ${url.port}; only 443 is allowed`);
  if (url.search !== "" || url.hash !== "") throw refused("has a query or a fragment");
  if (url.pathname === "/") throw refused("names a server, not a repository");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  return { href: url.href, origin: url.origin, host: url.hostname, port, isAllowed };
}

/** Origins as a person wrote them, with commas or blanks between. Throws GOALD_CONFIG. */
export function readOrigins(text: string | null): ReadonlySet<string> {
  const origins = (text ?? "").split(/[\s,]+/).filter((origin) => origin !== "");
  return new Set(
    origins.map((origin) => {
      const url = URL.canParse(origin) ? new URL(origin) : undefined;
      if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search && !url.username)
        return url.origin;
      throw new GoaldError("GOALD_CONFIG", "git.allow holds something that is no origin.", {
        hint: "Such as http://127.0.0.1:3000 or https://git.example.org, with commas between several.",
      });
    }),
  );
}

const refused = (problem: string, hint = EXAMPLE): GoaldError =>
  new GoaldError("GOALD_GIT", `The address ${problem}. Nothing was cloned.`, { hint });
