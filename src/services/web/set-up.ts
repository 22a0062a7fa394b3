/**
 * set-up.ts -- builds the web services from the settings: polite reading, search and downloads. Loaded on first use.
 */
import { GoaldError } from "#core/errors.ts";
import type { AddressStatus } from "#core/goal-check.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Services } from "#core/services.ts";
import type { Http } from "#http/http.ts";
import { MAX_REDIRECTS, nextHop, type RedirectHop } from "#http/redirect.ts";
import { createDownloads, createPoliteWeb, explainWebError, type PoliteWeb } from "./polite-web.ts";
import { createWebSearch, type SearchProvider } from "./search.ts";
import { brave, createDuckDuckGo, createServiceProvider, searxng, serper, tavily } from "./search-services.ts";
import { type SearchSettings, searchersOf } from "./searchers.ts";

export interface WebParts {
  readonly http: Pick<Http, "to" | "public">;
  readonly clock: Clock;
  readonly userAgent: string;
  scrub?(text: string): string;
}

export interface WebSettings {
  readonly web: { readonly robots: boolean };
  readonly search: SearchSettings;
}

/** A line of 1.5 Mbit/s brings this much in the five minutes that a download may take. */
const MAX_DOWNLOAD_BYTES = 50_000_000;

export interface Web extends Pick<Services, "search" | "downloads" | "statuses"> {
  readonly polite: PoliteWeb;
}

export function openWeb({ web, search }: WebSettings, parts: WebParts): Web {
  const { clock } = parts;
  const polite = createPoliteWeb({ ...parts, obeysRobots: web.robots });
  return {
    polite,
    search: createWebSearch({ providers: createProviders(search, parts), clock }),
    downloads: createDownloads(polite, MAX_DOWNLOAD_BYTES, parts.scrub),
    statuses: createAddressStatus(parts.http, parts.userAgent),
  };
}

export function createProviders(settings: SearchSettings, parts: WebParts): readonly SearchProvider[] {
  return searchersOf(settings).map((name) => createProvider(name, settings, parts));
}

function createProvider(name: string, settings: SearchSettings, { http, ...parts }: WebParts): SearchProvider {
  if (name === "tavily" || name === "serper" || name === "brave") {
    const { apiKey, baseUrl } = settings[name];
    return createServiceProvider(KEYED_SERVICES[name](apiKey ?? "", baseUrl), http);
  }
  if (name === "searxng") return createServiceProvider(searxng(settings.searxng.baseUrl ?? ""), http);
  return createDuckDuckGo({ baseUrl: settings.duckduckgo.baseUrl, http, ...parts });
}

const KEYED_SERVICES = { tavily, serper, brave };

/**
 * Asks for the HTTP status of an address that a person named, by the rules for the public web. The answer is not read.
 * A redirect leads to an address that a server chose: no error names it.
 */
export function createAddressStatus(http: Pick<Http, "public">, userAgent: string): AddressStatus {
  const fetchPublic = http.public();
  return {
    async get(address, { follows }, signal) {
      if (!URL.canParse(address))
        throw new GoaldError("GOALD_HTTP_REFUSED", "Expected a whole web address, such as https://example.com/page.");
      const headers = { "user-agent": userAgent, accept: "*/*" };
      let hop: RedirectHop = { url: new URL(address), init: { headers, signal, redirect: "manual" } };
      const first = hop.url.origin;
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        const { url, init } = hop;
        const response = await fetchPublic(url, init).catch((error: unknown) => {
          signal.throwIfAborted();
          throw hops === 0 ? explainWebError(first, error) : failedBehind(first, error);
        });
        void response.body?.cancel().catch(() => undefined);
        const next = follows ? findNextHop(first, hop, response) : undefined;
        if (!next) return response.status;
        hop = next;
      }
      throw new GoaldError("GOALD_WEB", `${first} leads on and on: more than ${MAX_REDIRECTS} redirects.`);
    },
  };
}

function findNextHop(first: string, { url, init }: RedirectHop, response: Response): RedirectHop | undefined {
  try {
    return nextHop(url, init, response);
  } catch (error) {
    throw failedBehind(first, error);
  }
}

const failedBehind = (first: string, cause: unknown): GoaldError =>
  new GoaldError("GOALD_WEB", `${first} leads to another address, which could not be asked.`, { cause });
