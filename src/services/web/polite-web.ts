/**
 * polite-web.ts -- what pages and downloads read the web with: the public door, with the manners of a guest.
 *
 * robots.txt is kept to, a host gets one request a second, and one that says Retry-After is left alone. Each redirect is a
 * request like the first one, so all of that holds for every host on the way; how an address is guarded is the door's.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Http, HttpLimits } from "#http/http.ts";
import { MAX_REDIRECTS, nextHop, type PublicInit } from "#http/redirect.ts";
import { parseRetryAfter } from "#util/retry-after.ts";
import { wholeAddress } from "./address.ts";
import { createPace } from "./pace.ts";
import { createRobots } from "./robots.ts";
import { webTrouble } from "./trouble.ts";

export interface WebRequest {
  /** Such as `text/html, application/pdf;q=0.9`; everything by default. */
  readonly accept?: string;
  /** For a conditional request: `if-none-match`, `if-modified-since`. No credentials: they would be sent to strangers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the body, decompressed. */
  readonly maxBytes: number;
  /** Whether a longer body is cut there; otherwise it is GOALD_HTTP_TOO_LARGE. */
  readonly cuts?: boolean;
  /** Of each request on the way; the door's own unless told otherwise. */
  readonly limits?: Partial<Omit<HttpLimits, "maxBytes">>;
  readonly signal: AbortSignal;
}

export interface WebAnswer {
  /** That answered in the end, without a fragment. */
  readonly url: string;
  /** 200 to 299, or 304 when a condition was sent. */
  readonly status: number;
  readonly headers: Headers;
  /** Such as `text/html`, lower case and without parameters; "" when nothing was said. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** The body was longer. */
  readonly isCut: boolean;
}

export interface PoliteWeb {
  /**
   * GET. `address`: as a model writes it; without a scheme it is taken for https. Throws GOALD_WEB for what cannot be had
   * (with the reason), GOALD_HTTP_REFUSED for an address that goald does not ask, GOALD_HTTP_TOO_LARGE, and the signal's reason.
   */
  get(address: string, request: WebRequest): Promise<WebAnswer>;
}

export interface PoliteWebParts {
  readonly http: Pick<Http, "public">;
  readonly clock: Clock;
  /** What sites are told. */
  readonly userAgent: string;
  /** Whether robots.txt is kept to. */
  readonly keepsToRobots: boolean;
}

/** The name that rules in a robots.txt are for. */
const PRODUCT = "goald";
const ROBOTS_LIMITS = { firstByteTimeoutMs: 10_000, totalTimeoutMs: 15_000 };
/** How often a site that is busy is asked again. */
const MAX_RETRIES = 2;

export function createPoliteWeb({ http, clock, userAgent, keepsToRobots }: PoliteWebParts): PoliteWeb {
  const pace = createPace(clock);
  const robots = createRobots(
    async (url, maxBytes, signal) => {
      await pace.turn(url.host, 0, signal);
      const send = http.public({ ...ROBOTS_LIMITS, maxBytes: maxBytes * 2 });
      const response = await send(url, { headers: { accept: "text/plain", "user-agent": userAgent }, signal });
      heed(response, url.host);
      const { bytes } = await readBody(response, maxBytes, true);
      return { status: response.status, text: new TextDecoder().decode(bytes) };
    },
    PRODUCT,
    clock,
  );

  /** Whether the site asked to be left alone. */
  function heed({ status, headers }: Response, host: string): boolean {
    if (status !== 429 && status !== 503) return false;
    pace.rest(host, parseRetryAfter(headers) ?? 0);
    return true;
  }

  async function ask(url: URL, init: PublicInit, { limits, maxBytes, signal }: WebRequest): Promise<Response> {
    const send = http.public({ ...limits, maxBytes: maxBytes * 2 });
    for (let retries = 0; ; retries++) {
      const rules = keepsToRobots ? await robots.rulesOf(url, signal) : undefined;
      if (rules?.isAllowed(url) === false) throw notWanted(url);
      await pace.turn(url.host, rules?.delayMs ?? 0, signal);
      const response = await send(url, init);
      if (!heed(response, url.host) || retries === MAX_RETRIES) return response;
      void response.body?.cancel().catch(() => undefined);
    }
  }

  async function follow(address: string, request: WebRequest): Promise<WebAnswer> {
    const headers = { "user-agent": userAgent, accept: request.accept ?? "*/*", ...request.headers };
    let hop = { url: readUrl(address), init: { headers, signal: request.signal, redirect: "manual" } as PublicInit };
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await ask(hop.url, hop.init, request).catch((error: unknown) => {
        throw webTrouble(hop.url.origin, error);
      });
      const next = nextHop(hop.url, hop.init, response);
      if (next === undefined) return answerOf(hop.url, response, request);
      void response.body?.cancel().catch(() => undefined);
      hop = next;
    }
    throw new GoaldError("GOALD_WEB", `${hop.url.origin} leads on and on: more than ${MAX_REDIRECTS} redirects.`);
  }

  return {
    async get(address, request) {
      try {
        return await follow(address, request);
      } catch (error) {
        request.signal.throwIfAborted();
        throw error;
      }
    },
  };
}

function readUrl(address: string): URL {
  const whole = wholeAddress(address);
  // What the parser would mend in silence is left to the door, which refuses it.
  if (URL.canParse(whole) && /^https?:\/\/[^\s\\]*$/i.test(whole)) return new URL(whole);
  throw new GoaldError("GOALD_HTTP_REFUSED", "Expected a whole web address, such as https://example.com/page.");
}

async function answerOf(url: URL, response: Response, { maxBytes, cuts, headers }: WebRequest): Promise<WebAnswer> {
  const { status } = response;
  const isAsked = (status >= 200 && status < 300) || (status === 304 && headers !== undefined);
  if (!isAsked) {
    void response.body?.cancel().catch(() => undefined);
    throw new GoaldError("GOALD_WEB", `${url.origin}${url.pathname} answered with ${inWords(status)}.`);
  }
  const { bytes, isCut } = await readBody(response, maxBytes, cuts === true).catch((error: unknown) => {
    throw webTrouble(url.origin, error);
  });
  const contentType = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  return { url: withoutFragment(url), status, headers: response.headers, contentType, bytes, isCut };
}

async function readBody(response: Response, maxBytes: number, cuts: boolean) {
  const said = Number(response.headers.get("content-length") ?? 0);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  if (!cuts && said > maxBytes) {
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

function notWanted(url: URL): GoaldError {
  return new GoaldError("GOALD_WEB", `${url.origin} asks programs in its robots.txt not to read ${url.pathname}.`, {
    hint: "Read another site. A person can decide otherwise with the setting web.robots.",
  });
}

const inWords = (status: number): string => (WORDS[status] ? `${status}, ${WORDS[status]}` : String(status));
const WORDS: Readonly<Record<number, string>> = {
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
