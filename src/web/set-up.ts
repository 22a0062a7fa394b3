/** set-up.ts -- what the settings make of search and downloads. */
import type { Clock } from "#core/ports.ts";
import type { Http } from "#http/http.ts";
import { createDuckDuckGo } from "./duckduckgo.ts";
import type { SearchProvider } from "./search-provider.ts";
import { brave, createServiceProvider, searxng, serper, tavily } from "./search-services.ts";

/** As in the settings. */
export interface SearchSettings {
  readonly providers: string | null;
  readonly tavily: Keyed;
  readonly serper: Keyed;
  readonly brave: Keyed;
  readonly searxng: { readonly baseUrl: string | null };
  readonly duckduckgo: { readonly baseUrl: string };
}
interface Keyed {
  readonly apiKey: string | null;
  readonly baseUrl: string;
}

export interface SearchParts {
  readonly http: Pick<Http, "to" | "public">;
  readonly clock: Clock;
  readonly userAgent: string;
}

/** The names of those that are set up, in the order in which they are asked. */
export function searchersOf(settings: SearchSettings): readonly string[] {
  const named = [...new Set(settings.providers?.split(/[,\s]+/) ?? [])];
  const ready: Readonly<Record<string, unknown>> = {
    tavily: settings.tavily.apiKey,
    serper: settings.serper.apiKey,
    brave: settings.brave.apiKey,
    searxng: settings.searxng.baseUrl,
    duckduckgo: true,
  };
  return named.filter((name) => ready[name]);
}

export function createProviders(settings: SearchSettings, parts: SearchParts): readonly SearchProvider[] {
  return searchersOf(settings).map((name) => createProvider(name, settings, parts));
}

function createProvider(name: string, settings: SearchSettings, { http, ...parts }: SearchParts): SearchProvider {
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
