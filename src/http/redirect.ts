/**
 * redirect.ts -- the next request when an answer leads on, with nothing on it that is only for the address before.
 *
 * Whoever follows must check the address as it checked the first one.
 */
import { GoaldError } from "#core/errors.ts";

/** A request to the public web. No cookies are kept; what a caller wants to say of itself stands in `headers`. */
export interface PublicInit {
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** `manual`: an answer that leads on is handed back as it is; see `nextHop`. */
  readonly redirect?: "follow" | "manual";
}

export type PublicFetch = (url: string | URL, init?: PublicInit) => Promise<Response>;

export interface Hop {
  readonly url: URL;
  readonly init: PublicInit;
}

export const MAX_REDIRECTS = 5;
const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** What another origin may know: all else could be a credential. */
const HARMLESS: ReadonlySet<string> = new Set(["accept", "accept-language", "user-agent"]);

/** undefined when the answer does not lead on. Throws GOALD_HTTP_REFUSED when it leads where nobody can follow. */
export function nextHop(from: URL, init: PublicInit, answer: Pick<Response, "status" | "headers">): Hop | undefined {
  const location = answer.headers.get("location");
  if (!STATUSES.has(answer.status) || location === null) return undefined;
  const text = asUtf8(location);
  if (!URL.canParse(text, from.href))
    throw new GoaldError("GOALD_HTTP_REFUSED", `${from.origin} redirects to an address that cannot be read.`);
  const url = new URL(text, from.href);
  const { body, method = "GET", ...rest } = init;
  const isResent = answer.status === 307 || answer.status === 308 || method !== "POST";
  if (url.origin === from.origin && isResent) return { url, init };
  if (body !== undefined && isResent)
    throw new GoaldError(
      "GOALD_HTTP_REFUSED",
      `${from.origin} redirects to ${url.origin}, and what was sent is not sent there too.`,
    );
  const isKept =
    url.origin === from.origin ? (name: string) => !name.startsWith("content-") : HARMLESS.has.bind(HARMLESS);
  const headers = Object.entries(init.headers ?? {}).filter(([name]) => isKept(name.toLowerCase()));
  return { url, init: { ...rest, method: isResent ? method : "GET", headers: Object.fromEntries(headers) } };
}

/** Headers are read byte by byte, and addresses in them are often UTF-8. */
function asUtf8(text: string): string {
  const decoded = Buffer.from(text, "latin1").toString("utf8");
  return decoded.includes("\uFFFD") ? text : decoded;
}
