/**
 * polite-web.ts -- fetches pages and files from the public web politely.
 *
 * Obeys robots.txt, sends a host at most one request a second, and obeys Retry-After. The same rules apply to each
 * redirect. The HTTP client rejects private addresses.
 */
import { GoaldError, isGoaldError, withOutside } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { addSources, webSource } from "#core/provenance.ts";
import type { Downloads } from "#core/services.ts";
import { oneLine } from "#core/text.ts";
import type { Http, HttpLimits } from "#http/http.ts";
import { MAX_REDIRECTS, nextHop, type PublicInit, type RedirectHop } from "#http/redirect.ts";
import { listCauses } from "#util/outside-errors.ts";
import { clean } from "#util/outside-text.ts";
import { parseRetryAfter } from "#util/retry-after.ts";
import { completeAddress, EXPECTED_ADDRESS } from "#util/web-address.ts";
import { createRobots, type RobotsRules } from "./robots.ts";

export interface WebRequest {
  /** Value of the Accept header, such as `text/html, application/pdf;q=0.9`. Defaults to everything. */
  readonly accept?: string;
  /** For a conditional request: `if-none-match`, `if-modified-since`. Never credentials: any site would receive them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of the decompressed body. */
  readonly maxBytes: number;
  /** True to truncate a longer body. Otherwise it throws GOALD_HTTP_TOO_LARGE. */
  readonly cuts?: boolean;
  /** Limits of each request, redirects included. Defaults to those of the HTTP client. */
  readonly limits?: Partial<Omit<HttpLimits, "maxBytes">>;
  readonly signal: AbortSignal;
}

export interface WebAnswer {
  /** Address after redirects, without a fragment. */
  readonly url: string;
  /** 200 to 299 but not 206, or 304 for a conditional request. */
  readonly status: number;
  readonly headers: Headers;
  /** Such as `text/html`: lower case, without parameters. "" if the server sent none. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** True if the body was longer. */
  readonly isCut: boolean;
}

export interface PoliteWeb {
  /**
   * Sends a GET. An `address` without a scheme gets https. Throws GOALD_WEB with the reason of a failure,
   * GOALD_HTTP_REFUSED for a forbidden address, GOALD_HTTP_TOO_LARGE, and the signal's reason.
   */
  get(address: string, request: WebRequest): Promise<WebAnswer>;
}

export interface PoliteWebParts {
  readonly http: Pick<Http, "public">;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly obeysRobots: boolean;
}

const ROBOTS_LIMITS = { firstByteTimeoutMs: 10_000, totalTimeoutMs: 15_000 };
/** Number of retries after 429 and 503. */
const MAX_BUSY_RETRIES = 2;

export function createPoliteWeb({ http, clock, userAgent, obeysRobots }: PoliteWebParts): PoliteWeb {
  const pace = createHostPace(clock);
  const readRules = createRobots(async (url, maxBytes, signal) => {
    await pace.waitTurn(url.host, 0, signal);
    const send = http.public({ ...ROBOTS_LIMITS, maxBytes: maxBytes * 2 });
    const response = await send(url, { headers: { accept: "text/plain", "user-agent": userAgent }, signal });
    obeyRetryAfter(response, url.host);
    const { bytes } = await readBody(response, maxBytes, true);
    return { status: response.status, text: new TextDecoder().decode(bytes) };
  }, clock);

  /** Pauses a host that is busy. Returns whether it is. */
  function obeyRetryAfter({ status, headers }: Response, host: string): boolean {
    if (status !== 429 && status !== 503) return false;
    pace.pause(host, parseRetryAfter(headers) ?? 0);
    return true;
  }

  async function sendPolitely(url: URL, init: PublicInit, { limits, maxBytes, signal }: WebRequest): Promise<Response> {
    const send = http.public({ ...limits, maxBytes: maxBytes * 2 });
    for (let retries = 0; ; retries++) {
      const rules = obeysRobots ? await readRules(url, signal) : undefined;
      if (rules?.isAllowed(url) === false) throw forbiddenByRobots(url, rules);
      await pace.waitTurn(url.host, rules?.delayMs ?? 0, signal);
      const response = await send(url, init);
      if (!obeyRetryAfter(response, url.host) || retries === MAX_BUSY_RETRIES) return response;
      void response.body?.cancel().catch(() => undefined);
    }
  }

  /** `answered`: receives the addresses whose servers answered. */
  async function follow(address: string, request: WebRequest, answered: string[]): Promise<WebAnswer> {
    const headers = { "user-agent": userAgent, accept: request.accept ?? "*/*", ...request.headers };
    const init: PublicInit = { headers, signal: request.signal, redirect: "manual" };
    let hop: RedirectHop = { url: readUrl(address), init };
    const first = hop.url;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const next = await readHop(hop, request, answered).catch((error: unknown) => {
        throw hops === 0 ? error : quoteFailure(first, error);
      });
      if (!("init" in next)) return next;
      hop = next;
    }
    throw new GoaldError("GOALD_WEB", `${first.origin} leads on and on: more than ${MAX_REDIRECTS} redirects.`);
  }

  /** Resolves to the next hop of a redirect, or to the answer. */
  async function readHop(hop: RedirectHop, request: WebRequest, answered: string[]): Promise<RedirectHop | WebAnswer> {
    const response = await sendPolitely(hop.url, hop.init, request).catch((error: unknown) => {
      throw explainWebError(hop.url.origin, error);
    });
    answered.push(hop.url.href);
    const next = nextHop(hop.url, hop.init, response);
    if (next === undefined) return readAnswer(hop.url, response, request);
    void response.body?.cancel().catch(() => undefined);
    return next;
  }

  return {
    async get(address, request) {
      const answered: string[] = [];
      try {
        return await follow(address, request, answered);
      } catch (error) {
        request.signal.throwIfAborted();
        throw withOutside(error, addSources([], answered.map(webSource)));
      }
    },
  };
}

/** Quotes a failure of an address that a server chose with a redirect. */
function quoteFailure(first: URL, error: unknown): unknown {
  if (!isGoaldError(error)) return error;
  const { code, hint, message, cause } = error;
  return new GoaldError(code, `${first.origin} leads to another address, which could not be read.`, {
    hint,
    words: message,
    cause,
  });
}

function readUrl(address: string): URL {
  const whole = completeAddress(address);
  // The HTTP client rejects text that the URL parser would silently correct.
  if (URL.canParse(whole) && /^https?:\/\/[^\s\\/][^\s\\]*$/i.test(whole)) return new URL(whole);
  throw new GoaldError("GOALD_HTTP_REFUSED", EXPECTED_ADDRESS, { hint: "read_file shows a file of the workspace." });
}

async function readAnswer(url: URL, response: Response, { maxBytes, cuts, headers }: WebRequest): Promise<WebAnswer> {
  const { status } = response;
  const isExpected = (status >= 200 && status < 300 && status !== 206) || (status === 304 && headers !== undefined);
  if (!isExpected) {
    void response.body?.cancel().catch(() => undefined);
    throw new GoaldError("GOALD_WEB", `${url.origin}${url.pathname} answered with ${describeStatus(status)}.`);
  }
  const { bytes, isCut } = await readBody(response, maxBytes, cuts === true).catch((error: unknown) => {
    throw explainWebError(url.origin, error);
  });
  const contentType = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  return { url: withoutFragment(url), status, headers: response.headers, contentType, bytes, isCut };
}

async function readBody(response: Response, maxBytes: number, cuts: boolean) {
  const declared = Number(response.headers.get("content-length") ?? 0);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  if (!cuts && declared > maxBytes) {
    void response.body?.cancel().catch(() => undefined);
    throw tooLarge(response, maxBytes);
  }
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes > maxBytes) break;
  }
  if (bytes > maxBytes && !cuts) throw tooLarge(response, maxBytes);
  return { bytes: new Uint8Array(Buffer.concat(pieces).subarray(0, maxBytes)), isCut: bytes > maxBytes };
}

const tooLarge = ({ url }: Response, maxBytes: number): GoaldError =>
  new GoaldError(
    "GOALD_HTTP_TOO_LARGE",
    `${new URL(url).origin} sends more than the ${maxBytes} bytes that are taken; nothing was kept.`,
  );

function forbiddenByRobots({ origin, pathname }: URL, { isUnreachable }: RobotsRules): GoaldError {
  const why = isUnreachable ? "cannot show robots.txt now" : `asks programs in its robots.txt not to read ${pathname}`;
  return new GoaldError("GOALD_WEB", `${origin} ${why}.`, {
    hint: "Read another site. A person can decide otherwise with the setting web.robots.",
  });
}

const describeStatus = (status: number): string =>
  STATUS_WORDS[status] ? `${status}, ${STATUS_WORDS[status]}` : String(status);
const STATUS_WORDS: Readonly<Record<number, string>> = {
  401: "it wants a login",
  402: "it wants to be paid",
  403: "it does not let goald read that",
  404: "there is no such page",
  410: "the page is gone",
  429: "too many requests",
  451: "the page is withheld for legal reasons",
  500: "an error of its own",
  503: "it is too busy",
};

const withoutFragment = ({ href }: URL): string => href.replace(/#.*$/s, "");

const GAP_MS = 1_000;
/** A command should not wait longer. */
const MAX_WAIT_MS = 20_000;
const MAX_PAUSE_MS = 24 * 60 * 60_000;
const MAX_HOSTS = 1_000;

/**
 * Limits requests to one a second per host, and pauses a host that asks for it. Each request takes the next free second
 * of its host, so that many agents together are no faster than one.
 */
export function createHostPace(clock: Clock) {
  /** By host: the time at which the next request may be sent, and since when that is known. */
  const turns = new Map<string, { readonly at: number; readonly since: number }>();

  /** A clock that was set back ends the wait. */
  function nextFreeAt(host: string, now: number): number {
    const { at, since } = turns.get(host) ?? { at: now, since: now };
    return since <= now ? Math.max(at, now) : now;
  }

  function setNextFree(host: string, at: number, now: number): void {
    turns.set(host, { at, since: now });
    if (turns.size > MAX_HOSTS) for (const [name, turn] of turns) if (turn.at <= now) turns.delete(name);
  }

  return {
    /** Resolves when the caller may send its request. Throws GOALD_WEB if that takes over 20 s, and the signal's reason. */
    async waitTurn(host: string, delayMs: number, signal: AbortSignal): Promise<void> {
      const now = clock.now().getTime();
      const at = nextFreeAt(host, now);
      if (at - now > MAX_WAIT_MS)
        throw new GoaldError("GOALD_WEB", `${host} takes no more requests before ${new Date(at).toISOString()}.`, {
          hint: "Go on with something else, or read another site.",
        });
      setNextFree(host, at + Math.max(GAP_MS, delayMs), now);
      if (at > now) await clock.sleep(at - now, signal);
      signal.throwIfAborted();
    },
    /** Delays the next request to this host. At most a day. */
    pause(host: string, waitMs: number): void {
      const now = clock.now().getTime();
      setNextFree(host, Math.max(nextFreeAt(host, now), now + Math.min(waitMs, MAX_PAUSE_MS)), now);
    },
  };
}

/** Returns a GoaldError unchanged and any other error as GOALD_WEB. `origin`: the server. */
export function explainWebError(origin: string, thrown: unknown): GoaldError {
  if (isGoaldError(thrown)) return thrown;
  return new GoaldError("GOALD_WEB", `${origin} could not be read: ${explainReason(thrown)}.`, { cause: thrown });
}

/** Returns the reason without a full stop. */
export function explainReason(thrown: unknown): string {
  const chain = listCauses(thrown);
  const late = chain.find(({ name }) => name === "TimeoutError");
  if (late) return toShownLine(late.message);
  const codes = chain.map(({ code }) => String(code ?? "")).join(" ");
  for (const [pattern, words] of REASON_BY_CODE) if (pattern.test(codes)) return words;
  return toShownLine(chain.at(-1)?.message ?? "");
}

const REASON_BY_CODE: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_NODATA/, "there is no server of that name"],
  [/EAI_/, "its name could not be looked up"],
  [/ECONNREFUSED/, "nobody answers there"],
  [/ENETUNREACH|EHOSTUNREACH/, "there is no way to it from this machine"],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET/, "it broke the connection"],
  [/\bZ_|\bERR__|ZSTD_/, "what it sent is damaged"],
  [/ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, "it did not answer in time"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/, "its certificate is not to be trusted"],
];

const toShownLine = (text: string): string => oneLine(clean(text), 200).replace(/\.$/, "");

const DOWNLOAD_LIMITS = { firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000, totalTimeoutMs: 5 * 60_000 };

/** The search for secrets takes about 20 ms per megabyte. */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;

/**
 * Downloads whole files of the public web, by the rules for pages and with a larger size limit. A download keeps its
 * bytes: a secret in it is reported, not removed. `scrub` redacts the secrets of the settings.
 */
export function createDownloads(web: PoliteWeb, maxBytes: number, scrub?: (text: string) => string): Downloads {
  return {
    async get(address, signal) {
      const { url, contentType, bytes } = await web.get(address, { maxBytes, limits: DOWNLOAD_LIMITS, signal });
      const text = Buffer.from(bytes.subarray(0, MAX_SEARCHED_BYTES)).toString();
      return {
        url,
        contentType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType) ? contentType : "",
        bytes,
        holdsSecret: scrub !== undefined && scrub(text) !== text,
      };
    },
  };
}
