/** searchers.ts -- which search providers the settings set up. Apart from what asks them, which is loaded with the first search. */

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
