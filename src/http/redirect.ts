/**
 * redirect.ts -- builds the next request after a redirect, without anything meant only for the previous server.
 *
 * The caller must check the new address like the first one.
 */
import { GoaldError } from "#core/errors.ts";

/** A request to the public web. No cookies are stored; set the User-Agent in `headers`. */
export interface PublicInit {
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** `manual` returns a redirect as the response; see `nextHop`. */
  readonly redirect?: "follow" | "manual";
}

export type PublicFetch = (url: string | URL, init?: PublicInit) => Promise<Response>;

export interface RedirectHop {
  readonly url: URL;
  readonly init: PublicInit;
}

export const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that another origin may receive. Any other header could be a credential. */
const HARMLESS_HEADERS: ReadonlySet<string> = new Set(["accept", "accept-language", "user-agent"]);

/** Returns undefined if the response is not a redirect. Throws GOALD_HTTP_REFUSED if it cannot be followed. */
export function nextHop(
  from: URL,
  init: PublicInit,
  answer: Pick<Response, "status" | "headers">,
): RedirectHop | undefined {
  const location = answer.headers.get("location");
  if (!REDIRECT_STATUSES.has(answer.status) || location === null) return undefined;
  const text = decodeAsUtf8(location);
  const url = URL.parse(text, from.href);
  if (!url) throw new GoaldError("GOALD_HTTP_REFUSED", `${from.origin} redirects to an address that cannot be read.`);
  const { body, method = "GET", ...rest } = init;
  const isResent = answer.status === 307 || answer.status === 308 || method !== "POST";
  if (url.origin === from.origin && isResent) return { url, init };
  if (body !== undefined && isResent)
    throw new GoaldError(
      "GOALD_HTTP_REFUSED",
      `${from.origin} redirects to ${url.origin}, and what was sent is not sent there too.`,
    );
  const isKept =
    url.origin === from.origin
      ? (name: string) => !name.startsWith("content-")
      : HARMLESS_HEADERS.has.bind(HARMLESS_HEADERS);
  const headers = Object.entries(init.headers ?? {}).filter(([name]) => isKept(name.toLowerCase()));
  return { url, init: { ...rest, method: isResent ? method : "GET", headers: Object.fromEntries(headers) } };
}

/** Node decodes headers as Latin-1, but addresses in them are often UTF-8. */
function decodeAsUtf8(text: string): string {
  const decoded = Buffer.from(text, "latin1").toString("utf8");
  return decoded.includes("\uFFFD") ? text : decoded;
}
