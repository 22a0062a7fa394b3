/**
 * set-up.ts -- builds the web services from the settings: polite reading, search and downloads. Loaded on first use.
 */
import type { AddressStatus } from "#core/goal-check.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Downloads, WebSearch } from "#core/services.ts";
import type { Http } from "#http/http.ts";
import { createAddressStatus } from "./address-status.ts";
import { createDownloads } from "./downloads.ts";
import { createDuckDuckGo } from "./duckduckgo.ts";
import { createPoliteWeb, type PoliteWeb } from "./polite-web.ts";
import { createWebSearch } from "./search.ts";
import type { SearchProvider } from "./search-provider.ts";
import { brave, createServiceProvider, searxng, serper, tavily } from "./search-services.ts";
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

export interface Web {
  readonly polite: PoliteWeb;
  readonly search: WebSearch;
  readonly downloads: Downloads;
  readonly statuses: AddressStatus;
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
  switch (name) {
    case "tavily":
      return createServiceProvider(tavily(settings.tavily.apiKey ?? "", settings.tavily.baseUrl), http);
    case "serper":
      return createServiceProvider(serper(settings.serper.apiKey ?? "", settings.serper.baseUrl), http);
    case "brave":
      return createServiceProvider(brave(settings.brave.apiKey ?? "", settings.brave.baseUrl), http);
    case "searxng":
      return createServiceProvider(searxng(settings.searxng.baseUrl ?? ""), http);
    default:
      return createDuckDuckGo({ baseUrl: settings.duckduckgo.baseUrl, http, ...parts });
  }
}
