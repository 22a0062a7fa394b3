/**
 * polite-web.ts -- fetches pages and files from the public web politely.
 *
 * Obeys robots.txt, sends a host at most one request a second, and obeys Retry-After. The same rules apply to each
 * redirect. The HTTP client rejects private addresses.
 */
import { GoaldError, isGoaldError, withOutside } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { addSources, webSource } from "#core/provenance.ts";
import type { Http, HttpLimits } from "#http/http.ts";
import { MAX_REDIRECTS, nextHop, type PublicInit, type RedirectHop } from "#http/redirect.ts";
import { completeAddress, parseRetryAfter } from "#util/web-headers.ts";
import { createHostPace } from "./pace.ts";
import { createRobots } from "./robots.ts";
import { explainWebError } from "./trouble.ts";

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
  /** 200 to 299, or 304 for a conditional request. */
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

/** Name that a robots.txt uses for goald. */
const PRODUCT = "goald";
const ROBOTS_LIMITS = { firstByteTimeoutMs: 10_000, totalTimeoutMs: 15_000 };
/** Number of retries after 429 and 503. */
const MAX_BUSY_RETRIES = 2;

export function createPoliteWeb({ http, clock, userAgent, obeysRobots }: PoliteWebParts): PoliteWeb {
  const pace = createHostPace(clock);
  const robots = createRobots(
    async (url, maxBytes, signal) => {
      await pace.waitTurn(url.host, 0, signal);
      const send = http.public({ ...ROBOTS_LIMITS, maxBytes: maxBytes * 2 });
      const response = await send(url, { headers: { accept: "text/plain", "user-agent": userAgent }, signal });
      obeyRetryAfter(response, url.host);
      const { bytes } = await readBody(response, maxBytes, true);
      return { status: response.status, text: new TextDecoder().decode(bytes) };
    },
    PRODUCT,
    clock,
  );

  /** Pauses a host that is busy. Returns whether it is. */
  function obeyRetryAfter({ status, headers }: Response, host: string): boolean {
    if (status !== 429 && status !== 503) return false;
    pace.pause(host, parseRetryAfter(headers) ?? 0);
    return true;
  }

  async function sendPolitely(url: URL, init: PublicInit, { limits, maxBytes, signal }: WebRequest): Promise<Response> {
    const send = http.public({ ...limits, maxBytes: maxBytes * 2 });
    for (let retries = 0; ; retries++) {
      const rules = obeysRobots ? await robots.readRules(url, signal) : undefined;
      if (rules?.isAllowed(url) === false) throw forbiddenByRobots(url);
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
  if (URL.canParse(whole) && /^https?:\/\/[^\s\\]*$/i.test(whole)) return new URL(whole);
  throw new GoaldError("GOALD_HTTP_REFUSED", "Expected a whole web address, such as https://example.com/page.");
}

async function readAnswer(url: URL, response: Response, { maxBytes, cuts, headers }: WebRequest): Promise<WebAnswer> {
  const { status } = response;
  const isExpected = (status >= 200 && status < 300) || (status === 304 && headers !== undefined);
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
  const isCut = bytes > maxBytes;
  return { bytes: new Uint8Array(Buffer.concat(pieces).subarray(0, maxBytes)), isCut };
}

const tooLarge = ({ url }: Response, maxBytes: number): GoaldError =>
  new GoaldError(
    "GOALD_HTTP_TOO_LARGE",
    `${new URL(url).origin} sends more than the ${maxBytes} bytes that are taken; nothing was kept.`,
  );

function forbiddenByRobots(url: URL): GoaldError {
  return new GoaldError("GOALD_WEB", `${url.origin} asks programs in its robots.txt not to read ${url.pathname}.`, {
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

function withoutFragment(url: URL): string {
  const copy = new URL(url);
  copy.hash = "";
  return copy.href;
}
